// A fleet for the mock server: some machines, one silent, one whose rows wait.

import { series } from "./data.mjs";

const ago = (seconds) => new Date(Date.now() - seconds * 1000).toISOString();

const edge = (name, perMinute, more = {}) => ({
  edge: name, state: "up", version: "0.1.0", started: ago(412_000), seen: ago(4), silent_s: 4, last_minute: ago(70),
  per_minute: perMinute, blocked_share: 0.162, sample: 10, waiting: Math.round(perMinute / 40), dropped: 0, ...more,
});

const EDGES = [
  edge("harbour", 1_284),
  edge("lighthouse-with-a-rather-long-name.north.example", 3.4, { blocked_share: 0.31 }),
  edge("pier", 8_420, { waiting: 184_220, blocked_share: 0.09 }),
  edge("quay", 640, { version: "0.1.1" }),
  edge("reef", 0, { state: "silent", silent_s: 11_460, seen: ago(11_460), last_minute: null, blocked_share: 0, dropped: 2_500 }),
];

export const fleetEdges = () => ({ own: "harbour", rate_minutes: 10, edges: EDGES });

export function fleetStatistics(words) {
  const chosen = words.get("edge");
  const part = chosen === null ? 1 : (EDGES.find((one) => one.edge === chosen)?.per_minute ?? 0) / 10_400;
  const { range, step_s, points } = series(words.get("range") ?? "24h", Date.now());
  const scaled = (n) => Math.round(n * part * 20);
  return { range, edge: chosen, step_s, points: points.map(({ at, passed, blocked }) => ({ at, passed: scaled(passed), blocked: scaled(blocked) })) };
}
