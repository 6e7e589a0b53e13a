// Made-up but lifelike data for the mock: a home network with four clients over a week.
// All names are under reserved example domains; numbers come from a fixed seed.

/** A small seeded generator (mulberry32): the same pictures every time. */
export function dice(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

export const CLIENTS = ["192.168.1.24", "192.168.1.31", "192.168.1.66", "fd00::1c2:9bff:fe40:77a1", "127.0.0.1"];

/** Who trusts the authority, the one heard of last first; times in seconds before and after now, 0 for none. */
export const TRUST = [
  { client: CLIENTS[0], trust: "trusts", requests: 1_412, alerts: 0, silences: 6, heard_s: 9, avoided_s: 0 },
  { client: "192.168.1.80", trust: "unknown", requests: 0, alerts: 1, silences: 0, heard_s: 48, avoided_s: 0 },
  { client: CLIENTS[1], trust: "trusts", requests: 388, alerts: 17, silences: 2, heard_s: 130, avoided_s: 0 },
  { client: CLIENTS[2], trust: "distrusts", requests: 0, alerts: 3, silences: 0, heard_s: 1_610, avoided_s: 19_990 },
  { client: CLIENTS[3], trust: "trusts", requests: 96, alerts: 0, silences: 0, heard_s: 2_400, avoided_s: 0 },
  { client: "fd00::8a2e:370:7334:91c4", trust: "distrusts", requests: 0, alerts: 0, silences: 6, heard_s: 7_205, avoided_s: 14_395 },
  { client: CLIENTS[4], trust: "trusts", requests: 12, alerts: 0, silences: 0, heard_s: 9_000, avoided_s: 0 },
  { client: "192.168.1.81", trust: "unknown", requests: 0, alerts: 0, silences: 2, heard_s: 31_000, avoided_s: 0 },
  { client: "192.168.1.82", trust: "unknown", requests: 0, alerts: 4, silences: 0, heard_s: 90_000, avoided_s: 0 },
  { client: "192.168.1.40", trust: "trusts", requests: 3, alerts: 0, silences: 1, heard_s: 140_000, avoided_s: 0 },
  { client: "192.168.1.41", trust: "trusts", requests: 1, alerts: 0, silences: 0, heard_s: 200_000, avoided_s: 0 },
];

/** Where the proxy has connections to, the one used last first. */
export const ORIGINS = [
  { origin: "https://www.example", version: "2", open: 1, idle: 0, at_once: 0, unused_s: 0 },
  { origin: "http://images.shop.example", version: "1.1", open: 6, idle: 4, at_once: 6, unused_s: 0 },
  { origin: "http://d111111abcdef8.cdn-of-somebody-with-a-long-name.eu-central-1.example:8080", version: "1.1", open: 2, idle: 2, at_once: 2, unused_s: 4 },
  { origin: "https://news.example", version: "2", open: 1, idle: 1, at_once: 0, unused_s: 11 },
  { origin: "http://[2001:db8::7]:3000", version: "1.1", open: 1, idle: 1, at_once: 1, unused_s: 18 },
  { origin: "https://packages.example", version: "1.1", open: 3, idle: 3, at_once: 4, unused_s: 21 },
  { origin: "http://192.168.1.5", version: "1.1", open: 1, idle: 1, at_once: 1, unused_s: 27 },
  { origin: "http://radio.example:8000", version: "1.1", open: 0, idle: 0, at_once: 2, unused_s: 95 },
  { origin: "http://old.example", version: "1.1", open: 0, idle: 0, at_once: 3, unused_s: 412 },
];

export const LISTS = [
  {
    name: "starter", kind: "block", from: "builtin starter", syntax: "AdGuard", lines: 1284,
    rules_names: 1211, rules_urls: 38, skipped: 0, skipped_by_reason: [], skipped_lines: [],
  },
  {
    name: "ads", kind: "block", from: "lists/adservers.hosts", syntax: "hosts", lines: 84_310,
    rules_names: 84_102, rules_urls: 0, skipped: 3,
    skipped_by_reason: [{ reason: "not a domain name", count: 2 }, { reason: "line is too long", count: 1 }],
    skipped_lines: [
      { line: 412, reason: "not a domain name", text: "0.0.0.0 ads_.-example..net" },
      { line: 60_113, reason: "not a domain name", text: "0.0.0.0 http://tracker.example/" },
      { line: 71_990, reason: "line is too long", text: "0.0.0.0 aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…" },
    ],
  },
  {
    name: "easylist", kind: "block", from: "https://lists.example/easylist.txt", syntax: "EasyList", lines: 79_402,
    subscription: {
      url: "https://lists.example/easylist.txt", bytes: 2_410_000, fetched_at: "2026-11-20T05:12:09.000Z",
      checked_at: "2026-11-21T05:20:41.000Z", next_at: "2026-11-21T09:20:00.000Z", is_fetching: false,
      failures: 3, failure: "the server answered 503 Service Unavailable",
    },
    rules_names: 46_211, rules_urls: 19_760, skipped: 12_907,
    skipped_by_reason: [
      { reason: "hides elements of a page, which is a browser's work", count: 12_795 },
      { reason: "unknown modifier", count: 112 },
    ],
    skipped_lines: [
      { line: 18, reason: "hides elements of a page, which is a browser's work", text: "##.ad-banner" },
      { line: 19, reason: "hides elements of a page, which is a browser's work", text: "##.ad-box-sidebar" },
      { line: 2207, reason: "unknown modifier", text: "||player.example^$popunder,domain=video.example|stream.example" },
    ],
  },
  {
    name: "mine", kind: "block", from: "rules", syntax: "AdGuard", lines: 3,
    rules_names: 3, rules_urls: 0, skipped: 0, skipped_by_reason: [], skipped_lines: [],
  },
  {
    name: "partners", kind: "allow", from: "lists/allow.txt", syntax: "names", lines: 42,
    rules_names: 42, rules_urls: 0, skipped: 0, skipped_by_reason: [], skipped_lines: [],
  },
];

const BLOCKED = [
  ["ads.pelican.example", "ads", 8112], ["metrics.harbour.example", "ads", 40_221], ["telemetry.screens.example", "starter", 214],
  ["pixel.driftwood.example", "easylist", 5310], ["beacons.gulls.example", "starter", 88], ["collector-pxy4k2.analytics.lighthouse.example", "ads", 23_871],
  ["sync.adexchange.example", "easylist", 771], ["graph.social.example", "mine", 1], ["logs.tv.example", "starter", 902],
  ["a1961.tracking.very-long-subdomain-label-of-a-content-network.cdn.example", "ads", 66_120],
];
const PASSED = [
  "www.wikipedia.example", "news.morning.example", "cdn.morning.example", "api.weather.example", "time.example", "fonts.letters.example",
  "mail.post.example", "imap.post.example", "video.stream.example", "updates.debian.example", "git.forge.example", "router.lan",
];
const PATHS = ["/", "/assets/app-4f81c2.js", "/img/hero@2x.webp?w=1280&h=720&fit=crop&auto=format&dpr=2&session=0b7f4f0e6b1a4d31", "/api/v2/items?page=3", "/style/main.css", "/favicon.ico"];
const KIND_OF_PATH = ["document", "script", "image", "fetch", "stylesheet", "image"];
const TRACK = ["/t.gif?u=8841&e=view", "/sdk/v3/collect.js", "/beacon", "/pagead/show.js?slot=top&w=728&h=90&client=ca-pub-000000000000"];
const KIND_OF_TRACK = ["image", "script", "ping", "script"];

const pick = (random, list) => list[Math.floor(random() * list.length)];
const skewed = (random, list) => list[Math.floor(random() ** 2.2 * list.length)];

function ruleFor(name, list, line) {
  const text = list === "ads" ? `0.0.0.0 ${name}` : `||${name}^`;
  return { list, line, text };
}

/** One request of the log, made from its number alone. */
export function row(id, at) {
  const random = dice(id * 2654435761);
  const u = random();
  const door = u < 0.72 ? "dns" : u < 0.8 ? "pixel" : u < 0.93 ? "proxy" : u < 0.97 ? "web" : "gateway";
  const client = skewed(random, CLIENTS);
  const blocked = door === "pixel" || random() < (door === "dns" ? 0.2 : door === "proxy" ? 0.12 : 0.03);
  const hex = Math.floor(at).toString(16).toUpperCase().padStart(12, "0");
  const number = `${hex.slice(0, 4)}-${hex.slice(4, 8)}-${hex.slice(8)}`;
  const base = { id, number, at: new Date(at).toISOString(), door, client, action: blocked ? "block" : "pass", cause: blocked ? "rule" : "none", rule: null, cache: null, not_stored: null, cache_text: null };
  const [name, list, line] = skewed(random, BLOCKED);
  if (door === "dns") {
    const kind = random() < 0.55 ? "A" : random() < 0.6 ? "AAAA" : "HTTPS";
    if (blocked) return { ...base, subject: name, kind, rule: ruleFor(name, list, line), source: "policy", status: 0, status_text: "NOERROR", bytes: 118, took_us: 11 + Math.floor(random() * 24) };
    const subject = skewed(random, PASSED);
    const hit = random();
    if (subject === "router.lan") return { ...base, subject, kind, source: "local", status: 0, status_text: "NOERROR", bytes: 55, took_us: 9 };
    if (hit < 0.02) return { ...base, subject, kind, source: "failed", status: 2, status_text: "SERVFAIL", bytes: 44, took_us: 2_004_112 };
    if (hit < 0.68) return { ...base, subject, kind, source: hit < 0.03 ? "stale" : "cache", status: 0, status_text: "NOERROR", bytes: 96, took_us: 6 + Math.floor(random() * 20) };
    return { ...base, subject, kind, source: "upstream", status: hit > 0.97 ? 3 : 0, status_text: hit > 0.97 ? "NXDOMAIN" : "NOERROR", bytes: 142, took_us: 8_000 + Math.floor(random() * 34_000) };
  }
  if (blocked && door !== "gateway" && door !== "web") {
    const n = Math.floor(random() * TRACK.length);
    return { ...base, subject: `https://${name}${TRACK[n]}`, kind: KIND_OF_TRACK[n], rule: ruleFor(name, list, line), source: "policy", status: n === 2 ? 204 : 200, status_text: n === 2 ? "204" : "200", bytes: n === 0 ? 43 : 0, took_us: 60 + Math.floor(random() * 240) };
  }
  const n = Math.floor(random() * PATHS.length);
  if (door === "web") return { ...base, action: "pass", cause: "not_asked", subject: `http://files.lan:8000${PATHS[n]}`, kind: KIND_OF_PATH[n], source: "file", status: random() < 0.1 ? 304 : 200, status_text: "200", bytes: 18_230, took_us: 90 };
  if (door === "gateway") {
    return blocked
      ? { ...base, subject: "http://app.example/wp-login.php", kind: "document", rule: { list: "attacks", line: 17, text: "/wp-login.php" }, source: "refused", status: 403, status_text: "403", bytes: 312, took_us: 40 }
      : { ...base, subject: `http://app.example${PATHS[n]}`, kind: KIND_OF_PATH[n], source: "origin", status: 200, status_text: "200", bytes: 4_112, took_us: 3_400 };
  }
  if (random() < 0.5) return { ...base, subject: `${pick(random, PASSED)}:443`, kind: "tunnel", source: "tunnel", status: 200, status_text: "200", bytes: 188_201, took_us: 31_000_000 * random() };
  const cached = { cache: "uri-miss", not_stored: "no-store", cache_text: "nothing was stored for the URL; the answer was not stored: the origin says no-store" };
  return { ...base, ...cached, subject: `http://${skewed(random, PASSED)}${PATHS[n]}`, kind: KIND_OF_PATH[n], source: "origin", status: 200, status_text: "200", bytes: 21_400, took_us: 24_000 + Math.floor(random() * 90_000) };
}

const STEP_S = { "1h": 60, "24h": 600, "7d": 3600, "30d": 21_600 };
const LENGTH_S = { "1h": 3600, "24h": 86_400, "7d": 604_800, "30d": 2_592_000 };

/** Requests per second of a household, by the hour of the day. */
function flow(at) {
  const hour = new Date(at).getHours() + new Date(at).getMinutes() / 60;
  const bump = (middle, width, height) => {
    const away = ((hour - middle + 36) % 24) - 12;
    return height * Math.exp(-(away * away) / (2 * width * width));
  };
  return 0.25 + bump(7.6, 1.1, 1.3) + bump(13, 2.4, 0.9) + bump(20.4, 2.1, 2.7);
}

export function series(range, nowMs) {
  const step = STEP_S[range];
  const last = Math.floor(nowMs / 1000 / step) * step;
  const points = [];
  for (let t = last - LENGTH_S[range] + step; t <= last; t += step) {
    const random = dice(t);
    const part = t === last ? (nowMs / 1000 - t) / step : 1;
    let all = 0;
    for (let k = 0; k < 6; k++) all += (flow((t + (step * k) / 6) * 1000) * step) / 6;
    all *= (0.82 + random() * 0.36) * part;
    const blocked = all * (0.13 + random() * 0.09);
    points.push({ at: new Date(t * 1000).toISOString(), passed: Math.round(all - blocked), blocked: Math.round(blocked) });
  }
  return { range, step_s: step, points };
}

export function top(what, range, limit) {
  const scale = LENGTH_S[range] / 86_400;
  const names = what === "blocked" ? BLOCKED.map(([name]) => name) : what === "names" ? PASSED : CLIENTS;
  const lines = names.map((text, n) => {
    const count = Math.max(1, Math.round((what === "clients" ? 61_000 : what === "names" ? 9_800 : 4_210) * scale * 0.66 ** n));
    const blocked = what === "blocked" ? count : what === "names" ? 0 : Math.round(count * (0.24 - n * 0.04));
    return { text, count, blocked };
  });
  return { what, range, lines: lines.slice(0, limit) };
}

const SITES = ["deb.example", "static.crates.example", "cdn.news.example", "images.shop.example", "fonts.example", "a-very-long-name-of-a-site-that-somebody-thought-would-be-easy-to-remember.example"];

/** What the proxy's cache has stored: all sites, or the URLs of one. */
export function cached(words) {
  const site = words.get("site") || (words.get("prefix") ? new URL(words.get("prefix")).hostname : "");
  const sites = SITES.map((name, n) => ({ site: name, memory_objects: [812, 41, 1290, 0, 4, 1][n], memory_bytes: [48_210_330, 910_221, 120_553_001, 0, 88_120, 2_201][n], disk_objects: [4021, 220, 0, 77, 4, 1][n], disk_bytes: [1_920_118_220, 44_201_990, 0, 91_220_100, 88_120, 2_201][n] }));
  const url = (path, more) => ({ url: `https://${site}${path}`, responses: [{ status: 200, memory_bytes: 12_400, front_bytes: null, disk_bytes: 12_400, age_s: 340, fresh_s: 86_060, ...more }] });
  const urls = [
    url("/", { fresh_s: -40, disk_bytes: null }),
    url("/dists/stable/InRelease", {}),
    url("/pool/main/l/linux/linux-image-6.12-amd64.deb?with=a&very=long&query=that&goes=on&and=on&until=it&needs=two&lines=here", { memory_bytes: null, front_bytes: 65_536, disk_bytes: 98_211_004, age_s: 86_400 * 4 }),
    url("/missing", { status: 404, memory_bytes: 310, disk_bytes: null, fresh_s: 20 }),
  ];
  return [{ door: "proxy", sites: site ? [] : sites, urls: site ? urls : [], next_after: site ? null : "fonts.example", complete: true }];
}
