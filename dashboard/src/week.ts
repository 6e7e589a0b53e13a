// The hours of schedules on a week: from `days`, `from` and `to` to spans that can be painted,
// from a rectangle that was drawn back to these, and both in words. Pure; it knows no clock and
// no zone.

import type { Schedule } from "./client-model";
import { printable } from "./format";
import { t } from "./i18n";
import { perLanguage } from "./language";

export const DAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"] as const;
/** 1 January 2024, a Monday. */
const A_MONDAY = Date.UTC(2024, 0, 1);
/** The days from Monday on, in short: "Mon". */
export const dayNames = perLanguage((locale): readonly string[] => {
  const format = new Intl.DateTimeFormat(locale, { weekday: "short", timeZone: "UTC" });
  return DAYS.map((_, day) => format.format(A_MONDAY + day * 86_400_000));
});
export const DAY_MINUTES = 1_440;
/** Schedules that are painted beside one another; more share the last lane. */
export const LANES_MAX = 4;

/** True if nothing passes at its hours but what a list allows. */
export const isOffline = (schedule: Pick<Schedule, "otherwise">): boolean => schedule.otherwise === "block";

export type Hours = Pick<Schedule, "days" | "from" | "to">;

/** A piece of a schedule within one day, in minutes since its midnight. */
export interface Span {
  day: number;
  from: number;
  to: number;
}

/**
 * Reads `mon-fri,sun`; nothing is every day, and `fri-mon` goes on past Sunday. Null if it is no
 * such text.
 */
export function daysOf(text: string): boolean[] | null {
  if (text.trim() === "") return DAYS.map(() => true);
  const chosen = DAYS.map(() => false);
  const at = (word: string | undefined): number => DAYS.findIndex((day) => day === word?.trim());
  for (const piece of text.split(",")) {
    const [first, last = first] = piece.split("-", 2);
    const [from, to] = [at(first), at(last)];
    if (from < 0 || to < 0) return null;
    const length = (to + 7 - from) % 7;
    for (let n = 0; n <= length; n++) chosen[(from + n) % 7] = true;
  }
  return chosen;
}

/** Runs of chosen days, as first and last. */
function runs(chosen: readonly boolean[]): [number, number][] {
  const found: [number, number][] = [];
  for (const [day, is] of chosen.entries()) {
    if (!is) continue;
    const last = found.at(-1);
    if (last && last[1] === day - 1) last[1] = day;
    else found.push([day, day]);
  }
  return found;
}

/** Writes days as the settings have them; every day is the empty text. No day cannot be written. */
export function daysText(chosen: readonly boolean[]): string {
  if (chosen.every(Boolean)) return "";
  const word = ([first, last]: [number, number]): string => {
    const [from, to] = [DAYS[first] ?? "", DAYS[last] ?? ""];
    if (first === last) return from;
    return last === first + 1 ? `${from},${to}` : `${from}-${to}`;
  };
  return runs(chosen).map(word).join(",");
}

/** Minutes since midnight of `21:30`; nothing is midnight. Null if it is no such text. */
export function minutesOf(text: string): number | null {
  if (text === "") return 0;
  const match = /^(\d\d):(\d\d)$/.exec(text);
  if (!match) return null;
  const minutes = Number(match[1]) * 60 + Number(match[2]);
  return Number(match[2]) < 60 && minutes <= DAY_MINUTES ? minutes : null;
}

/** 1290 → "21:30"; the end of a day is written as the midnight that follows. */
export function timeText(minutes: number): string {
  const two = (n: number): string => String(n).padStart(2, "0");
  return `${two(Math.floor(minutes / 60) % 24)}:${two(minutes % 60)}`;
}

/** The pieces of a schedule, by day; none if its hours cannot be read. */
export function spansOf(hours: Hours): Span[] {
  const [days, from, to] = [daysOf(hours.days), minutesOf(hours.from), minutesOf(hours.to)];
  if (!days || from === null || to === null || from >= DAY_MINUTES) return [];
  const spans: Span[] = [];
  for (const [day, is] of days.entries()) {
    if (!is) continue;
    if (from < to) {
      spans.push({ day, from, to });
      continue;
    }
    spans.push({ day, from, to: DAY_MINUTES });
    if (to > 0) spans.push({ day: (day + 1) % 7, from: 0, to });
  }
  return spans;
}

