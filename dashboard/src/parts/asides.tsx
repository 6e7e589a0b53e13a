// What opens over a view at the press of a key: the palette, and what the keys do. Both are loaded
// when they are first asked for.

import { signal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Fault } from "../api";
import { t } from "../i18n";
import { singleKeys } from "../state";
import { Notice } from "./notice";

export type Aside = "palette" | "keys";
type Shown = ComponentType<{ onClose: () => void }>;

/** What is open. Each opening is another one: that the last one closed is told a moment later. */
const opened = signal<{ what: Aside; turn: number } | null>(null);
let turns = 0;

export function openAside(what: Aside): void {
  turns += 1;
  opened.value = { what, turn: turns };
}

function load(what: Aside): Promise<Shown> {
  return what === "palette" ? import("./palette").then((it) => it.Palette) : import("./keys").then((it) => it.Keys);
}

/** True where a key is text that is typed. */
function isTyping(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest("input, textarea, select, [contenteditable]") !== null;
}

/** What a key opens. */
function asideOf(event: KeyboardEvent): Aside | null {
  if ((event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && event.key.toLowerCase() === "k") return "palette";
  if (event.ctrlKey || event.metaKey || event.altKey || !singleKeys.value || isTyping(event.target)) return null;
  if (event.key === "?") return "keys";
  return event.key === "/" ? "palette" : null;
}

export function useKeys(): void {
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      const wanted = asideOf(event);
      if (wanted === null) return;
      event.preventDefault();
      // Over a dialog there is no second one.
      if (!document.querySelector("dialog[open]")) openAside(wanted);
    };
    document.addEventListener("keydown", press);
    return () => {
      document.removeEventListener("keydown", press);
      opened.value = null;
    };
  }, []);
}

export function Asides() {
  const now = opened.value;
  const what = now?.what ?? null;
  const [loaded, setLoaded] = useState<{ what: Aside; part: Shown } | null>(null);
  const [failed, setFailed] = useState(false);
  useEffect(() => {
    if (what === null) return;
    setFailed(false);
    void load(what).then(
      (part) => setLoaded({ what, part }),
      () => setFailed(true),
    );
  }, [what]);
  if (now === null) return null;
  if (failed) {
    const fault = new Fault("unreachable", t("frame.partMissing"), t("frame.partMissingRemedy"));
    return (
      <div class="aside-fault">
        <Notice tone="fault" fault={fault} />
      </div>
    );
  }
  if (loaded?.what !== what) return null;
  const Part = loaded.part;
  return (
    <Part
      key={now.turn}
      onClose={() => {
        if (opened.value === now) opened.value = null;
      }}
    />
  );
}
