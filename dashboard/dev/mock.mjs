// A stand-in for the admin door: the same JSON from made-up data. It serves dist/ when run by
// itself, and is the middleware of `npm run dev`. The token is "harbour".
// It writes nothing, listens on loopback only, and sends the same CSP as the real one.

import { createReadStream, existsSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { activity, changeProfiles, shownClients, shownProfiles } from "./clients.mjs";
import { statistics } from "./statistics.mjs";
import { configuration } from "./configuration.mjs";
import { cached, LISTS, ORIGINS, series, top, TRUST } from "./data.mjs";
import { confirmFirstRun, firstRun, writeFirstRun } from "./first-run.mjs";
import { live, requests } from "./rows.mjs";
import { fleetEdges, fleetRequests, fleetRevisions, fleetStatistics, fleetWhy } from "./fleet.mjs";
import { blockedIn7d, bypass, overlaps } from "./signals.mjs";
import { answerUsers, callerOf, denied, login, logout, noteCall, signInOffer, TOKEN } from "./users.mjs";
import { pages } from "./visits.mjs";

const STARTED = Date.now() - 3 * 86_400_000 - 4_000_000;
const DIST = process.env.DIST ?? fileURLToPath(new URL("../dist", import.meta.url));
const TYPES = { ".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml" };
// MOCK=empty: a first start without a request. MOCK=open: listens for the whole network, all healthy.
// MOCK=fixed: a first run that may not write. MOCK=nostream, MOCK=burst: rows are not told, or too fast.
// MOCK=bundles: a fleet without a database. MOCK=rows: one without bundles. MOCK=away: its bundles cannot be read.
// MOCK=many: forty clients. MOCK=young: counting began forty minutes ago.
const MODE = process.env.MOCK ?? "";

let pausedUntil = 0;
/** What was allowed and blocked by hand. */
const byHand = MODE === "empty" ? [] : [
  { action: "pass", host: "shop.example", client: "192.168.1.7", profile: null, ends: Date.now() + 240_000 },
  { action: "pass", host: "tracker.example", client: null, profile: null, ends: null },
  { action: "block", host: "game.example", client: null, profile: "kids", ends: Date.now() + 7_200_000 },
  { action: "block", host: "*", client: "192.168.1.70", profile: null, ends: Date.now() + 3_000_000 },
];
const shownOverride = ({ action: _action, ends, ...known }) =>
  ({ ...known, until: ends === null ? null : new Date(ends).toISOString(), left_s: ends === null ? null : Math.floor((ends - Date.now()) / 1000) });
const heldOf = (action) => byHand.filter((one) => one.action === action).map(shownOverride);

async function setOverride(action, request) {
  const { host, minutes, client = null, profile = null } = await readBody(request);
  // What is said last of somebody counts.
  const before = byHand.findIndex((one) => one.host === host && one.client === client && one.profile === profile);
  if (before >= 0) byHand.splice(before, 1);
  const made = { action, host, client, profile, ends: minutes === "always" ? null : Date.now() + minutes * 60_000 };
  byHand.push(made);
  return [200, shownOverride(made)];
}

async function endOverride(action, request) {
  const { host, client, profile } = await readBody(request);
  const at = byHand.findIndex((one) => one.action === action && one.host === host && one.client === client && one.profile === profile);
  if (at >= 0) byHand.splice(at, 1);
  return [200, { [action === "pass" ? "allows" : "blocks"]: heldOf(action) }];
}

const missing = (error) => [404, { error, remedy: "" }];
const RELOADED = { lists: LISTS.length, rules: 151_409, took_ms: 412, warnings: [] };
let ownRules = { text: "! The house's own\n||game.example^$client=192.168.1.70\n@@||shop.example^\n", revision: "1" };

async function addList(request) {
  const { name, url, kind } = await readBody(request);
  if (LISTS.some((list) => list.name === name)) {
    return [422, { error: "the change was not taken; file and settings are as before", remedy: "send what the complaints ask for", complaints: [`/var/lib/tidegate/dashboard.yaml:3:7: policy.lists.4.name: "${name}" is taken; give each a name of its own`] }];
  }
  LISTS.push({ name, kind, from: url ?? "rules", syntax: "adblock", lines: 0, rules_names: 0, rules_urls: 0, skipped: 0, skipped_by_reason: [], skipped_lines: [], made: true,
    subscription: url ? { url, bytes: null, fetched_at: null, checked_at: null, next_at: null, is_fetching: true, failures: 0, failure: null } : null });
  return [200, RELOADED];
}

async function changeList(request, change) {
  const sent = await readBody(request);
  change(LISTS.findIndex((list) => list.name === sent.name), sent);
  return [200, RELOADED];
}

/** Counts lines that look like rules; those with a blank in the middle do not. */
function checkedRules(text) {
  const lines = text.split("\n");
  const wrong = lines.map((line, at) => ({ line: at + 1, text: line, reason: "is no rule of any syntax", file: null }))
    .filter(({ text: one }) => one.trim() !== "" && !one.startsWith("!") && one.includes(" "));
  const rules = lines.filter((line) => line.trim() !== "" && !line.startsWith("!") && !line.includes(" "));
  return { name: "own-rules", kind: "block", from: "rules", syntax: "adblock", lines: lines.length, rules_names: rules.length, rules_urls: 0, loaded_at: null, changed_at: null,
    skipped: wrong.length, skipped_by_reason: wrong.length ? [{ reason: "is no rule of any syntax", count: wrong.length }] : [], skipped_lines: wrong, unfit: null, subscription: null, made: true, off: false };
}

/** The verdict by hand on a host for a client, if there is one. */
function overrideFor(host, client) {
  return byHand.find((one) => (host === one.host || host.endsWith(`.${one.host}`)) && (one.client === null || one.client === client) && one.profile === null);
}

/** A moment before or after now, as the API writes it. */
const fromNow = (ms) => new Date(Date.now() + ms).toISOString();
const trusting = ({ heard_s, avoided_s, ...known }) =>
  ({ ...known, heard_at: fromNow(-heard_s * 1000), avoided_until: avoided_s > 0 ? fromNow(avoided_s * 1000) : null });

function status() {
  const host = MODE === "open" ? "192.168.1.2" : "127.0.0.1";
  const dnsPort = MODE === "open" ? 53 : 5353;
  const busy = MODE !== "empty";
  return {
    version: "0.1.0",
    started_at: new Date(STARTED).toISOString(),
    uptime_s: Math.floor((Date.now() - STARTED) / 1000),
    paused_until: pausedUntil > Date.now() ? new Date(pausedUntil).toISOString() : null,
    pid: 4711,
    state: "/var/lib/tidegate",
    fleet: MODE === "empty" ? null : "harbour",
    asks_fleet: MODE !== "empty",
    fleet_parts: MODE === "empty" ? [] : ["bundles", "rows"].filter((part) => MODE === part || (MODE !== "bundles" && MODE !== "rows")),
    config: MODE === "open" ? "/etc/tidegate/tidegate.yaml" : null,
    listeners: [
      { door: "dns", url: `udp://${host}:${dnsPort}` },
      { door: "dns", url: `tcp://${host}:${dnsPort}` },
      { door: "pixel", url: `http://${host}:8080` },
      { door: "pixel", url: `https://${host}:8443` },
      { door: "proxy", url: `http://${host}:3128` },
      { door: "web", url: `http://${host}:8000` },
      ...(MODE === "open" ? [] : [{ door: "gateway", url: `http://${host}:8081` }]),
      { door: "admin", url: "http://127.0.0.1:9053" },
    ],
    lists: LISTS.length,
    rules: LISTS.reduce((sum, list) => sum + list.rules_names + list.rules_urls, 0),
    rules_bytes: 5_210_440,
    resident_bytes: 38_400_000,
    newer: { version: "0.2.0", page: "https://git.example/tidegate/releases/v0.2.0" },
    ca_fingerprint: "3F:9A:11:C0:5E:77:42:AD:08:6B:D1:F2:90:1C:E3:55:A7:4E:2B:86:19:DC:F4:03:71:BE:68:2D:9F:50:C4:1A",
    warnings: busy && MODE !== "open" ? ["The list ads was last read 9 days ago: lists/adservers.hosts has not changed since."] : [],
    ledger: { stored: busy ? 1_208_441 : 0, dropped_queue: 0, dropped_store: 0 },
    latency: busy
      ? [
          { door: "dns", count: 402_118, median_us: 14, p99_us: 31_400 },
          { door: "pixel", count: 44_210, median_us: 96, p99_us: 1_420 },
          { door: "proxy", count: 71_004, median_us: 26_200, p99_us: 412_000 },
          { door: "web", count: 9_214, median_us: 88, p99_us: 610 },
          { door: "gateway", count: 14_800, median_us: 3_120, p99_us: 22_900 },
        ]
      : [],
  };
}

function totals(range) {
  const points = MODE === "empty" ? [] : series(range, Date.now()).points;
  const passed = points.reduce((sum, point) => sum + point.passed, 0);
  const blocked = points.reduce((sum, point) => sum + point.blocked, 0);
  const all = passed + blocked;
  const split = (parts) => parts.map(([name, p, b]) => ({ door: name, passed: Math.round(passed * p), blocked: Math.round(blocked * b) }));
  const sources = [["cache", 0.46], ["upstream", 0.18], ["policy", 0.17], ["origin", 0.09], ["tunnel", 0.05], ["file", 0.03], ["stale", 0.01], ["failed", 0.004]];
  return {
    range,
    since: points[0]?.at ?? new Date().toISOString(),
    until: new Date().toISOString(),
    requests: all, passed, blocked,
    blocked_share: all ? blocked / all : 0,
    by_door: all ? split([["dns", 0.82, 0.6], ["pixel", 0, 0.28], ["proxy", 0.13, 0.11], ["web", 0.03, 0], ["gateway", 0.02, 0.01]]) : [],
    by_source: all ? sources.map(([source, part]) => ({ source, count: Math.round(all * part) })) : [],
  };
}

function why(words) {
  const target = words.get("target") ?? "";
  const host = target.replace(/^[a-z]+:\/\//, "").replace(/[/?:].*$/, "");
  if (!/^[a-z0-9._-]+$/i.test(host)) {
    return [400, { error: `${JSON.stringify(target)} is neither a domain name nor an absolute URL.`, remedy: "Write it like ads.example or https://ads.example/x.js." }];
  }
  const url = target.includes("://");
  const paused = pausedUntil > Date.now();
  const bad = /ads|metrics|pixel|track|telemetry|beacon|collector|sync|graph|logs/.test(host);
  const good = host.startsWith("good.");
  const rule = { list: "starter", line: 12, text: `||${host.split(".").slice(-2).join(".")}^` };
  const allow = { list: "partners", line: 7, text: `@@||${host}^` };
  const door = words.get("door") || (url ? "proxy" : "dns");
  const kind = words.get("kind") || (url ? "document" : "A");
  const matches = good
    ? [{ ...allow, decides: true, note: "an exception beats a block rule" }, { ...rule, decides: false, note: "lost to the exception on line 7 of partners" }]
    : bad
      ? [
          { ...rule, decides: !paused, note: paused ? "would block, but protection is paused" : "the most important rule that matches" },
          { list: "ads", line: 8112, text: `0.0.0.0 ${host}`, decides: false, note: "says the same; starter stands first in the configuration" },
          { list: "easylist", line: 40_118, text: `@@||${host}/player.js$script,domain=video.stream.example`, decides: false, note: "does not count: asked for another kind, and the page is not video.stream.example" },
        ]
      : [];
  const client = words.get("client") || "127.0.0.1";
  const held = overrideFor(host, client);
  const listed = bad && !good && !paused;
  const blocked = held ? held.action === "block" : listed;
  const decided = good ? allow : blocked && listed ? rule : null;
  const by = held ? (held.action === "block" ? "by_hand" : "paused") : null;
  const outcome = { dns: "the address of the pixel door, 127.0.0.1, for 300 s", pixel: "204 without a body", proxy: "403 with a page that names list and rule" };
  return [200, {
    target, client, profile: "default", door, kind, host, site: host.split(".").slice(-2).join("."),
    action: blocked ? "block" : "pass", cause: by ?? (paused && bad ? "paused" : decided ? "rule" : "none"), rule: decided, list_changed_at: decided ? new Date(STARTED).toISOString() : null,
    summary: held ? (blocked ? `blocked: ${held.host} is blocked by hand for a while` : `passes: ${held.host} is let through for a while`) : "", matches,
    stored: door === "proxy" && !blocked ? ["200 OK, 17.8 KiB in memory: fresh for 1 h by max-age, 5 min 12 s old, so fresh for 54 min 48 s more"] : [],
    page: null,
    door_outcome: blocked ? (outcome[door] ?? "403") : door === "dns" ? "asks the cache, then the upstreams" : "fetches it from the origin",
  }];
}

const bodies = new WeakMap();

/** The body of a request; it may be asked for again. */
function readBody(request) {
  if (!bodies.has(request)) bodies.set(request, new Promise((resolve) => {
    let text = "";
    request.on("data", (chunk) => { text += chunk; });
    request.on("end", () => {
      try { resolve(JSON.parse(text)); } catch { resolve({}); }
    });
  }));
  return bodies.get(request);
}

async function answer(request, url) {
  const { searchParams: words } = url;
  const range = words.get("range") ?? "24h";
  if (url.pathname.startsWith("/api/configuration/")) {
    const told = await configuration(`${request.method} ${url.pathname}`, () => readBody(request));
    if (told) return told;
  }
  switch (`${request.method} ${url.pathname}`) {
    case "GET /api/status": return [200, status()];
    case "GET /api/totals": return [200, totals(range)];
    case "GET /api/series": {
      const made = series(range, Date.now());
      if (MODE === "young") {
        made.begins = new Date(Math.floor(Date.now() / 60_000 - 40) * 60_000).toISOString();
        for (const point of made.points) if (Date.parse(point.at) + made.step_s * 1000 < Date.parse(made.begins)) Object.assign(point, { passed: 0, blocked: 0 });
      }
      if (MODE === "empty") for (const point of made.points) Object.assign(point, { passed: 0, blocked: 0 });
      return [200, made];
    }
    case "GET /api/statistics": return [200, statistics(words)];
    case "GET /api/top": return [200, MODE === "empty" ? { what: words.get("what"), range, lines: [] } : top(words.get("what"), range, Number(words.get("limit") ?? 10))];
    case "GET /api/requests": return [200, requests(words)];
    case "GET /api/why": return why(words);
    case "POST /api/lists": return addList(request);
    case "POST /api/lists/remove": return changeList(request, (at) => LISTS.splice(at, 1));
    case "POST /api/lists/switch": return changeList(request, (at, { on }) => { LISTS[at].off = !on; });
    case "POST /api/lists/update": { const { list } = await readBody(request); return [200, { lists: [{ name: list, outcome: "same", failure: null }], is_fetching: false }]; }
    case "GET /api/rules": return [200, ownRules];
    case "PUT /api/rules": { const { text } = await readBody(request); ownRules = { text, revision: String(Date.now()) }; return [200, RELOADED]; }
    case "POST /api/replay": return [200, triedOutcome(await readBody(request))];
    case "POST /api/requests/clear": return [204, null];
    case "POST /api/configuration/replay": return [200, triedOutcome({})];
    case "POST /api/rules/check": return [200, checkedRules((await readBody(request)).text)];
    case "GET /api/lists": return [200, { lists: LISTS.map((list) => ({ unfit: null, subscription: null, made: false, off: false, ...list, blocked_7d: blockedIn7d(list.name), loaded_at: new Date(STARTED).toISOString(), changed_at: new Date(STARTED).toISOString() })) }];
    case "GET /api/lists/overlaps": return [200, overlaps()];
    case "GET /api/fleet/revisions": return MODE === "rows" ? missing("this machine looks for no bundles") : [200, fleetRevisions(MODE)];
    case "GET /api/fleet/edges": return MODE === "bundles" ? missing("the fleet has no database") : [200, fleetEdges()];
    case "GET /api/fleet/why": return [200, fleetWhy()];
    case "GET /api/fleet/requests": return [200, fleetRequests(words, requests(new URLSearchParams({ limit: "60" })).rows)];
    case "GET /api/fleet/statistics": return [200, fleetStatistics(words)];
    case "GET /api/bypass": return [200, bypass(range)];
    case "GET /api/pages": return [200, pages(words)];
    case "GET /api/first-run": return [200, firstRun()];
    case "POST /api/first-run": return writeFirstRun(await readBody(request));
    case "POST /api/first-run/confirm": return confirmFirstRun();
    case "GET /api/upstreams": return [200, { upstreams: [
      { group: "", name: "quad9", timeouts: 29, unproved: 0, address: "https://dns.quad9.example/dns-query", queries: 61_204, failures: 31, latency_us: 14_300, healthy: true },
      { group: "", name: "cf", timeouts: 9, unproved: 0, address: "tls://192.0.2.1", queries: 60_880, failures: 12, latency_us: 11_900, healthy: true },
      { group: "kids", name: "isp", timeouts: 1_880, unproved: 0, address: "udp://198.51.100.53", queries: 2_104, failures: 1_902, latency_us: MODE === "empty" ? null : 188_000, healthy: MODE === "open" },
    ] }];
    case "GET /api/pools": return [200, { pools: MODE === "empty" ? [] : [
      { name: "app", requests: 48_211, retries: 12, waiting_high: 0, waiting_normal: 3, waiting_low: 1, waited: 640, unserved: 2, servers: [
        { url: "http://10.0.0.11:8080", weight: 1, backup: false, state: "up", health: "up", rests_ms: 0, pending: 4, answers: 24_102, failures: 0, latency_us: 1_840 },
        { url: "http://10.0.0.12:8080", weight: 2, backup: false, state: "resting", health: "up", rests_ms: 7_300, pending: 0, answers: 24_090, failures: 19, latency_us: 98_000 },
        { url: "http://10.0.0.13:8080", weight: 1, backup: true, state: "up", health: "unknown", rests_ms: 0, pending: 0, answers: 0, failures: 0, latency_us: 0 },
      ], names: [] },
      { name: "api", requests: 9_204, retries: 3, waiting_high: 0, waiting_normal: 0, waiting_low: 0, waited: 12, unserved: 0, servers: [
        { url: "https://10.0.1.21:8443", weight: 60, backup: false, state: "up", health: "up", rests_ms: 0, pending: 1, answers: 5_402, failures: 0, latency_us: 2_310 },
        { url: "https://10.0.1.22:8443", weight: 40, backup: false, state: "up", health: "up", rests_ms: 0, pending: 0, answers: 3_802, failures: 2, latency_us: 2_870 },
      ], names: [
        { url: "https://_https._tcp.api.internal", resolve: "srv", servers: 2, failure: null, looked_up_at: fromNow(-21_000), next_at: fromNow(41_000) },
        { url: "http://spare.api.internal:8080", resolve: "addresses", servers: 0, failure: null, looked_up_at: null, next_at: null },
      ] },
      { name: "media", requests: 1_840, retries: 0, waiting_high: 0, waiting_normal: 0, waiting_low: 0, waited: 0, unserved: 0, servers: [
        { url: "http://10.0.2.31:8080", weight: 1, backup: false, state: "up", health: "up", rests_ms: 0, pending: 0, answers: 1_840, failures: 0, latency_us: 4_120 },
      ], names: [
        { url: "http://media.eu-central-1.compute.cloud-of-somebody.example:8080", resolve: "addresses", servers: 1, failure: "the upstream could not look the name up", looked_up_at: fromNow(-4_000), next_at: fromNow(12_000) },
      ] },
    ] }];
    case "GET /api/origins": return [200, { origins: MODE === "empty" ? [] : ORIGINS }];
    case "GET /api/cache": return [200, { caches: MODE === "empty" ? [] : cached(words) }];
    case "POST /api/stores/purge": return [200, { entries: 1, fetches: 0 }];
    case "GET /api/clients": return [200, shownClients(range, byHand)];
    case "GET /api/clients/activity": return [200, activity(words.get("client") ?? "", range)];
    case "GET /api/profiles": return [200, shownProfiles()];
    case "PUT /api/profiles": case "PUT /api/groups": case "POST /api/profiles/remove": case "POST /api/groups/remove":
      return changeProfiles(`${request.method} ${url.pathname}`, await readBody(request));
    case "GET /api/trust": return [200, { clients: MODE === "empty" ? [] : TRUST.map(trusting) }];
    case "GET /api/allows": return [200, { allows: heldOf("pass") }];
    case "GET /api/blocks": return [200, { blocks: heldOf("block") }];
    case "POST /api/allow": return setOverride("pass", request);
    case "POST /api/block": return setOverride("block", request);
    case "POST /api/revoke": return endOverride("pass", request);
    case "POST /api/unblock": return endOverride("block", request);
    case "POST /api/reload": return MODE === "open"
      ? [422, { error: "The configuration was not taken; the old one goes on.", remedy: "Mend these and reload again.", complaints: ["tidegate.yaml:14:7: upstreams.0: \"tls:/1.1.1.1\" is no address; write it like tls://1.1.1.1", "tidegate.yaml:22:3: web.rot: no such key; root?"] }]
      : [200, { lists: LISTS.length, rules: 151_409, took_ms: 412, warnings: [] }];
    case "POST /api/pause": pausedUntil = Date.now() + (await readBody(request)).seconds * 1000; return [200, { paused_until: new Date(pausedUntil).toISOString() }];
    case "POST /api/resume": pausedUntil = 0; return [200, { paused_until: null }];
    default: return [404, { error: "There is nothing here.", remedy: "" }];
  }
}

function sendJson(response, code, body, headers = {}) {
  response.writeHead(code, { "content-type": "application/json", ...headers });
  response.end(body === null ? "" : JSON.stringify(body));
}

/** Answers what the admin door answers; everything else goes on to `next`. */
export async function mock(request, response, next) {
  const url = new URL(request.url, "http://mock");
  const action = `${request.method} ${url.pathname}`;
  if (action === "POST /login") return sendJson(response, ...login(request, await readBody(request)));
  if (action === "POST /logout") return sendJson(response, ...logout(request));
  if (action === "GET /api/sign-in") return sendJson(response, 200, signInOffer());
  if (action === "GET /login/oidc") {
    response.writeHead(302, { location: "/#sign-on-failed" });
    return response.end();
  }
  if (url.pathname === "/api/ca.pem") {
    response.writeHead(200, { "content-type": "application/x-pem-file", "content-disposition": 'attachment; filename="tidegate-ca.pem"' });
    return response.end("-----BEGIN CERTIFICATE-----\n(mock)\n-----END CERTIFICATE-----\n");
  }
  if (!url.pathname.startsWith("/api/")) return next();
  const caller = callerOf(request);
  if (!caller) return sendJson(response, 401, { error: "not signed in", remedy: "sign in first" });
  if (action === "GET /api/requests/live") return live(request, response, url.searchParams);
  const sent = request.method === "GET" ? null : await readBody(request);
  const [code, body] = denied(caller, action) ?? answerUsers(caller, action, sent, url.searchParams) ?? (await answer(request, url));
  noteCall(request, caller, action, sent, code, body);
  sendJson(response, code, body);
}

function serveFile(request, response) {
  const path = normalize(decodeURIComponent(new URL(request.url, "http://mock").pathname));
  let file = join(DIST, path);
  if (!file.startsWith(DIST) || !existsSync(file) || statSync(file).isDirectory()) file = join(DIST, "index.html");
  response.writeHead(200, {
    "content-type": TYPES[extname(file)] ?? "application/octet-stream",
    "content-security-policy": "default-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
  });
  createReadStream(file).pipe(response);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const port = Number(process.env.PORT ?? 9054);
  createServer((request, response) => {
    void mock(request, response, () => serveFile(request, response));
  }).listen(port, "127.0.0.1", () => {
    console.log(`mock dashboard on http://127.0.0.1:${port}/#token=${TOKEN}`);
  });
}

/** What a change would have made of the last week: the same for every change. */
function triedOutcome(change) {
  const names = ["game.example", "cdn.game.example", "telemetry.example", "shop.example", "metrics.example", "ads.example", "t.example", "<b>x</b>.example", "www.news.example", "img.example"];
  return {
    requests: 48211,
    blocked: 1312,
    passed: 20,
    skipped: 0,
    names: names.map((name, at) => ({
      name,
      action: at % 4 === 3 ? "pass" : "block",
      requests: 900 - at * 87,
      clients: at % 3 === 0 ? ["192.168.1.20", "192.168.1.21", "192.168.1.22", "192.168.1.23", "192.168.1.24"] : ["192.168.1.20"],
      rule: at % 4 === 3 ? null : `own-rules:${at + 1} ||${name}^`,
    })),
    more: 3,
    rules: change.own_rules === undefined ? [] : [
      { list: "own-rules", line: 1, text: "||game.example^", action: "block", requests: 1300 },
      { list: "own-rules", line: 3, text: "@@||shop.example^", action: "pass", requests: 20 },
    ],
    took_ms: 640,
  };
}