/** For each day and hour, true where a schedule holds for some of that hour. */
export function hoursOf(hours: Hours): boolean[][] {
  const grid = DAYS.map(() => Array.from({ length: 24 }, () => false));
  for (const { day, from, to } of spansOf(hours)) {
    grid[day]?.fill(true, Math.floor(from / 60), Math.ceil(to / 60));
  }
  return grid;
}

/** A corner of what is drawn on the week: a day and an hour. */
export interface Cell {
  day: number;
  hour: number;
}

/** The hours of a rectangle between two cells, both included. */
export function drawnHours(one: Cell, other: Cell): Hours {
  const [first, last] = [Math.min(one.day, other.day), Math.max(one.day, other.day)];
  const [from, to] = [Math.min(one.hour, other.hour), Math.max(one.hour, other.hour) + 1];
  const days = daysText(DAYS.map((_, day) => day >= first && day <= last));
  return { days, from: timeText(from * 60), to: timeText(to * 60) };
}

const overlap = (one: Span[], other: Span[]): boolean =>
  one.some((a) => other.some((b) => a.day === b.day && a.from < b.to && b.from < a.to));

/** A lane for each schedule, so that those that hold at the same hours stand beside one another. */
export function lanesOf(all: readonly Hours[]): { lanes: number[]; count: number } {
  const taken: Span[][] = [];
  const lanes = all.map((hours) => {
    const spans = spansOf(hours);
    const free = taken.findIndex((lane) => !overlap(lane, spans));
    const lane = Math.min(free < 0 ? taken.length : free, LANES_MAX - 1);
    taken[lane] = [...(taken[lane] ?? []), ...spans];
    return lane;
  });
  return { lanes, count: Math.max(1, taken.length) };
}

/** "Mon to Fri, Sun"; t("week.everyDay"); t("week.noDay"). */
export function dayWords(days: string): string {
  const chosen = daysOf(days);
  if (!chosen) return printable(days);
  if (chosen.every(Boolean)) return t("week.everyDay");
  const names = dayNames();
  const word = ([first, last]: [number, number]): string => {
    const [from = "", to = ""] = [names[first], names[last]];
    if (first === last) return from;
    return last === first + 1 ? `${from}, ${to}` : t("week.days", { from, to });
  };
  return runs(chosen).map(word).join(", ") || t("week.noDay");
}

/** "Mon to Fri, 21:00 to 07:00 on the next day"; "every day, all day". */
export function hoursWords(hours: Hours): string {
  const [from, to] = [minutesOf(hours.from), minutesOf(hours.to)];
  const days = dayWords(hours.days);
  if (from === null || to === null) return t("week.hours", { days, from: printable(hours.from), to: printable(hours.to) });
  const end = to % DAY_MINUTES;
  if (from === 0 && end === 0) return t("week.allDay", { days });
  if (end === 0) return t("week.toMidnight", { days, from: timeText(from) });
  return t(end <= from ? "week.hoursNextDay" : "week.hours", { days, from: timeText(from), to: timeText(end) });
}

/** "No internet"; "Lists games, chat"; "Rule ||video.example^". */
export function whatWords(schedule: Pick<Schedule, "block" | "lists" | "otherwise">): string {
  const rule = schedule.block.trim();
  const lists = schedule.lists.map(printable).join(", ");
  const words = [
    isOffline(schedule) ? t("week.offline") : "",
    schedule.otherwise === "pass" ? t("week.unlistedPasses") : "",
    rule === "" ? "" : t("week.rule", { rule: printable(rule) }),
    lists === "" ? "" : t("week.lists", { count: schedule.lists.length, names: lists }),
  ];
  return words.filter((it) => it !== "").join("; ") || t("week.nothing");
}
