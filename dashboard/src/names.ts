// What is said of a name that servers of a pool are found by, for people. Pure: it fetches nothing and
// knows no clock but the times that the API gives.

import { moment, printable } from "./format";
import { t } from "./i18n";
import type { PoolName } from "./model";

/** What is asked for. */
const ASKED_TEXT = {
  addresses: "pools.byAddresses",
  srv: "pools.bySrv",
} as const satisfies Record<PoolName["resolve"], string>;

/** How it is looked up, when it was last, and when it will be; `today` as `moment` takes it. */
export function lookUps(name: PoolName, today: string): string[] {
  const { looked_up_at: last, next_at: next } = name;
  const lastText = last === null ? t("pools.notLookedUp") : t("pools.lastLookUp", { at: moment(last, today) });
  const nextText = next === null ? t("pools.beingLookedUp") : t("pools.next", { at: moment(next, today) });
  return [t(ASKED_TEXT[name.resolve]), lastText, nextText];
}

/** Why its last look-up failed, and what becomes of its servers; null if it did not fail. */
export function lookUpFailure(name: PoolName): string | null {
  if (name.failure === null) return null;
  return t(name.servers > 0 ? "pools.lookUpFailed" : "pools.lookUpFailedNone", { failure: printable(name.failure) });
}
