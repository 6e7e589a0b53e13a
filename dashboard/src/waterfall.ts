// The timeline of a visit: for each host when its requests were, door by door, on a scale of a
// thousand. Pure.

import { DOORS, type RequestRow } from "./model";
import type { Visit, VisitHost } from "./visit-model";

/** Width of the timeline, in units of its own. */
export const SCALE = 1000;
/** A request that took no time is seen all the same. */
const BAR_MIN = 3;
/** Lines of the scale beside that at its begin. */
const TICKS_MAX = 6;

export interface Bar {
  x: number;
  width: number;
  blocked: boolean;
}

export interface Lane {
  door: string;
  bars: Bar[];
}

export interface Fall {
  host: VisitHost;
  lanes: Lane[];
}

/** The host of what a row is about: a name, `host:443`, or a URL. */
export function hostOf(subject: string): string {
  const bare = subject.replace(/^[a-z][a-z0-9+.-]*:\/\//i, "").replace(/[/?#].*$/, "");
  const bracketed = /^\[([^\]]*)\]/.exec(bare)?.[1];
  return (bracketed ?? bare.replace(/:\d+$/, "")).toLowerCase();
}

/** How long a visit was, in milliseconds; at least as long as its last request took to begin. */
export function visitLength(visit: Visit): number {
  const begin = Date.parse(visit.at);
  const last = visit.rows.reduce((latest, row) => Math.max(latest, Date.parse(row.at)), Date.parse(visit.until));
  return Math.max(1, last - begin);
}

function barOf(row: RequestRow, begin: number, length: number): Bar {
  const x = Math.min(SCALE - BAR_MIN, Math.max(0, ((Date.parse(row.at) - begin) / length) * SCALE));
  // What goes on after the visit, a tunnel for example, ends with the picture.
  const width = Math.min(SCALE - x, Math.max(BAR_MIN, (row.took_us / 1000 / length) * SCALE));
  return { x, width, blocked: row.action === "block" };
}

/** The hosts in the order in which they were first asked for, each with its doors. */
export function fallsOf(visit: Visit): Fall[] {
  const begin = Date.parse(visit.at);
  const length = visitLength(visit);
  const byHost = new Map<string, RequestRow[]>();
  for (const row of visit.rows) {
    const host = hostOf(row.subject);
    byHost.set(host, [...(byHost.get(host) ?? []), row]);
  }
  const order = (door: string): number => (DOORS as readonly string[]).indexOf(door);
  return visit.hosts
    .toSorted((a, b) => a.first_after_ms - b.first_after_ms)
    .map((host) => {
      const rows = byHost.get(host.host.toLowerCase()) ?? [];
      const doors = host.doors.toSorted((a, b) => order(a) - order(b));
      return {
        host,
        lanes: doors.map((door) => ({ door, bars: rows.filter((row) => row.door === door).map((row) => barOf(row, begin, length)) })),
      };
    });
}

/** Where the scale has lines: round steps in milliseconds, the begin among them. */
export function ticks(length: number): number[] {
  const rough = length / TICKS_MAX;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((n) => n * power).find((one) => one >= rough) ?? rough;
  return Array.from({ length: Math.floor(length / step) + 1 }, (_, n) => n * step);
}

/** The hosts that something was kept away from, the most requests first. */
export function keptAway(visit: Visit): VisitHost[] {
  return visit.hosts.filter((host) => host.blocked > 0).toSorted((a, b) => b.blocked - a.blocked);
}
