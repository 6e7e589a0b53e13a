// A sheet that a button opens: closed by Escape, by a click beside it, and where the focus leaves it.

import { useSignal, type Signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { RefObject } from "preact";

export interface Menu {
  open: Signal<boolean>;
  /** What holds both the button and the sheet. */
  box: RefObject<HTMLDivElement | null>;
  opener: RefObject<HTMLButtonElement | null>;
}

export function useMenu(): Menu {
  const open = useSignal(false);
  const box = useRef<HTMLDivElement>(null);
  const opener = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    const away = (event: Event): void => {
      if (event.target instanceof Node && !box.current?.contains(event.target)) open.value = false;
    };
    const escape = (event: KeyboardEvent): void => {
      if (event.key !== "Escape" || !open.value) return;
      open.value = false;
      opener.current?.focus();
    };
    document.addEventListener("pointerdown", away);
    document.addEventListener("focusin", away);
    document.addEventListener("keydown", escape);
    return () => {
      document.removeEventListener("pointerdown", away);
      document.removeEventListener("focusin", away);
      document.removeEventListener("keydown", escape);
    };
  }, [open]);
  return { open, box, opener };
}
