// What a change would have made of recorded requests, in words.


import { t } from "./i18n";
import type { TriedOutcome } from "./model";

/** The outcome in a sentence. */
export function sumText({ requests, blocked, passed }: TriedOutcome): string {
  const of = t("units.requests", { count: requests });
  if (requests === 0) return t("tried.noRequest");
  if (blocked === 0 && passed === 0) return t("tried.same", { requests: of });
  if (passed === 0) return t("tried.blocked", { requests: of, blocked });
  if (blocked === 0) return t("tried.passed", { requests: of, passed });
  return t("tried.both", { requests: of, blocked, passed });
}
