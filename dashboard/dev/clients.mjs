// Made-up clients, profiles and groups for the mock. It keeps what is changed, by the rules of the
// real one: a revision, what is set in the file stays, a client is in one profile.

import { createHash } from "node:crypto";
import { CLIENTS, dice, LISTS, TRUST } from "./data.mjs";

// MOCK=many: forty clients, some with names that somebody hostile chose.
const MODE = process.env.MOCK ?? "";
const RELOADED = { lists: LISTS.length, rules: 151_409, took_ms: 412, warnings: [] };
const LENGTH_S = { "1h": 3600, "24h": 86_400, "7d": 604_800, "30d": 2_592_000 };
const STEP_S = { "1h": 60, "24h": 3600, "7d": 3600, "30d": 86_400 };

const HOUSE = [
  { client: CLIENTS[0], name: "laptop.lan", name_source: "dhcp", maker: "Apple", mac: "3c:22:fb:10:4a:91", mac_random: false, weight: 61_000, share: 0.21, age_s: 3 },
  { client: CLIENTS[1], name: "tv.lan", name_source: "mdns", maker: "Samsung Electronics", mac: "a0:d7:f3:55:02:1e", mac_random: false, weight: 40_260, share: 0.38, age_s: 21 },
  { client: CLIENTS[2], name: "mias-tablet.lan", name_source: "local", maker: "Lenovo Mobile Communication Technology", mac: "f4:0f:24:9b:77:c3", mac_random: false, weight: 12_570, share: 0.16, age_s: 140 },
  { client: "192.168.1.70", name: "console.lan", name_source: "dhcp", maker: "Nintendo", mac: "00:d9:d1:aa:60:0f", mac_random: false, weight: 8_300, share: 0.04, age_s: 2_400 },
  { client: CLIENTS[3], name: null, mac: "da:a1:19:4e:c0:07", mac_random: true, weight: 5_540, share: 0.12, age_s: 900 },
  { client: "192.168.1.7", name: null, mac: null, mac_random: false, weight: 1_020, share: 0, age_s: 41_000 },
  { client: CLIENTS[4], name: "localhost", name_source: "reverse", mac: null, mac_random: false, weight: 310, share: 0.02, age_s: 70 },
];
const HOSTILE = [
  "<img src=x onerror=alert(1)>.lan", "\u202egnp.exe.lan", "a\u0000b\u001b[31mred.lan", `${"very-long-label-of-a-phone.".repeat(7)}lan`,
  "tablet\u200b.lan", "ドアベル.lan", "-rf.lan", "'; drop table clients; --.lan",
];

function crowd() {
  return Array.from({ length: 33 }, (_, n) => ({
    client: n % 4 === 3 ? `fd00:1c2:9bff:fe40:77a1:${(4096 + n * 37).toString(16)}:abcd:${(n * 911 + 16).toString(16)}` : `192.168.1.${100 + n}`,
    name: n < HOSTILE.length ? HOSTILE[n] : n % 3 === 0 ? null : `device-${n}.lan`,
    mac: n % 5 === 0 ? null : `${n % 2 ? "d2" : "b8"}:27:eb:${(16 + n).toString(16)}:4a:${(32 + n).toString(16)}`,
    mac_random: n % 5 !== 0 && n % 2 === 1,
    weight: Math.round(4_000 * 0.84 ** n) + 1, share: (n * 0.037) % 0.7, age_s: n * n * 60 + 30,
  }));
}

const SEEN = MODE === "empty" ? [] : MODE === "many" ? [...HOUSE, ...crowd()] : HOUSE;

const entry = (more) => ({ block: "", lists: [], otherwise: null, days: "", from: "", to: "", ...more });
const profile = (name, match, more = {}) =>
  ({ name, match, lists: null, groups: [], tags: [], schedule: [], otherwise: null, blocked: null, made_here: true, ...more });

