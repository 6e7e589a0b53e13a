// Everything allowed or everything blocked by hand, for a client or a profile: who is held by
// what, and what is sent for it. Pure.

import { EVERY_HOST, minutesFor, type HowLong } from "./by-hand";
import type { ClientHold } from "./client-model";
import { minute } from "./format";
import { t } from "./i18n";
import type { Action, Override, OverrideOrder } from "./model";

export type HoldFor = HowLong | "ten";

/** Who is held: one of both is null. */
export interface Held {
  client: string | null;
  profile: string | null;
}

export interface Hold {
  action: Action;
  held: Override;
}

/** All that was said by hand, those of names too. */
export interface ByHandLists {
  allows: Override[];
  blocks: Override[];
}

function allOf({ allows, blocks }: ByHandLists): Hold[] {
  return [
    ...allows.map((held) => ({ action: "pass" as const, held })),
    ...blocks.map((held) => ({ action: "block" as const, held })),
  ];
}

/** What is held of exactly these, of all names. */
export function holdsOf(lists: ByHandLists, { client, profile }: Held): Hold[] {
  const isAbout = ({ held }: Hold): boolean => held.client === client && held.profile === profile;
  return allOf(lists).filter((one) => one.held.host === EVERY_HOST && isAbout(one));
}

/** What was said of names, for exactly these. */
export function namesHeld(lists: ByHandLists, { client, profile }: Held): ByHandLists {
  const isAbout = (held: Override): boolean =>
    held.host !== EVERY_HOST && held.client === client && held.profile === profile;
  return { allows: lists.allows.filter(isAbout), blocks: lists.blocks.filter(isAbout) };
}

/** What is sent to hold these. */
export function holdOrder(who: Held, howLong: HoldFor, now: Date): OverrideOrder {
  return { host: EVERY_HOST, minutes: minutesFor(howLong, now), ...who };
}

/** "paused until 17:40", "no internet". */
export function holdTag(held: ClientHold): string {
  const isPaused = held.action === "allow";
  if (held.until === null) return t(isPaused ? "holds.paused" : "holds.offline");
  return t(isPaused ? "holds.pausedUntil" : "holds.offlineUntil", { at: minute(new Date(held.until)) });
}
