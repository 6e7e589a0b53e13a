// Until when what was written has to be confirmed, by this browser's clock: that of the machine may be
// another one.

import { signal } from "@preact/signals";

interface Deadline {
  /** As Tidegate names it. */
  until: string;
  at: number;
}

const deadline = signal<Deadline | null>(null);
/** Said with the answer, before the first look at what waits. */
let told: number | null = null;

/** What was written now is waited for so long. */
export function waitFor(seconds: number): void {
  told = Date.now() + seconds * 1000;
  deadline.value = null;
}

/** When the time of `until` is over, in milliseconds of this browser. */
export function deadlineOf(until: string): number {
  const known = deadline.peek();
  if (known?.until === until) return known.at;
  const at = told ?? Date.parse(until);
  told = null;
  deadline.value = { until, at };
  return at;
}

/** Nobody confirmed in time what was written: the earlier configuration is back. */
export const lapsed = signal(false);
let waitedFor: string | null = null;
let isKept = false;

/** Somebody has confirmed it here. */
export function noteKept(): void {
  isKept = true;
}

/** Takes in what Tidegate says of what waits. */
export function noteWaiting(until: string | null): void {
  if (until !== null && until !== waitedFor) {
    isKept = false;
    lapsed.value = false;
  } else if (until === null && waitedFor !== null) lapsed.value = !isKept;
  waitedFor = until;
}
