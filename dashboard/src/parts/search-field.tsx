// A field for a part of a text: what is typed is told once typing settles.

import { useEffect, useRef, useState } from "preact/hooks";
import { Icon } from "./icons";

/** Typing settles for this long before Tidegate is asked. */
const TYPING_MS = 250;

interface SearchFieldProps {
  label: string;
  placeholder?: string;
  /** The text that is looked for now. */
  value: string;
  /** Another time for typing to settle, where nobody is asked. */
  settles?: number;
  onFind: (text: string) => void;
}

export function SearchField({ label, placeholder = label, value, settles = TYPING_MS, onFind }: SearchFieldProps) {
  const [text, setText] = useState(value);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => setText(value), [value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const type = (typed: string): void => {
    setText(typed);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => onFind(typed.trim()), settles);
  };
  return (
    <label class="filter-text">
      <span class="unseen">{label}</span>
      <Icon name="search" />
      <input
        class="input"
        type="search"
        placeholder={placeholder}
        autocapitalize="none"
        autocomplete="off"
        spellcheck={false}
        value={text}
        onInput={(event) => type(event.currentTarget.value)}
      />
    </label>
  );
}
