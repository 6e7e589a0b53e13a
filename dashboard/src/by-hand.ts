// What can be said of a name by hand: which names, for whom, how long, and that in words. Pure;
// called by the parts that allow and block.

import { minute, printable } from "./format";
import { t } from "./i18n";
import type { Action, Override, OverrideOrder } from "./model";

/** Longest override that ends by itself: a day. */
const MINUTES_MAX = 1_440;

export type Whom = "client" | "profile" | "all";
export type HowLong = "hour" | "tomorrow" | "always";
/** Everything a client asks for, in place of one name. */
export const EVERY_HOST = "*";

/** The host and the names above it, up to its site: what a verdict by hand may be about. */
export function namesUpTo(host: string, site: string): string[] {
  const names = [host];
  if (!host.endsWith(`.${site}`)) return names;
  let name = host;
  while (name !== site) {
    name = name.slice(name.indexOf(".") + 1);
    names.push(name);
  }
  return names;
}

/** Minutes from now to the next midnight of this device; at least one. */
export function minutesToMidnight(now: Date): number {
  const midnight = new Date(now);
  midnight.setHours(24, 0, 0, 0);
  const minutes = Math.ceil((midnight.getTime() - now.getTime()) / 60_000);
  return Math.min(MINUTES_MAX, Math.max(1, minutes));
}

/** So many minutes are meant. */
export function minutesFor(howLong: HowLong | "ten", now: Date): number | "always" {
  const minutes = { ten: 10, hour: 60, tomorrow: minutesToMidnight(now), always: "always" } as const;
  return minutes[howLong];
}

/** What is sent for these choices. */
export function orderOf(
  chosen: { host: string; whom: Whom; howLong: HowLong },
  known: { client: string; profile: string },
  now: Date,
): OverrideOrder {
  return {
    host: chosen.host,
    minutes: minutesFor(chosen.howLong, now),
    client: chosen.whom === "client" ? known.client : null,
    profile: chosen.whom === "profile" ? known.profile : null,
  };
}

/** "for 192.168.1.7", "for the profile kids", t("byHand.forEverybody"). */
export function whomText({ client, profile }: { client: string | null; profile: string | null }): string {
  if (client !== null) return t("byHand.forClient", { client: printable(client) });
  return profile === null ? t("byHand.forEverybody") : t("byHand.forProfile", { profile: printable(profile) });
}

/** The name of an override, or that it is about every name. */
export function hostText(host: string): string {
  return host === EVERY_HOST ? t("byHand.everything") : printable(host);
}

/** "ads.example is blocked for everybody until 17:40." */
export function overrideText(action: Action, held: Override): string {
  const end = held.until === null ? t("byHand.untilTakenBack") : t("byHand.until", { at: minute(new Date(held.until)) });
  return t(action === "block" ? "byHand.isBlocked" : "byHand.isAllowed", { host: hostText(held.host), whom: whomText(held), end });
}
