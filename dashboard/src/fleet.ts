// A fleet at a glance: sums over its machines, and in which order they are shown. Pure.

import type { Edge } from "./fleet-model";

export interface FleetSums {
  edges: number;
  up: number;
  perMinute: number;
  /** Share that was blocked, 0 to 1. */
  blocked: number;
  waiting: number;
}

/** Fewer rows than this wait in any case: they are sent every quarter of a second. */
const WAITING_MIN = 1_000;

/** True where rows pile up. */
export const isBehind = (edge: Edge): boolean => edge.waiting >= WAITING_MIN;

export function sumsOf(edges: readonly Edge[]): FleetSums {
  const sum = (of: (edge: Edge) => number): number => edges.reduce((all, edge) => all + of(edge), 0);
  const perMinute = sum((edge) => edge.per_minute);
  const blocked = sum((edge) => edge.per_minute * edge.blocked_share);
  return {
    edges: edges.length,
    up: edges.filter((edge) => edge.state === "up").length,
    perMinute,
    blocked: perMinute > 0 ? blocked / perMinute : 0,
    waiting: sum((edge) => (isBehind(edge) ? edge.waiting : 0)),
  };
}

/** Silent machines first, then those with rows that wait, then by name. */
export function inOrder(edges: readonly Edge[]): Edge[] {
  const rank = (edge: Edge): number => (edge.state === "silent" ? 0 : isBehind(edge) ? 1 : 2);
  return edges.toSorted((a, b) => rank(a) - rank(b) || a.edge.localeCompare(b.edge));
}
