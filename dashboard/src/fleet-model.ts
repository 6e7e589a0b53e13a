// The admin API's JSON about the machines of a fleet. Times as in `model.ts`.

import type { Point, Range, RequestRow } from "./model";

export interface Edge {
  edge: string;
  state: "up" | "silent";
  version: string;
  started: string;
  seen: string;
  silent_s: number;
  /** Null where it had no request for an hour. */
  last_minute: string | null;
  per_minute: number;
  blocked_share: number;
  /** One of so many requests becomes a row; 0 for none. */
  sample: number;
  waiting: number;
  dropped: number;
}

export interface FleetEdges {
  /** The machine that answers. */
  own: string;
  rate_minutes: number;
  edges: Edge[];
}

export interface FleetStatistics {
  range: Range;
  /** Null for all machines. */
  edge: string | null;
  step_s: number;
  points: Point[];
}

/** What an edge says of itself, signed; null where it has said nothing. */
export interface FleetEdgeStatus {
  edge: string;
  labels: Record<string, string>;
  wanted: "active" | "drained" | "revoked";
  is_joined: boolean;
  /** A canary of the newest revision. */
  goes_first: boolean;
  revision: number | null;
  offered: number | null;
  state: "in_force" | "waits_for_canary" | "refused" | "unreached" | null;
  complaints: string[];
  version: string | null;
  /** Null where it takes no programs from the fleet. */
  program: FleetProgram | null;
  clock_ahead_s: number | null;
  told: string | null;
  told_s: number | null;
  requests: number | null;
  failures: number | null;
  troubles: Trouble[];
}

/** Programs by the digests of their files, in hexadecimal. */
export interface FleetProgram {
  runs: string;
  /** That of the revision in force, which the next start runs. */
  in_force: string | null;
  failed: { digest: string; fault: string } | null;
}

export type Trouble = "untold" | "silent" | "clock" | "version" | "refused" | "unreached" | "waits_for_canary";

export interface FleetRevision {
  revision: number;
  made: string;
  by: string;
  why: string;
  rolls_back_to: number | null;
  not_after: string | null;
  checked_by: string;
  files: number;
  bytes: number;
  canary: { percent: number; labels: Record<string, string> } | null;
}

export interface OwnRevisions {
  edge: string;
  wanted: "active" | "drained" | "revoked";
  in_force: number | null;
  kept: number[];
  tried: number | null;
  refused: { revision: number; complaints: string[] } | null;
  offered: number | null;
  state: "in_force" | "waits_for_canary" | "refused" | "unreached" | "starting";
  complaints: string[];
  looked: string | null;
}

export interface FleetRollout {
  edges: number;
  in_force: number;
  refused: number;
  first: number;
  first_in_force: number;
}

export interface FleetRevisions {
  own: OwnRevisions;
  place: string;
  /** Why nothing newer could be read at the place. */
  trouble: string | null;
  read: string;
  newest: FleetRevision | null;
  /** Those before it, the newest first. */
  before: FleetRevision[];
  rollout: FleetRollout;
  edges_joined: number;
  edges: FleetEdgeStatus[];
}

/** How a machine replied when all were asked. */
export interface FleetReply {
  edge: string;
  state: "answered" | "declined" | "busy" | "other_secret" | "failed" | "late" | "away";
  /** Why it said nothing, in a sentence; null where it answered. */
  reason: string | null;
  version: string | null;
  revision: number | null;
}

export interface FleetVerdict {
  action: "pass" | "block";
  cause: string;
  summary: string;
  profile: string;
  rule: { list: string; line: number; text: string } | null;
  list_changed_at: string | null;
  door_outcome: string;
}

export type MachineVerdict = FleetReply & { verdict: FleetVerdict | null };

export interface FleetWhy {
  own: string;
  machines: MachineVerdict[];
}

export type FleetRow = RequestRow & { edge: string };
export type MachineRows = FleetReply & { rows: number; has_more: boolean };

export interface FleetRequests {
  own: string;
  rows: FleetRow[];
  machines: MachineRows[];
}
