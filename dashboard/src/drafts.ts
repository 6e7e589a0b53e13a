// A profile or a group while it is edited: as it is typed, as it is sent, and what somebody else
// changed meanwhile. Pure.

import type { GroupSettings, ProfileSettings, Schedule } from "./client-model";
import { t } from "./i18n";
import { isOffline } from "./week";

/** What a schedule does at its hours. */
export type ScheduleKind = "everything" | "lists" | "rule";

export interface ScheduleDraft extends Schedule {
  /** Tells the entries of one draft apart while they come and go. */
  key: number;
  kind: ScheduleKind;
}

export interface ProfileDraft extends Omit<ProfileSettings, "match" | "schedule"> {
  /** One entry a line. */
  members: string;
  schedule: ScheduleDraft[];
}

export interface GroupDraft extends Omit<GroupSettings, "schedule"> {
  schedule: ScheduleDraft[];
}

export function kindOf(schedule: Schedule): ScheduleKind {
  if (isOffline(schedule)) return "everything";
  return schedule.block.trim() === "" ? "lists" : "rule";
}

const drafted = (schedule: readonly Schedule[]): ScheduleDraft[] =>
  schedule.map((entry, key) => ({ ...entry, key, kind: kindOf(entry) }));

/** A key that no entry has. */
export function freshKey(schedule: readonly ScheduleDraft[]): number {
  return schedule.reduce((most, entry) => Math.max(most, entry.key), -1) + 1;
}

/** The same hours with another kind of content; what was said of the old kind is not sent. */
export function ofKind(draft: ScheduleDraft, kind: ScheduleKind): ScheduleDraft {
  return { ...draft, kind, block: "", lists: [], otherwise: kind === "everything" ? "block" : null };
}

/** What is sent for a schedule. */
export function scheduleOf({ key: _key, kind: _kind, ...entry }: ScheduleDraft): Schedule {
  return { ...entry, block: entry.block.trim() };
}

export function profileDraft({ match, schedule, ...settings }: ProfileSettings): ProfileDraft {
  return { ...settings, members: match.join("\n"), schedule: drafted(schedule) };
}

export function groupDraft({ schedule, ...settings }: GroupSettings): GroupDraft {
  return { ...settings, schedule: drafted(schedule) };
}

/** The entries of a text with one a line; commas part them too. */
export function membersOf(text: string): string[] {
  const entries = text.split(/[\n,]/).map((entry) => entry.trim());
  return [...new Set(entries.filter((entry) => entry !== ""))];
}

/** What is sent for a profile. */
export function profileOf({ members, schedule, ...draft }: ProfileDraft): ProfileSettings {
  return { ...draft, name: draft.name.trim(), match: membersOf(members), schedule: schedule.map(scheduleOf) };
}

/** What is sent for a group; none of its lists and no list are the same. */
export function groupOf({ schedule, ...draft }: GroupDraft): GroupSettings {
  const lists = draft.lists?.length ? draft.lists : null;
  return { name: draft.name.trim(), lists, schedule: schedule.map(scheduleOf) };
}

const KEYS = ["name", "match", "lists", "groups", "tags", "schedule", "otherwise", "blocked"] as const satisfies readonly (keyof ProfileSettings)[];
type Key = (typeof KEYS)[number];

const wordOf = (key: Key): string => t(`editing.keys.${key}`);

function keysThatDiffer<T extends GroupSettings>(one: T, other: T): Key[] {
  const read = (from: T, key: string): string => JSON.stringify((from as unknown as Record<string, unknown>)[key]);
  return KEYS.filter((key) => read(one, key) !== read(other, key));
}

/** What differs between two states of a profile or a group, in words. */
export function differences<T extends GroupSettings>(one: T, other: T): string[] {
  return keysThatDiffer(one, other).map(wordOf);
}

/**
 * A draft with what somebody else changed meanwhile; where both changed the same, the draft's
 * stays.
 */
export interface Merged<T> {
  settings: T;
  /** What they changed, in words. */
  theirs: string[];
  /** What of that was changed in the draft too. */
  both: string[];
}

export function merged<T extends GroupSettings>(base: T, mine: T, theirs: T): Merged<T> {
  const [changed, own] = [keysThatDiffer(base, theirs), keysThatDiffer(base, mine)];
  const taken = Object.fromEntries(own.map((key) => [key, (mine as unknown as Record<string, unknown>)[key]]));
  return {
    settings: { ...theirs, ...taken },
    theirs: changed.map(wordOf),
    both: changed.filter((key) => own.includes(key)).map(wordOf),
  };
}

/** What loading again has brought, in a sentence. */
export function mergedText({ theirs, both }: Pick<Merged<unknown>, "theirs" | "both">): string {
  if (theirs.length === 0) return t("editing.sameAgain");
  const words = { theirs: theirs.join(", ") };
  return both.length === 0 ? t("editing.theirs", words) : t("editing.both", { ...words, both: both.join(", ") });
}
