// The rows of the request log that the page holds: pure joining of pages, newest first.
// It never fetches and never forgets that rows may be missing between two pages.

import type { RequestPage, RequestRow } from "./model";

export interface Held {
  /** Newest first, without gaps. */
  rows: RequestRow[];
  /** Where older rows go on; null if there are none. */
  next: number | null;
  /** Whether a page has been taken in: then "no rows" and "nothing older" are known. */
  begun: boolean;
}

/** A page this long stays quick on a phone; older rows are found with the filter. */
export const HELD_ROWS_MAX = 1000;
/** As many stay while new ones come in at the top: a page that is open for a day stays as quick as at first. */
export const LIVE_ROWS_MAX = 240;

export const NOTHING_HELD: Held = { rows: [], next: null, begun: false };

/**
 * Puts the newest page on top of what is held. If the page does not reach down to it, rows are
 * missing between the two: then only the new page is kept, and paging goes on from there.
 */
export function joinNewest(held: Held, page: RequestPage): Held {
  const top = held.rows[0];
  if (!top) {
    // Looking back has gone on without a find: the search must not start over at each new page.
    if (held.begun) return { ...held, rows: page.rows };
    return { rows: page.rows, next: page.next_before, begun: true };
  }
  const fresh = page.rows.filter((row) => row.id > top.id);
  if (fresh.length === 0) return held;
  const reaches = fresh.length < page.rows.length || page.next_before === null;
  if (!reaches) return { rows: page.rows, next: page.next_before, begun: true };
  const rows = [...fresh, ...held.rows];
  if (rows.length <= HELD_ROWS_MAX) return { ...held, rows };
  const kept = rows.slice(0, HELD_ROWS_MAX);
  return { rows: kept, next: kept.at(-1)?.id ?? held.next, begun: true };
}

/** Adds the page of older rows below. */
export function joinOlder(held: Held, page: RequestPage): Held {
  const last = held.rows.at(-1);
  const older = last ? page.rows.filter((row) => row.id < last.id) : page.rows;
  return { rows: [...held.rows, ...older], next: page.next_before, begun: true };
}

/** Rows that came and are not shown yet, because the page must not move under its reader. */
export interface Waiting {
  /** Newest first. */
  rows: RequestRow[];
  /** How many came; more than are kept here where it is long since one looked. */
  count: number;
}

export const NOTHING_WAITS: Waiting = { rows: [], count: 0 };

/** Takes in rows that came, in the order in which they came. What is held already is not new. */
export function addWaiting(waiting: Waiting, came: readonly RequestRow[], held: Held): Waiting {
  const top = Math.max(waiting.rows[0]?.id ?? 0, held.rows[0]?.id ?? 0);
  const fresh = came.filter((row) => row.id > top).toSorted((a, b) => b.id - a.id);
  if (fresh.length === 0) return waiting;
  return { rows: [...fresh, ...waiting.rows].slice(0, LIVE_ROWS_MAX), count: waiting.count + fresh.length };
}

/**
 * Shows what waits above what is held, and lets go of the oldest; null where so many came that some
 * were not kept: then the newest page has to be asked for.
 */
export function showWaiting(held: Held, waiting: Waiting): Held | null {
  if (waiting.count > waiting.rows.length) return null;
  const top = held.rows[0]?.id ?? 0;
  const fresh = waiting.rows.filter((row) => row.id > top);
  if (fresh.length === 0) return held;
  const rows = [...fresh, ...held.rows];
  if (rows.length <= LIVE_ROWS_MAX) return { ...held, rows, begun: true };
  const kept = rows.slice(0, LIVE_ROWS_MAX);
  return { rows: kept, next: kept.at(-1)?.id ?? held.next, begun: true };
}

/** How many rows of the page are newer than all that is held. */
export function freshCount(held: Held, page: RequestPage): number {
  const top = held.rows[0];
  return top ? page.rows.filter((row) => row.id > top.id).length : page.rows.length;
}
