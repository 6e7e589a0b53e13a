// Made-up signals of ways around, and overlaps of lists, for the mock.

import { CLIENTS, LISTS } from "./data.mjs";

const MODE = process.env.MOCK ?? "";
const LENGTH_S = { "24h": 86_400, "7d": 604_800, "30d": 2_592_000 };
const ago = (seconds) => new Date(Date.now() - seconds * 1000).toISOString();
const name = (text, count, blocked = 0) => ({ text, count, blocked });

const DEVICES = [
  { client: CLIENTS[2], name: "mias-tablet.lan", signals: [
    { kind: "relay", age_s: 900, names: [name("mask.icloud.com", 41, 41), name("mask-h2.icloud.com", 40, 40), name("mask-api.icloud.com", 6)] },
    { kind: "canary", age_s: 920, names: [name("mask.icloud.com", 41, 41)] },
  ] },
  { client: CLIENTS[0], name: "laptop.lan", signals: [
    { kind: "encrypted_dns", age_s: 4_200, names: [name("mozilla.cloudflare-dns.com", 18), name("dns.google", 3), name("dns.nextdns.io", 1, 1)] },
    { kind: "canary", age_s: 4_260, names: [name("use-application-dns.net", 22, 22)] },
    { kind: "ech", age_s: 600, names: [name("cloudflare-ech.com", 240)] },
  ] },
  { client: CLIENTS[1], name: "tv.lan", signals: [
    { kind: "no_dns", age_s: 300, names: [name("proxy", 812), name("pixel", 96, 96)] },
    { kind: "encrypted_dns", age_s: 80_000, names: [name("dns.google", 4)] },
  ] },
  { client: "192.168.1.70", name: "console.lan", signals: [{ kind: "silent", age_s: 140_000, names: [] }] },
  { client: CLIENTS[3], name: null, signals: [{ kind: "vpn", age_s: 7_000, names: [name("api.nordvpn.example", 12), name("wg.a-provider-with-a-very-long-name-of-a-tunnel-end.vpn.example", 4)] }] },
];

export function bypass(range) {
  const length = LENGTH_S[range] ?? LENGTH_S["24h"];
  const crowd = MODE === "many" ? Array.from({ length: 30 }, (_, n) => ({ client: `192.168.1.${100 + n}`, name: n % 3 ? `device-${n}.lan` : "<b>\u202eelbat</b>.lan", signals: DEVICES[n % DEVICES.length].signals })) : [];
  const devices = MODE === "empty" ? [] : [...DEVICES, ...crowd].flatMap((one) => {
    const signals = one.signals.filter(({ age_s }) => age_s < length).map(({ kind, age_s, names }) => ({ kind, count: Math.max(6, names.reduce((sum, it) => sum + it.count, 0)), last_at: ago(age_s), names }));
    return signals.length ? [{ client: one.client, name: one.name, signals }] : [];
  });
  return { range, since: ago(length), devices, more: MODE === "many" ? 7 : 0 };
}

const HELD = { starter: { ads: 0.94, easylist: 0.71 }, ads: { easylist: 0.38, starter: 0.004 }, easylist: { ads: 0.82, starter: 0.01 }, mine: { easylist: 1 } };

export function overlaps() {
  const sizes = new Map(LISTS.map((list) => [list.name, list.rules_names]));
  const lists = LISTS.filter((list) => list.rules_names > 0).map((list) => ({
    name: list.name, names: list.rules_names,
    held_by: Object.entries(HELD[list.name] ?? {}).filter(([other]) => sizes.has(other)).map(([other, share]) => ({ name: other, names: Math.round(share * list.rules_names), share })).toSorted((a, b) => b.share - a.share),
  }));
  return { counted_at: ago(40), lists: MODE === "empty" ? [] : lists };
}

/** What each list has blocked within a week. */
export const blockedIn7d = (list) => (MODE === "empty" ? null : { starter: 1_204, ads: 88_412, easylist: 21_044, mine: 0 }[list] ?? null);
