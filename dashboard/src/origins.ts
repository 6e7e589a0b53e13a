// What is said of the proxy's connections to an origin, for people. Pure: it fetches nothing and knows no
// clock.

import { count, plural, span } from "./format";
import type { Origin } from "./model";

/** When its connections carried a request last. */
export function originUse(origin: Origin): string {
  return origin.open > origin.idle ? "in use" : `used ${span(origin.unused_s)} ago`;
}

/** The version that is spoken, its connections, and how many are opened together the next time. */
export function originFacts(origin: Origin): string[] {
  const { open, idle, at_once } = origin;
  const facts = [`HTTP/${origin.version}`];
  if (open === 0) facts.push("no connection now");
  else if (idle === 0) facts.push(plural(open, "connection"));
  else facts.push(`${plural(open, "connection")}, ${idle === open ? "idle" : `${count(idle)} idle`}`);
  if (at_once > 1) facts.push(`${count(at_once)} opened at once`);
  return facts;
}
