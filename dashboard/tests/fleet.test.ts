import { describe, expect, it, test } from "vitest";
import { blocksAmong, conditionOf, inOrder, isBehind, machinesOf, programWords, progressOf, sumsOf } from "../src/fleet";
import type { Edge, FleetEdgeStatus, MachineVerdict } from "../src/fleet-model";

const edge = (name: string, more: Partial<Edge> = {}): Edge => ({
  edge: name, state: "up", version: "0.1.0", started: "2026-11-21T12:00:00Z", seen: "2026-11-21T12:00:00Z", silent_s: 3,
  last_minute: null, per_minute: 0, blocked_share: 0, sample: 10, waiting: 0, dropped: 0, ...more,
});

const word = (name: string, more: Partial<FleetEdgeStatus> = {}): FleetEdgeStatus => ({
  edge: name, labels: {}, wanted: "active", is_joined: true, goes_first: false, revision: 3, offered: 3, state: "in_force", complaints: [],
  version: "0.1.0", program: null, clock_ahead_s: null, told: "2026-11-21T12:00:00Z", told_s: 3, requests: 0, failures: 0, troubles: [], ...more,
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
    const machines = machinesOf(
      [edge("quay"), edge("pier", { waiting: 9_000 }), edge("harbour"), edge("reef", { state: "silent" })],
      [word("harbour"), word("buoy", { state: "refused", offered: 4, troubles: ["refused"] }), word("wreck", { wanted: "revoked" })],
    );
    expect(inOrder(machines, 3).map(({ name }) => name)).toEqual(["buoy", "reef", "pier", "harbour", "quay", "wreck"]);
  });

  it("says the worst of a machine, and believes the database about silence", () => {
    const of = (rows: Edge | null, said: FleetEdgeStatus | null, newest = 3) => conditionOf({ name: "a", rows, word: said }, newest);
    expect(of(edge("a"), null)).toBe("good");
    expect(of(edge("a"), word("a", { troubles: ["silent"] }))).toBe("good");
    expect(of(edge("a", { state: "silent" }), word("a", { troubles: ["refused"] }))).toBe("silent");
    expect(of(null, word("a", { troubles: ["silent", "refused"] }))).toBe("silent");
    expect(of(null, word("a", { troubles: ["clock", "refused"] }))).toBe("refused");
    expect(of(null, word("a", { wanted: "revoked", troubles: ["untold"] }))).toBe("revoked");
    expect(of(null, word("a"), 4)).toBe("behind");
    expect(of(null, word("a", { wanted: "drained" }))).toBe("drained");
  });

  it("shows how far a revision has come", () => {
    expect(progressOf({ edges: 8, in_force: 4, refused: 2, first: 0, first_in_force: 0 })).toEqual({ has: 50, refused: 25 });
    expect(progressOf({ edges: 0, in_force: 0, refused: 0, first: 0, first_in_force: 0 })).toEqual({ has: 0, refused: 0 });
  });
});

describe("a machine's program", () => {
  const [one, two] = ["5d0f93a1".repeat(8), "8c31f07e".repeat(8)] as const;
  const nothing = { runs: null, next: null, failed: null };

  it("is not spoken of where the fleet gives none", () => {
    expect(programWords(null, [])).toEqual(nothing);
    expect(programWords({ runs: one, in_force: null, failed: null }, [])).toEqual(nothing);
  });

  it("is the fleet's where its revision brings what runs, and the next start's where it does not run yet", () => {
    expect(programWords({ runs: one, in_force: one, failed: null }, [])).toEqual({ ...nothing, runs: { digest: "5d0f93a1", whole: one } });
    expect(programWords({ runs: one, in_force: two, failed: null }, [])).toEqual({ ...nothing, next: "8c31f07e" });
  });

  it("says a fault once", () => {
    const failed = { digest: two, fault: "exit status: 1" };
    expect(programWords({ runs: one, in_force: null, failed }, ["exit status: 1"]).failed).toEqual({ digest: "8c31f07e", fault: null });
    expect(programWords({ runs: one, in_force: null, failed }, ["the place is away"]).failed).toEqual({ digest: "8c31f07e", fault: "exit status: 1" });
  });
});

test("a name is blocked at those machines that say so", () => {
  const machine = (action: "pass" | "block" | null): MachineVerdict => ({
    edge: "harbour", state: action === null ? "away" : "answered", reason: null, version: null, revision: null,
    verdict: action === null ? null : { action, cause: "none", summary: "", profile: "default", rule: null, list_changed_at: null, door_outcome: "" },
  });
  expect(blocksAmong([machine("block"), machine("pass"), machine(null), machine("block")])).toBe(2);
});
