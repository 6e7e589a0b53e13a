// The rows of the log that a page holds: the newest told as they come, older ones on the way down. It
// never lets rows move under who reads them.

import { useSignal, type Signal } from "@preact/signals";
import { useCallback, useEffect } from "preact/hooks";
import { api, faultOf, type Fault, withQuery } from "../api";
import { follow, type LiveState } from "../live";
import { isOpenEnded } from "../log-query";
import type { RequestsQuery } from "../model";
import { usePolled } from "../poll";
import { addWaiting, freshCount, joinNewest, joinOlder, NOTHING_HELD, NOTHING_WAITS, showWaiting, type Held, type Waiting } from "../rows";

/** Asked so often where no stream tells the rows. */
const NEWEST_EVERY_MS = 2_000;

export interface LiveRows {
  held: Signal<Held>;
  loaded: Signal<boolean>;
  waiting: Signal<Waiting>;
  state: Signal<LiveState>;
  /** Rows that came too fast to be told one by one. */
  missed: Signal<number>;
  older: Signal<"idle" | "busy">;
  /** Pages in a row that had none. */
  dryPages: Signal<number>;
  fault: Fault | null;
  olderFault: Signal<Fault | null>;
  loadOlder: () => Promise<void>;
  /** Shows what waits, if the page may move now. */
  settle: () => void;
  /** Shows what waits in any case; what was left out too. */
  show: () => Promise<void>;
}

/** `follows` is false where the page is held still; `mayMove` says whether rows may be put on top now. */
export function useLiveRows(query: RequestsQuery, follows: boolean, mayMove: () => boolean): LiveRows {
  const held = useSignal<Held>(NOTHING_HELD);
  const loaded = useSignal(false);
  const waiting = useSignal<Waiting>(NOTHING_WAITS);
  const state = useSignal<LiveState>("connecting");
  const missed = useSignal(0);
  const older = useSignal<"idle" | "busy">("idle");
  const dryPages = useSignal(0);
  const olderFault = useSignal<Fault | null>(null);

  /** Takes in the newest page; over a gap it starts over, once the page is there. */
  const afresh = async (signal?: AbortSignal): Promise<void> => {
    const hasGap = missed.value > 0;
    const page = await api.requests(query, null, signal);
    held.value = joinNewest(hasGap ? NOTHING_HELD : held.value, page);
    if (hasGap) missed.value = 0;
    waiting.value = NOTHING_WAITS;
    loaded.value = true;
  };
  const show = async (): Promise<void> => {
    const shown = missed.value > 0 ? null : showWaiting(held.value, waiting.value);
    if (shown) {
      held.value = shown;
      waiting.value = NOTHING_WAITS;
      return;
    }
    try {
      await afresh();
    } catch (thrown) {
      olderFault.value = faultOf(thrown);
    }
  };
  const settle = (): void => {
    if (waiting.value.count + missed.value > 0 && mayMove()) void show();
  };

  const newest = usePolled(`newest ${follows ? "follows" : "held"}`, NEWEST_EVERY_MS, async (signal) => {
    if (loaded.value && (!follows || state.value === "live" || !isOpenEnded(query, Date.now()))) return;
    if (!loaded.value || held.value.rows.length === 0 || mayMove()) {
      await afresh(signal);
      return;
    }
    const page = await api.requests(query, null, signal);
    const fresh = freshCount(held.value, page);
    waiting.value = fresh < page.rows.length ? addWaiting(NOTHING_WAITS, page.rows, held.value) : { rows: [], count: fresh };
  });

  const isReady = loaded.value;
  useEffect(() => {
    if (!isReady || !follows || !isOpenEnded(query, Date.now())) return undefined;
    const newestId = (): number | null => waiting.value.rows[0]?.id ?? held.value.rows[0]?.id ?? null;
    let end: (() => void) | null = null;
    let lost = 0;
    let after: ReturnType<typeof setTimeout> | undefined;
    // In a burst the page follows as if it asked now and then; where it may not move, the count waits.
    const afterBurst = (): void => {
      after = undefined;
      missed.value += lost;
      lost = 0;
      settle();
    };
    // A page that nobody sees holds no stream: there are only so many.
    const turn = (): void => {
      end?.();
      end = null;
      if (document.hidden) return;
      end = follow(() => withQuery("api/requests/live", { ...query, after: newestId() }), {
        onState: (next) => {
          state.value = next;
          // Where nothing is held the stream begins with what comes from now on: what came before it was
          // open is asked for. If that fails, the next row shows all the same.
          if (next === "live" && newestId() === null) afresh().catch(() => undefined);
        },
        onRows: (came) => {
          waiting.value = addWaiting(waiting.value, came, held.value);
          settle();
        },
        onMissed: (count) => {
          lost += count;
          after ??= setTimeout(afterBurst, NEWEST_EVERY_MS);
        },
      });
    };
    turn();
    document.addEventListener("visibilitychange", turn);
    return () => {
      document.removeEventListener("visibilitychange", turn);
      end?.();
      clearTimeout(after);
      state.value = "connecting";
    };
  }, [isReady, follows]);

  const loadOlder = useCallback(async () => {
    const before = held.value.next;
    if (before === null || older.value === "busy") return;
    older.value = "busy";
    try {
      const page = await api.requests(query, before);
      held.value = joinOlder(held.value, page);
      dryPages.value = page.rows.length === 0 ? dryPages.value + 1 : 0;
      olderFault.value = null;
    } catch (thrown) {
      olderFault.value = faultOf(thrown);
    }
    older.value = "idle";
  }, [held, older, olderFault, dryPages]);

  return { held, loaded, waiting, state, missed, older, dryPages, fault: newest.fault, olderFault, loadOlder, settle, show };
}
