// What a change would have made of recorded requests, in words.

import { count, plural } from "./format";
import type { TriedOutcome } from "./model";

/** The outcome in a sentence. */
export function sumText({ requests, blocked, passed }: TriedOutcome): string {
  const of = `Of ${plural(requests, "request")} of the last week`;
  if (requests === 0) return "No request of the last week is in the log, so nothing can be said.";
  if (blocked === 0 && passed === 0) return `${of} none would have gone otherwise.`;
  const parts = [
    ...(blocked > 0 ? [`${count(blocked)} more would have been blocked`] : []),
    ...(passed > 0 ? [`${count(passed)} more would have passed`] : []),
  ];
  return `${of} ${parts.join(" and ")}.`;
}
