// A button that asks back before it does what cannot be undone.

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { t } from "../i18n";

interface AskBackProps {
  /** The button's text, and what a screen reader is told of it. */
  text: string;
  label?: string;
  question: ComponentChildren;
  /** What is on the button that does it. */
  yes: string;
  no?: string;
  disabled?: boolean;
  onYes: () => unknown;
}

export function AskBack({ text, label, question, yes, no = t("words.keep"), disabled, onYes }: AskBackProps) {
  const asks = useSignal(false);
  const keep = useRef<HTMLButtonElement>(null);
  const opener = useRef<HTMLButtonElement>(null);
  const wasOpen = useRef(false);
  useEffect(() => {
    if (asks.value) keep.current?.focus();
    else if (wasOpen.current) opener.current?.focus();
    wasOpen.current = asks.value;
  }, [asks.value]);
  if (!asks.value) {
    return (
      <button
        ref={opener}
        type="button"
        class="button button-bare"
        aria-label={label}
        disabled={disabled}
        onClick={() => {
          asks.value = true;
        }}
      >
        {text}
      </button>
    );
  }
  return (
    <div class="foot foot-asks" role="group" aria-label={label ?? text}>
      <p>{question}</p>
      <button
        type="button"
        class="button button-main"
        disabled={disabled}
        onClick={() => {
          asks.value = false;
          onYes();
        }}
      >
        {yes}
      </button>
      <button
        ref={keep}
        type="button"
        class="button"
        onClick={() => {
          asks.value = false;
        }}
      >
        {no}
      </button>
    </div>
  );
}
