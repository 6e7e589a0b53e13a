// Data that is asked for again and again while its view is open and the page is seen.

import { useEffect, useRef, useState } from "preact/hooks";
import { faultOf, type Fault } from "./api";

export interface Polled<T> {
  data: T | null;
  fault: Fault | null;
  refresh: () => void;
}

/**
 * Calls `ask` now, whenever `key` changes, and every `everyMs` while the page is visible. What was
 * last known stays while a newer answer is under way or cannot be had.
 */
export function usePolled<T>(
  key: string,
  everyMs: number,
  ask: (signal: AbortSignal) => Promise<T>,
): Polled<T> {
  const [data, setData] = useState<T | null>(null);
  const [fault, setFault] = useState<Fault | null>(null);
  const [turn, setTurn] = useState(0);
  const latest = useRef(ask);
  latest.current = ask;

  useEffect(() => {
    const stop = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let asking = false;
    const run = async (): Promise<void> => {
      if (!document.hidden) {
        asking = true;
        try {
          const answer = await latest.current(stop.signal);
          if (stop.signal.aborted) return;
          setData(answer);
          setFault(null);
        } catch (thrown) {
          if (stop.signal.aborted) return;
          setFault(faultOf(thrown));
        } finally {
          asking = false;
        }
      }
      if (!stop.signal.aborted) timer = setTimeout(() => void run(), everyMs);
    };
    const seen = (): void => {
      if (document.hidden || asking) return;
      clearTimeout(timer);
      void run();
    };
    document.addEventListener("visibilitychange", seen);
    void run();
    return () => {
      stop.abort();
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", seen);
    };
  }, [key, everyMs, turn]);

  return { data, fault, refresh: () => setTurn((n) => n + 1) };
}