let profiles = MODE === "empty" ? [] : [
  profile("living room", ["192.168.1.31", "192.168.1.80/29"], { lists: ["starter", "ads"], made_here: false, blocked: "nxdomain", schedule: [entry({ block: "||video.example^", days: "mon-fri", from: "08:00", to: "12:30" })] }),
  profile("kids", ["f4:0f:24:9b:77:c3", "192.168.2.0/24", "id:tablet"], {
    lists: ["starter", "mine"], groups: ["night"], tags: ["user_child"],
    schedule: [entry({ block: "||video.example^", days: "mon-fri", from: "13:00", to: "17:30" }), entry({ lists: ["easylist"], days: "sat,sun", from: "09:00", to: "21:00" })],
  }),
  profile("Jo's console", ["00:d9:d1:aa:60:0f"], { groups: ["night"] }),
];
let groups = MODE === "empty" ? [] : [
  { name: "night", lists: null, schedule: [entry({ otherwise: "block", days: "sun-thu", from: "21:00", to: "07:00" }), entry({ otherwise: "block", days: "fri,sat", from: "23:00", to: "08:00" })], made_here: true },
  { name: "guests", lists: ["starter"], schedule: [], made_here: false },
];
if (MODE === "many") {
  profiles.push(
    profile("\u202eelbaT <b>of</b> somebody with a name that does not come to an end", ["192.168.1.100"]),
    ...Array.from({ length: 10 }, (_, n) => profile(`room-${n}`, [`192.168.${n + 3}.0/24`, `id:door-${n}`], { groups: n % 2 ? ["night"] : [], schedule: Array.from({ length: n }, (__, at) => entry({ ...(at % 2 ? { otherwise: "block" } : { block: `||a${at}.example^` }), days: "mon-fri", from: `${String(8 + at).padStart(2, "0")}:00`, to: `${String(10 + at).padStart(2, "0")}:30` })) })),
  );
}

const revision = () => createHash("sha256").update(JSON.stringify([profiles, groups])).digest("hex").slice(0, 12);

export function shownProfiles() {
  return {
    revision: revision(),
    lists: LISTS.map(({ name, kind, off }) => ({ name, kind, off: off ?? false })),
    default: { lists: null, otherwise: "pass" },
    profiles, groups, time_zone: "Europe/Zurich",
  };
}

/**
 * True if an entry of a profile is about the client; of networks only those that end with zeros
 * are known.
 */
const isAbout = (member, { client, mac }) => member === client || member === mac
  || (member.endsWith(".0/24") && client.startsWith(member.slice(0, -4)));

function profileOf(one) {
  return profiles.find((known) => known.match.some((member) => isAbout(member, one)))?.name ?? "default";
}

/** What was allowed or blocked by hand for all that a client asks. */
function heldFor(client, name, byHand) {
  const all = byHand.filter((one) => one.host === "*" && (one.ends === null || one.ends > Date.now()));
  const one = all.find((held) => held.client === client) ?? all.find((held) => held.client === null && held.profile === name);
  if (!one) return null;
  const left = one.ends === null ? null : Math.floor((one.ends - Date.now()) / 1000);
  return { action: one.action === "pass" ? "allow" : "block", until: left === null ? null : new Date(one.ends).toISOString(), left_s: left };
}

export function shownClients(range, byHand) {
  const length = LENGTH_S[range] ?? LENGTH_S["24h"];
  const scale = length / 86_400;
  const at = (age) => new Date(Date.now() - age * 1000).toISOString();
  const clients = SEEN.filter((one) => one.age_s < length).map(({ weight, share, age_s, ...one }) => {
    const requests = Math.max(1, Math.round(weight * scale));
    const name = profileOf(one);
    return Object.assign({ name_source: null, maker: null }, one, {
      profile: name, requests, blocked: Math.round(requests * share), first_at: at(Math.max(age_s, length * 0.97)), last_at: at(age_s),
      trust: TRUST.find((known) => known.client === one.client)?.trust ?? "unknown", held: heldFor(one.client, name, byHand),
    });
  });
  return { clients: clients.toSorted((a, b) => b.requests - a.requests), more: MODE === "many" ? 12 : 0 };
}

