// What is said of the proxy's connections to an origin, for people. Pure: it fetches nothing and knows no
// clock.

import { span } from "./format";
import { t } from "./i18n";
import type { Origin } from "./model";

/** When its connections carried a request last. */
export function originUse(origin: Origin): string {
  return origin.open > origin.idle ? t("origins.inUse") : t("origins.used", { span: span(origin.unused_s) });
}

/** The version that is spoken, its connections, and how many are opened together the next time. */
export function originFacts(origin: Origin): string[] {
  const { open, idle, at_once } = origin;
  const facts = [`HTTP/${origin.version}`];
  if (open === 0) facts.push(t("origins.none"));
  else if (idle === 0) facts.push(t("origins.connections", { count: open }));
  else facts.push(t(idle === open ? "origins.allIdle" : "origins.someIdle", { connections: t("origins.connections", { count: open }), idle }));
  if (at_once > 1) facts.push(t("origins.atOnce", { count: at_once }));
  return facts;
}
