// The admin API's JSON about the machines of a fleet. Times as in `model.ts`.

import type { Point, Range } from "./model";

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