export function activity(client, range) {
  const one = SEEN.find((known) => known.client === client);
  const step = STEP_S[range];
  const last = Math.floor(Date.now() / 1000 / step) * step;
  const points = [];
  for (let t = last - LENGTH_S[range] + step; t <= last; t += step) {
    const random = dice(t + client.length);
    const hour = new Date(t * 1000).getHours();
    const busy = hour < 7 ? 0 : hour < 16 ? 0.6 : hour < 22 ? 1.8 : 0.4;
    const all = one ? (one.weight / 86_400) * step * busy * (0.5 + random()) : 0;
    const blocked = all * (one?.share ?? 0) * (0.6 + random() * 0.8);
    points.push({ at: new Date(t * 1000).toISOString(), passed: Math.round(all - blocked), blocked: Math.round(blocked) });
  }
  const ranked = (names, most) => (most < 1 ? [] : names.map((text, n) => ({ text, count: Math.max(1, Math.round(most * 0.7 ** n)) })));
  const weight = one?.weight ?? 0;
  return {
    client, step_s: step, points,
    names: ranked(["www.wikipedia.example", "news.morning.example", "cdn.morning.example", "api.weather.example", "time.example", "\u202eexample.moc.evil", "a1961.tracking.very-long-subdomain-label-of-a-content-network.cdn.example", "", "fonts.letters.example", "video.example"], weight * 0.08),
    blocked: ranked(["ads.pelican.example", "metrics.harbour.example", "telemetry.screens.example", "pixel.driftwood.example"], weight * (one?.share ?? 0) * 0.2),
  };
}

const refused = (code, error, remedy, complaints = []) => [code, { error, remedy, complaints }];
const CHANGED = refused(409, "the profiles were changed meanwhile", "read them again, and change what is there now");
const FIXED = refused(409, "that is set in the configuration's file", "change it there");

/** Why a profile or group is not taken, as the real one's complaints. */
function complaintsOf(kind, made, was) {
  const at = `/var/lib/tidegate/dashboard.yaml:9:5: policy.${kind}.0`;
  const said = [];
  const others = (kind === "clients" ? profiles : groups).filter((known) => known.name !== was);
  if (made.name === "") said.push(`${at}.name: a name is missing; write one`);
  if (others.some((known) => known.name === made.name)) said.push(`${at}.name: ${JSON.stringify(made.name)} is taken; give each a name of its own`);
  for (const [n, one] of made.schedule.entries()) {
    if (one.block.trim() === "" && one.lists.length === 0) said.push(`${at}.schedule.${n}: the schedule names neither a rule nor a list; write block: "||video.example^", or lists: [games]`);
  }
  if (kind !== "clients") return said;
  if (made.match.length === 0) said.push(`${at}.match: the profile matches no client; write match: [192.168.1.7]`);
  for (const [n, member] of made.match.entries()) {
    const taken = others.find((known) => known.match.includes(member));
    if (taken) said.push(`${at}.match.${n}: ${member} is in the profile ${JSON.stringify(taken.name)} already; take it out there`);
    else if (!/^(id:|user:|interface:)?[^ ]+$/.test(member) || /^[g-z]/.test(member) && !member.includes(":")) said.push(`${at}.match.${n}: ${JSON.stringify(member)} is no address; write an IP address, a network such as 192.168.1.64/26, a MAC address, id:phone, user:ann or interface:br-lan`);
  }
  return said;
}

function put(kind, { revision: known, was, made }) {
  if (known !== revision()) return CHANGED;
  const all = kind === "clients" ? profiles : groups;
  const at = was === null ? all.length : all.findIndex((one) => one.name === was);
  if (at < 0) return CHANGED;
  if (all[at] && !all[at].made_here) return FIXED;
  const complaints = complaintsOf(kind, made, was);
  if (complaints.length > 0) return refused(422, "the change was not taken; file and settings are as before", "send what the complaints ask for", complaints);
  all[at] = { ...made, made_here: true };
  if (kind === "groups" && was !== null) for (const one of profiles) one.groups = one.groups.map((name) => (name === was ? made.name : name));
  return [200, RELOADED];
}

function remove(kind, { revision: known, name }) {
  if (known !== revision()) return CHANGED;
  const one = (kind === "clients" ? profiles : groups).find((it) => it.name === name);
  if (!one) return CHANGED;
  if (!one.made_here) return FIXED;
  if (kind === "clients") profiles = profiles.filter((it) => it !== one);
  else groups = groups.filter((it) => it !== one);
  if (kind === "groups") for (const it of profiles) it.groups = it.groups.filter((group) => group !== name);
  return [200, RELOADED];
}

/** Takes a change of profiles or groups; null if it is none. */
export function changeProfiles(asked, { profile: client, group, ...sent }) {
  switch (asked) {
    case "PUT /api/profiles": return put("clients", { ...sent, made: client });
    case "PUT /api/groups": return put("groups", { ...sent, made: group });
    case "POST /api/profiles/remove": return remove("clients", sent);
    case "POST /api/groups/remove": return remove("groups", sent);
    default: return null;
  }
}
