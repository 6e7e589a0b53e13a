import { describe, expect, it } from "vitest";
import type { RequestRow } from "../src/model";
import type { Visit, VisitHost } from "../src/visit-model";
import { fallsOf, hostOf, keptAway, SCALE, ticks, visitLength } from "../src/waterfall";

const BEGIN = Date.parse("2026-11-28T16:00:00.000Z");
const at = (ms: number): string => new Date(BEGIN + ms).toISOString();
const row = (part: Partial<RequestRow>): RequestRow => ({
  id: 1, number: "01A2-076A-9DE3", at: at(0), door: "dns", client: "192.168.1.7", subject: "a.example", kind: "A", action: "pass", cause: "none",
  rule: null, source: "cache", cache: null, not_stored: null, cache_text: null, status: 0, status_text: "NOERROR", bytes: 1, took_us: 0, ...part,
});
const host = (name: string, part: Partial<VisitHost> = {}): VisitHost =>
  ({ host: name, site: name, first_after_ms: 0, requests: 1, blocked: 0, bytes: 0, doors: ["dns"], rule: null, ...part });
const visit = (part: Partial<Visit>): Visit => ({ at: at(0), until: at(1000), requests: 1, blocked: 0, bytes: 0, hosts: [], rows: [], more: 0, sent: [], ...part });

it("the host of a row is found in names, tunnels and URLs", () => {
  expect(["A.example", "a.example:443", "https://a.example:8443/x?y=https://b.example", "[2001:db8::1]:443"].map(hostOf)).toEqual([
    "a.example", "a.example", "a.example", "2001:db8::1",
  ]);
});

describe("the timeline of a visit", () => {
  it("has hosts in the order of their first request, and doors in theirs", () => {
    const falls = fallsOf(visit({
      hosts: [host("b.example", { first_after_ms: 500 }), host("a.example", { doors: ["proxy", "dns"] })],
      rows: [row({}), row({ door: "proxy", subject: "https://a.example/", at: at(500), took_us: 250_000, action: "block" })],
    }));
    expect(falls.map((fall) => fall.host.host)).toEqual(["a.example", "b.example"]);
    expect(falls[0]?.lanes.map((lane) => lane.door)).toEqual(["dns", "proxy"]);
    expect(falls[0]?.lanes[1]?.bars).toEqual([{ x: 500, width: 250, blocked: true }]);
    expect(falls[1]?.lanes[0]?.bars).toEqual([]);
  });

  it("draws what took no time, and nothing beyond its end", () => {
    const [fall] = fallsOf(visit({ hosts: [host("a.example")], rows: [row({}), row({ at: at(1000) }), row({ at: at(900), took_us: 9e9 })] }));
    for (const { x, width } of fall?.lanes[0]?.bars ?? []) {
      expect(width).toBeGreaterThan(0);
      expect(x + width).toBeLessThanOrEqual(SCALE);
    }
    expect(fall?.lanes[0]?.bars).toHaveLength(3);
  });

  it("is never without length", () => {
    expect(visitLength(visit({ until: at(0) }))).toBe(1);
    expect(visitLength(visit({ rows: [row({ at: at(4000) })] }))).toBe(4000);
  });

  it("has a scale of round steps", () => {
    expect(ticks(9_400)).toEqual([0, 2000, 4000, 6000, 8000]);
    expect(ticks(1)[0]).toBe(0);
    for (const length of [1, 7, 350, 61_000, 3_600_000]) expect(ticks(length).length).toBeLessThanOrEqual(7);
  });
});

it("what was kept away stands with the most requests first", () => {
  const kept = keptAway(visit({ hosts: [host("a.example"), host("b.example", { blocked: 1 }), host("c.example", { blocked: 9 })] }));
  expect(kept.map((one) => one.host)).toEqual(["c.example", "b.example"]);
});
