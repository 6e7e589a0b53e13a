// Steps of a chart: how long each is, and how much of it is counted. The last step is not over yet, and
// counting began within the first: drawn by their counts they would be a cliff and a slope that nobody's
// requests made. Pure: the time of "now" is an argument.

import type { Series } from "./model";
import type { Counts, StatisticsPoint } from "./statistics-model";

export interface ChartSpan {
  at: Date;
  until: Date;
  /** Part of it that is counted, 0 to 1. */
  share: number;
  passed: number;
  blocked: number;
}

/** Below this part of a step its pace says nothing: two requests in the first second are no rush. */
const SHARE_MIN = 0.15;
/** Fewer steps than this are no chart: a shorter range has more to show. */
export const STEPS_MIN = 6;

/** The steps of a series up to now, from the one in which counting began. */
export function spansOf(series: Pick<Series, "step_s" | "points"> & { begins?: string | null | undefined }, now: Date): ChartSpan[] {
  const begins = series.begins ? Date.parse(series.begins) : 0;
  const length = series.step_s * 1000;
  return series.points
    .map((point) => ({ start: Date.parse(point.at), passed: point.passed, blocked: point.blocked }))
    .filter(({ start }) => start + length > begins)
    .map(({ start, passed, blocked }) => ({
      at: new Date(start),
      until: new Date(start + length),
      share: Math.min(1, Math.max(0, (Math.min(start + length, now.getTime()) - Math.max(start, begins)) / length)),
      passed,
      blocked,
    }));
}

/** The same of statistics, which say the share themselves. */
export const spansOfPoints = (points: readonly StatisticsPoint[]): ChartSpan[] =>
  points.map(({ at, until, share, passed, blocked }) => ({ at: new Date(at), until: new Date(until), share, passed, blocked }));

/** Requests of a whole step at the pace of what is counted; null where that is too little to tell. */
export function pace(counted: number, share: number): number | null {
  if (share >= 1) return counted;
  return share < SHARE_MIN ? null : counted / share;
}

export const isWhole = (span: ChartSpan): boolean => span.share >= 1;

/** Average time of an answer, in microseconds; null without any. */
export const meanTime = (counts: Counts): number | null => {
  const requests = counts.passed + counts.blocked;
  return requests > 0 && counts.took_us > 0 ? counts.took_us / requests : null;
};
