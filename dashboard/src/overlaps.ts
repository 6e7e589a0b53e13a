// What of one list stands in others already. Pure.

import type { ListOverlap, Overlaps } from "./model";

/** From this share on a list adds so little that one may do without it. */
export const ADDS_LITTLE = 0.9;
/** Less than this is nothing to tell. */
export const WORTH_TELLING = 0.05;

export interface OverlapLine {
  name: string;
  names: number;
  /** The lists that hold the most of it. */
  held_by: ListOverlap["held_by"];
  /** Names that not even the one that holds most of it has. */
  own: number;
  /** True if nearly all of it stands in one other list. */
  little: boolean;
}

/** The lists, those that add least first; without any that share next to nothing with others. */
export function overlapLines({ lists }: Overlaps): OverlapLine[] {
  return lists
    .map(({ name, names, held_by }): OverlapLine => {
      const told = held_by.filter(({ share }) => share >= WORTH_TELLING).toSorted((a, b) => b.share - a.share);
      const most = told[0];
      return { name, names, held_by: told, own: names - (most?.names ?? 0), little: (most?.share ?? 0) >= ADDS_LITTLE };
    })
    .filter((line) => line.held_by.length > 0)
    .toSorted((a, b) => (b.held_by[0]?.share ?? 0) - (a.held_by[0]?.share ?? 0) || a.name.localeCompare(b.name));
}
