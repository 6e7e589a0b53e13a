// A change that is under way, and what went wrong with the last one.

import { useSignal, type Signal } from "@preact/signals";
import { faultOf, type Fault } from "../api";

export interface Act {
  busy: Signal<boolean>;
  fault: Signal<Fault | null>;
  /** Says whether it worked. */
  act: (change: () => Promise<unknown>) => Promise<boolean>;
}

export function useAct(): Act {
  const busy = useSignal(false);
  const fault = useSignal<Fault | null>(null);
  const act = async (change: () => Promise<unknown>): Promise<boolean> => {
    busy.value = true;
    try {
      await change();
      fault.value = null;
    } catch (thrown) {
      fault.value = faultOf(thrown);
    }
    busy.value = false;
    return fault.value === null;
  };
  return { busy, fault, act };
}
