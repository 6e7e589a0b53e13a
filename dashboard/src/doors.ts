// The doors, in the order in which they are always listed, with their names for people.

import { printable } from "./format";
import { t } from "./i18n";

export const DOORS = ["dns", "pixel", "proxy", "web", "gateway"] as const;
export type Door = (typeof DOORS)[number];

/** That of this page has a name too; nobody asks anything at it. */
type NamedDoor = Door | "admin";

const isNamed = (door: string): door is NamedDoor => door === "admin" || (DOORS as readonly string[]).includes(door);

export function doorName(door: string): string {
  return isNamed(door) ? t(`doors.${door}.name`) : printable(door);
}

/** The name as it stands within a sentence. */
export function doorWithin(door: string): string {
  return isNamed(door) ? t(`doors.${door}.within`) : printable(door);
}
