// A fleet for the mock server: some machines, one silent, one whose rows wait, one that refuses what is published.

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

const word = (name, more = {}) => ({
  edge: name, labels: { site: "harbour" }, wanted: "active", is_joined: true, goes_first: false, revision: 13, offered: 14,
  state: "waits_for_canary", complaints: [], version: "0.1.0", program: null, clock_ahead_s: 0, told: ago(40), told_s: 40, requests: 71_000,
  failures: 3, troubles: ["waits_for_canary"], ...more,
});

const digest = (seed) => seed.repeat(8);
const program = (runs, more = {}) => ({ runs: digest(runs), in_force: digest(runs), failed: null, ...more });

const WORDS = [
  word("buoy", { revision: null, offered: null, state: null, version: null, clock_ahead_s: null, told: null, told_s: null, requests: null, failures: null, troubles: ["untold"] }),
  word("harbour", { goes_first: true, revision: 14, state: "in_force", troubles: [], program: program("5d0f93a1") }),
  word("lighthouse-with-a-rather-long-name.north.example", {
    goes_first: true, state: "refused", troubles: ["clock", "refused"], clock_ahead_s: 184,
    program: program("8c31f07e", { failed: { digest: digest("5d0f93a1"), fault: "the revision's program did not come up: exit status: 1" } }),
    complaints: ["the revision's program did not come up: exit status: 1", "cannot listen on 192.0.2.7:443: another process does; find it with `ss -lntup 'sport = :443'` and stop it, or choose another port"],
  }),
  word("pier", { program: program("8c31f07e") }),
  word("quay", { version: "0.1.1", program: program("a7712b90", { in_force: digest("8c31f07e") }), wanted: "drained", troubles: ["version", "waits_for_canary"] }),
  word("reef", { told: ago(11_500), told_s: 11_500, revision: 12, offered: 12, state: "in_force", troubles: ["silent"] }),
  word("wreck", { wanted: "revoked", revision: 9, offered: 9, state: "in_force", told: ago(900_000), told_s: 900_000, troubles: [] }),
];

const revision = (number, hours, why, more = {}) => ({
  revision: number, made: ago(hours * 3600), by: number % 3 ? "ann" : "Björn Hafenmeister", why, rolls_back_to: null, not_after: null,
  checked_by: "0.1.0", files: 14, bytes: 5_231_000, canary: null, ...more,
});

/** What is published, and what each machine has of it. */
export const fleetRevisions = (mode) => ({
  own: { edge: "harbour", wanted: "active", in_force: 14, kept: [13, 12], tried: null, refused: null, offered: 14, state: "in_force", complaints: [], looked: ago(9) },
  place: "s3://bundles/harbour/ at https://s3.example:9000/",
  trouble: mode === "away" ? "S3 wants fewer requests for now (SlowDown)" : null,
  read: ago(2),
  newest: mode === "empty" ? null : revision(14, 0.3, "New lists for the guests' network", { canary: { percent: 10, labels: { ring: "first" } } }),
  before: mode === "empty" ? [] : [
    revision(13, 30, "Back to what worked: the resolver at the office was slow", { rolls_back_to: 11 }),
    revision(12, 31, "Resolver of the office"), revision(11, 190, ""), revision(10, 700, "Pages of the yacht club move to their own machine"),
  ],
  rollout: { edges: 6, in_force: 1, refused: 1, first: 2, first_in_force: 1 },
  edges_joined: WORDS.length,
  edges: WORDS,
});

const reply = (name, more = {}) => ({ edge: name, state: "answered", reason: null, version: "0.1.0", revision: 14, ...more });

const silent = (name, state, reason) => reply(name, { state, reason, version: null, revision: null, verdict: null, rows: 0, has_more: false });

const SILENT = [
  silent("quay", "declined", "it answers nobody: fleet.live.questions is false there"),
  silent("reef", "away", "nothing was heard of it for 7 seconds"),
];

/** What each machine says: one blocks, by a rule with a long text. */
export const fleetWhy = () => ({
  own: "harbour",
  machines: [
    { ...reply("harbour"), verdict: { action: "pass", cause: "none", summary: "passes: no rule matches", profile: "default", rule: null, list_changed_at: null, door_outcome: "asks the upstream" } },
    {
      ...reply("lighthouse-with-a-rather-long-name.north.example", { revision: 13 }),
      verdict: {
        action: "block", cause: "rule", summary: "blocked: ||ads.example^ is line 12 of list \"guests\"", profile: "guests",
        rule: { list: "guests", line: 12, text: "||ads.example^$third-party,domain=news.example|weather.example|shop.example" }, list_changed_at: ago(90_000), door_outcome: "NODATA with SOA, EDE 15",
      },
    },
    { ...reply("pier"), verdict: { action: "pass", cause: "paused", summary: "passes: ads.example is let through for a while", profile: "default", rule: null, list_changed_at: null, door_outcome: "asks the upstream" } },
    ...SILENT,
  ],
});

/** Rows of the log, dealt out to machines. */
export function fleetRequests(words, rows) {
  const names = ["harbour", "lighthouse-with-a-rather-long-name.north.example", "pier"];
  const dealt = rows.map((row, at) => ({ edge: names[(at * 7) % 3], ...row }));
  const of = words.get("edge");
  const some = of ? dealt.filter((row) => row.edge === of) : dealt;
  const asked = names.filter((name) => !of || name === of);
  const machines = asked.map((name) => reply(name, { rows: some.filter((row) => row.edge === name).length, has_more: true }));
  return { own: "harbour", rows: some, machines: of ? machines : [...machines, ...SILENT] };
}
