import { describe, expect, it } from "vitest";
import { inOrder, isBehind, sumsOf } from "../src/fleet";
import type { Edge } from "../src/fleet-model";

const edge = (name: string, more: Partial<Edge> = {}): Edge => ({
  edge: name, state: "up", version: "0.1.0", started: "2026-11-21T12:00:00Z", seen: "2026-11-21T12:00:00Z", silent_s: 3,
  last_minute: null, per_minute: 0, blocked_share: 0, sample: 10, waiting: 0, dropped: 0, ...more,
});

describe("a fleet", () => {
  it("weighs what was blocked by the requests of each machine", () => {
    const sums = sumsOf([edge("a", { per_minute: 90, blocked_share: 0.1 }), edge("b", { per_minute: 10, blocked_share: 0.5 }), edge("c", { state: "silent" })]);
    expect(sums).toEqual({ edges: 3, up: 2, perMinute: 100, blocked: 0.14, waiting: 0 });
    expect(sumsOf([]).blocked).toBe(0);
  });

  it("counts rows that wait only where they pile up", () => {
    expect(isBehind(edge("a", { waiting: 999 }))).toBe(false);
    expect(sumsOf([edge("a", { waiting: 999 }), edge("b", { waiting: 5_000 })]).waiting).toBe(5_000);
  });

  it("shows first what somebody should look at", () => {
    const shown = inOrder([edge("quay"), edge("pier", { waiting: 9_000 }), edge("harbour"), edge("reef", { state: "silent" })]);
    expect(shown.map((one) => one.edge)).toEqual(["reef", "pier", "harbour", "quay"]);
  });
});
