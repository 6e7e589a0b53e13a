// The first of many, where a panel has room for few. Pure.

/** Entries of a panel that are shown. */
export const SHOWN_MAX = 8;

/** Those to show, and how many are left out. */
export function few<T>(all: T[]): { shown: T[]; more: number } {
  const shown = all.slice(0, SHOWN_MAX);
  return { shown, more: all.length - shown.length };
}
