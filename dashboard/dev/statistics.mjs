// Made-up statistics for the mock: two years of a house, whose evenings, weekends and summers show.
// MOCK=empty: none yet. MOCK=young: counting began forty minutes ago.

import { CLIENTS, dice, LISTS } from "./data.mjs";

const MODE = process.env.MOCK ?? "";
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const LENGTH = { day: 23 * HOUR, week: 7 * DAY - HOUR, month: 29 * DAY, year: 364 * DAY };
const STEP = { day: "hour", week: "hour", month: "day", year: "day", all: "day" };
const BEGINS = MODE === "young" ? Math.floor(Date.now() / 60_000 - 40) * 60_000 : Date.now() - 512 * DAY - 5 * HOUR;

const startOf = (step, ms) => {
  const at = new Date(ms);
  if (step === "minute") at.setSeconds(0, 0);
  else if (step === "hour") at.setMinutes(0, 0, 0);
  else at.setHours(0, 0, 0, 0);
  return at.getTime();
};

/** Requests of a whole hour. */
function hourly(ms) {
  const at = new Date(ms);
  const roll = dice(Math.floor(ms / HOUR));
  const evening = 0.25 + Math.max(0, Math.sin(((at.getHours() - 5) / 24) * Math.PI * 1.25)) ** 2;
  const weekend = [0, 6].includes(at.getDay()) ? 1.3 : 1;
  const season = 1 + 0.25 * Math.cos((at.getMonth() / 12) * 2 * Math.PI);
  const away = at.getMonth() === 7 && at.getDate() < 15 ? 0.12 : 1;
  return Math.round(1_900 * evening * weekend * season * away * (0.75 + roll() * 0.5));
}

function stepCounts(start, end, part) {
  let all = 0;
  let blocked = 0;
  if (end - start === 60_000) {
    const n = Math.round((hourly(start) / 60) * (0.6 + dice(start / 60_000)() * 0.8) * part * Math.min(1, (Date.now() - start) / 60_000));
    return counts(n, Math.round(n * 0.17));
  }
  const roll = dice(Math.floor(start / HOUR) ^ 77);
  for (let hour = startOf("hour", start); hour < Math.min(end, Date.now()); hour += HOUR) {
    if (hour + HOUR <= BEGINS) continue;
    const counted = Math.min(hour + HOUR, Date.now()) - Math.max(hour, BEGINS);
    const n = Math.round(hourly(hour) * part * (counted / HOUR));
    all += n;
    blocked += Math.round(n * (0.14 + roll() * 0.09));
  }
  return counts(all, blocked);
}

const counts = (all, blocked) => {
  const passed = all - blocked;
  return { passed, blocked, cached: Math.round(passed * 0.61), failed: Math.round(passed * 0.004), bytes: passed * 8_420, took_us: all * 2_310 };
};

const LINES = {
  client: [...CLIENTS.slice(0, 3), "192.168.1.70", CLIENTS[3], "192.168.1.7", "192.168.1.44", "192.168.1.91", CLIENTS[4]],
  list: [...LISTS.map((list) => list.name), "a-list-that-is-gone"],
  door: ["dns", "proxy", "pixel", "web", "gateway"],
  upstream: ["quad9", "cf", "isp", "app http://10.0.0.11:8080"],
};

export function statistics(words) {
  const range = words.get("range") || "day";
  const only = Object.keys(LINES).find((by) => words.get(by));
  const base = { range, zone: "Europe/Zurich", only: only ? { by: only, key: words.get(only) } : null };
  const none = counts(0, 0);
  if (MODE === "empty") return { ...base, offered: ["day"], begins: null, step: "hour", total: none, points: [], rankings: Object.keys(LINES).map((by) => ({ by, lines: [], others: none, more: 0 })) };
  const step = MODE === "young" && !only && range === "day" ? "minute" : (STEP[range] ?? "hour");
  const first = startOf(step, Math.max(BEGINS, Date.now() - (LENGTH[range] ?? Infinity)));
  const part = only ? 0.55 ** (LINES[only].indexOf(words.get(only)) + 1) : 1;
  const points = [];
  for (let at = first; at <= Date.now();) {
    const until = step === "minute" ? at + 60_000 : step === "hour" ? at + HOUR : startOf("day", at + 26 * HOUR);
    const share = (Math.min(until, Date.now()) - Math.max(at, BEGINS)) / (until - at);
    points.push({ at: new Date(at).toISOString(), until: new Date(until).toISOString(), share: Math.min(1, share), ...stepCounts(at, until, part) });
    at = until;
  }
  const sum = (name) => points.reduce((all, point) => all + point[name], 0);
  const total = Object.fromEntries(Object.keys(none).map((name) => [name, sum(name)]));
  const whole = (total.passed + total.blocked) / part;
  const rankings = Object.entries(LINES).filter(([by]) => !words.get("by") || words.get("by") === by).map(([by, keys]) => ({
    by,
    lines: keys.map((key, n) => {
      const all = Math.round(whole * (by === "list" ? 0.12 : by === "upstream" ? 0.2 : 0.48) * 0.5 ** n);
      return { key, ...counts(all, by === "list" ? all : by === "upstream" ? 0 : Math.round(all * (0.3 - n * 0.03))), ...(by === "upstream" ? { failed: n === 2 ? Math.round(all * 0.4) : 3 } : {}) };
    }),
    others: by === "client" ? counts(Math.round(whole * 0.01), 12) : none,
    more: by === "client" ? 14 : 0,
  }));
  const age = Date.now() - BEGINS;
  const offered = [["day", -1], ["week", DAY], ["month", 7 * DAY], ["year", 30 * DAY], ["all", 365 * DAY]].filter(([, more]) => age > more).map(([name]) => name);
  return { ...base, offered, begins: new Date(BEGINS).toISOString(), step, total, points, rankings };
}
