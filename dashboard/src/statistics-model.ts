// The statistics as the admin API gives them.

export const DIMENSIONS = ["client", "list", "door", "upstream"] as const;
export type Dimension = (typeof DIMENSIONS)[number];

export const SPANS = ["day", "week", "month", "year", "all"] as const;
export type SpanName = (typeof SPANS)[number];

export interface Counts {
  /** Of an upstream, all that it was sent. */
  passed: number;
  blocked: number;
  cached: number;
  failed: number;
  bytes: number;
  took_us: number;
}

export interface StatisticsPoint extends Counts {
  at: string;
  /** Its end, which may be still to come. */
  until: string;
  /** Part of it that is counted: less than 1 for the last step and for the one in which counting began. */
  share: number;
}

export interface RankingLine extends Counts {
  key: string;
}

export interface Ranking {
  by: Dimension;
  lines: RankingLine[];
  others: Counts;
  more: number;
}

export interface Statistics {
  range: string;
  /** Ranges for which there is more to see than for the next shorter one. */
  offered: string[];
  /** `local` where the machine's zone has no name. */
  zone: string;
  begins: string | null;
  step: "minute" | "hour" | "day" | "month";
  only: { by: Dimension; key: string } | null;
  total: Counts;
  points: StatisticsPoint[];
  rankings: Ranking[];
}

/** What is asked for: a range, and one door, client, list or upstream at most. */
export interface StatisticsWords {
  range: SpanName;
  only: { by: Dimension; key: string } | null;
}
