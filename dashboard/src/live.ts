// Rows that are told as they come. A stream is refused where too many are open: then the log is asked
// now and then, and a stream is tried again later.

import type { RequestRow } from "./model";

export type LiveState = "connecting" | "live" | "refused";

interface LiveHandlers {
  onState: (state: LiveState) => void;
  /** Rows that came since the last call, in their order. */
  onRows: (rows: RequestRow[]) => void;
  /** Rows that were left out because too many came at once. */
  onMissed: (count: number) => void;
}

/** Rows are told together so often: each by itself would be a flicker. */
const TOLD_EVERY_MS = 500;
/** As many are kept until then; a burst beyond it counts as missed. */
const BURST_MAX = 500;
const TRY_AGAIN_MS = 60_000;

/** What of `EventSource` is used, so that a test can stand in for it. */
export interface EventStream {
  readonly readyState: number;
  addEventListener(type: string, told: (event: MessageEvent<string>) => void): void;
  close(): void;
}

const CLOSED = 2;

/** Opens the stream of an address, and reopens it; ends when the answer is called. */
export function follow(address: () => string, handlers: LiveHandlers, open: (url: string) => EventStream = (url) => new EventSource(url)): () => void {
  let stream: EventStream | null = null;
  let again: ReturnType<typeof setTimeout> | undefined;
  let soon: ReturnType<typeof setTimeout> | undefined;
  let came: RequestRow[] = [];
  let missed = 0;
  const tell = (): void => {
    soon = undefined;
    const rows = came;
    const left = missed;
    came = [];
    missed = 0;
    if (rows.length > 0) handlers.onRows(rows);
    if (left > 0) handlers.onMissed(left);
  };
  const tellSoon = (): void => {
    soon ??= setTimeout(tell, TOLD_EVERY_MS);
  };
  const begin = (): void => {
    const made = open(address());
    stream = made;
    made.addEventListener("open", () => handlers.onState("live"));
    made.addEventListener("error", () => {
      // A connection that broke is taken up again by the browser; a refusal is not.
      if (made.readyState !== CLOSED) {
        handlers.onState("connecting");
        return;
      }
      handlers.onState("refused");
      again = setTimeout(begin, TRY_AGAIN_MS);
    });
    made.addEventListener("row", ({ data }) => {
      const row = parsed<RequestRow>(data);
      if (row === null) return;
      if (came.length < BURST_MAX) came.push(row);
      else missed += 1;
      tellSoon();
    });
    made.addEventListener("missed", ({ data }) => {
      missed += parsed<{ count: number }>(data)?.count ?? 0;
      tellSoon();
    });
  };
  handlers.onState("connecting");
  begin();
  return () => {
    clearTimeout(again);
    clearTimeout(soon);
    stream?.close();
  };
}

function parsed<T>(text: string): T | null {
  try {
    return JSON.parse(text) as T;
  } catch {
    return null;
  }
}
