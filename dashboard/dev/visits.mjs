// Made-up visits of pages for the mock: the same site at the same times each day, with what it loaded.

import { dice } from "./data.mjs";

const MODE = process.env.MOCK ?? "";
const EVERY_MS = 2_400_000;
const rule = (list, line, text) => ({ list, line, text });
const HOSTS = [
  { host: "www.SITE", after: 0, requests: 9, bytes: 214_000, doors: ["dns", "proxy"] },
  { host: "static.SITE", after: 210, requests: 31, bytes: 1_840_200, doors: ["dns", "proxy"] },
  { host: "fonts.letters.example", after: 260, requests: 4, bytes: 96_400, doors: ["dns", "proxy"] },
  { host: "ads.pelican.example", after: 340, requests: 7, blocked: 7, bytes: 301, doors: ["dns", "pixel"], rule: rule("ads", 8112, "0.0.0.0 ads.pelican.example") },
  { host: "metrics.harbour.example", after: 355, requests: 3, blocked: 3, bytes: 0, doors: ["dns", "pixel"], rule: rule("ads", 40_221, "0.0.0.0 metrics.harbour.example") },
  { host: "cdn.SITE", after: 420, requests: 12, bytes: 902_100, doors: ["dns", "proxy"] },
  { host: "a1961.tracking.very-long-subdomain-label-of-a-content-network.cdn.example", after: 610, requests: 2, blocked: 2, bytes: 0, doors: ["dns"], rule: rule("ads", 66_120, "0.0.0.0 a1961.tracking.very-long-subdomain-label-of-a-content-network.cdn.example") },
  { host: "video.stream.example", after: 1_240, requests: 22, bytes: 8_120_400, doors: ["dns", "proxy"] },
  { host: "pixel.driftwood.example", after: 1_900, requests: 1, blocked: 1, bytes: 43, doors: ["dns", "pixel"], rule: rule("easylist", 5310, "||pixel.driftwood.example^") },
  { host: "beacons.gulls.example", after: 8_200, requests: 4, blocked: 4, bytes: 0, doors: ["dns", "pixel"], rule: rule("starter", 88, "||beacons.gulls.example^") },
];
const PATHS = { pixel: ["/t.gif?u=8841&e=view", "/sdk/v3/collect.js", "/beacon"], proxy: ["/", "/assets/app-4f81c2.js", "/img/hero.webp?w=1280", "/style/main.css"] };
const KINDS = { pixel: ["image", "script", "ping"], proxy: ["document", "script", "image", "stylesheet"] };

/** The last two labels. */
const siteOf = (host) => host.split(".").slice(-2).join(".");

function rowsOf(hosts, begin, client) {
  let id = Math.floor(begin / 700) - 2_000_000_000;
  const rows = hosts.flatMap((one) => one.doors.flatMap((door) => Array.from({ length: door === "dns" ? 1 : Math.min(6, one.requests) }, (_, n) => {
    const blocked = (one.blocked ?? 0) > 0;
    const random = dice(begin + one.first_after_ms * 31 + n);
    const at = begin + one.first_after_ms + (door === "dns" ? 0 : 20 + Math.floor(random() * 900 * (n + 1)));
    const path = door === "dns" ? "" : PATHS[door][n % PATHS[door].length];
    id += 1;
    return { id, number: "01A2-076A-9DE3", at: new Date(at).toISOString(), door, client, subject: door === "dns" ? one.host : `https://${one.host}${path}`, kind: door === "dns" ? "A" : KINDS[door][n % KINDS[door].length],
      action: blocked ? "block" : "pass", cause: blocked ? "rule" : "none", rule: one.rule, source: blocked ? "policy" : door === "dns" ? "upstream" : "origin", cache: null, not_stored: null, cache_text: null,
      status: door === "dns" ? 0 : 200, status_text: door === "dns" ? "NOERROR" : "200", bytes: Math.round(one.bytes / 8), took_us: blocked ? 20 + Math.floor(random() * 300) : 9_000 + Math.floor(random() * 280_000) };
  })));
  return rows.toSorted((a, b) => a.at.localeCompare(b.at));
}

const sentBodies = (begin, client) => [
  { at: new Date(begin + 420).toISOString(), client, method: "POST", url: "https://metrics.harbour.example/v2/collect?sid=[redacted]", content_type: "application/json", bytes: 1_204, text: '{"events":[{"type":"pageview","path":"/harbour/tides","screen":"1920x1080","lang":"de-CH"},{"type":"scroll","depth":0.42}],"user":"[redacted]"}', shown_bytes: 512 },
  { at: new Date(begin + 1_920).toISOString(), client, method: "POST", url: "https://pixel.driftwood.example/b", content_type: "application/octet-stream", bytes: 88, text: null, shown_bytes: 0 },
];

export function pages(words) {
  const client = words.get("client") ?? "127.0.0.1";
  const site = siteOf((words.get("site") ?? "morning.example").toLowerCase());
  const length = { "1h": 3_600_000, "7d": 604_800_000, "30d": 2_592_000_000 }[words.get("range")] ?? 86_400_000;
  const first = Math.floor(Date.now() / EVERY_MS) * EVERY_MS;
  const count = MODE === "empty" ? 0 : Math.min(50, Math.floor(length / EVERY_MS));
  const visits = Array.from({ length: count }, (_, n) => {
    const begin = first - n * EVERY_MS + (n * 7919) % 600_000;
    const requests = 95 - (n * 7) % 60;
    return { begin, at: new Date(begin).toISOString(), until: new Date(begin + 9_400 + (n % 4) * 31_000).toISOString(), requests, blocked: Math.round(requests * 0.18) };
  }).filter(({ begin }) => begin < Date.now());
  const asked = Number(words.get("at") || Infinity);
  const chosen = visits.find(({ begin }) => begin <= asked) ?? visits.at(-1) ?? visits[0];
  const shown = visits.map(({ begin: _begin, ...line }) => line);
  if (!chosen) return { client, site, visits: [], visit: null, by_referer: false };
  const hosts = HOSTS.map(({ after, host, ...one }) => Object.assign({ blocked: 0, rule: null }, one, { host: host.replace("SITE", site), site: siteOf(host.replace("SITE", site)), first_after_ms: after }));
  const { begin, ...line } = chosen;
  return { client, site, visits: shown, by_referer: client !== "192.168.1.31",
    visit: { ...line, bytes: hosts.reduce((sum, one) => sum + one.bytes, 0), hosts, rows: rowsOf(hosts, begin, client), more: 0, sent: client === "192.168.1.31" ? [] : sentBodies(begin, client) } };
}
