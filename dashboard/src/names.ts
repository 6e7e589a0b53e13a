// What is said of a name that servers of a pool are found by, for people. Pure: it fetches nothing and
// knows no clock but the times that the API gives.

import { moment, printable } from "./format";
import type { PoolName } from "./model";

/** What is asked for. */
const ASKED_TEXT: Record<PoolName["resolve"], string> = {
  addresses: "by its addresses",
  srv: "by its SRV records",
};

/** How it is looked up, when it was last, and when it will be; `today` as `moment` takes it. */
export function lookUps(name: PoolName, today: string): string[] {
  const { looked_up_at: last, next_at: next } = name;
  const lastText = last === null ? "not looked up yet" : `last look-up ${moment(last, today)}`;
  const nextText = next === null ? "being looked up …" : `next ${moment(next, today)}`;
  return [ASKED_TEXT[name.resolve], lastText, nextText];
}

/** Why its last look-up failed, and what becomes of its servers; null if it did not fail. */
export function lookUpFailure(name: PoolName): string | null {
  if (name.failure === null) return null;
  const stay = name.servers > 0 ? "The servers found before stay." : "No server was found before.";
  return `The last look-up failed: ${printable(name.failure)}. ${stay}`;
}
