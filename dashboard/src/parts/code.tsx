// Texts of the configuration in the editor, side by side, and merged. The editor itself is a piece
// of its own that is fetched when it is needed.

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { ConfigFile, PlacedProblem } from "../config-model";
import type { TextEditor } from "../editor/editor";
import { replaced, schema, textOf, type } from "../desk";
import { t } from "../i18n";

const load = () => import("../editor/editor");

/** A place that the reader wants to see. */
export interface Goal {
  line: number;
  column: number;
}

export function CodeEditor(props: { file: ConfigFile; problems: readonly PlacedProblem[]; goal: Goal | null; onApply: () => void }) {
  const host = useRef<HTMLDivElement>(null);
  const editor = useRef<TextEditor | null>(null);
  const ready = useSignal(false);
  const onApply = useRef(props.onApply);
  onApply.current = props.onApply;
  const { file, problems, goal } = props;
  useEffect(() => {
    let gone = false;
    void load().then(({ openEditor }) => {
      if (gone || !host.current) return;
      editor.current = openEditor(host.current, {
        text: textOf(file),
        label: t("config.textOf", { file: file.path }),
        readOnly: file.fixed !== null,
        schema: schema.value,
        onChange: (typed) => type(file.path, typed),
        onApply: () => onApply.current(),
      });
      ready.value = true;
    });
    return () => {
      gone = true;
      editor.current?.destroy();
      editor.current = null;
      ready.value = false;
    };
  }, [file.path]);
  // What was typed here comes back late; only what came from elsewhere is shown.
  useEffect(() => editor.current?.setText(textOf(file)), [replaced.value, ready.value]);
  useEffect(() => editor.current?.setReadOnly(file.fixed !== null), [file.fixed]);
  useEffect(() => editor.current?.setProblems(problems), [problems, ready.value]);
  useEffect(() => {
    if (goal) editor.current?.goTo(goal.line, goal.column);
  }, [goal, ready.value]);
  return <div class="code code-editor" ref={host} aria-busy={!ready.value} />;
}

export function CodeDiff({ before, after, label }: { before: string; after: string; label: string }) {
  const host = useRef<HTMLDivElement>(null);
  useEffect(() => {
    let close: (() => void) | undefined;
    let gone = false;
    void load().then(({ openDiff }) => {
      if (!gone && host.current) close = openDiff(host.current, before, after, label);
    });
    return () => {
      gone = true;
      close?.();
    };
  }, [before, after]);
  return <div class="code code-diff" ref={host} />;
}

export function CodeMerge({ theirs, mine, onChange }: { theirs: string; mine: string; onChange: (text: string) => void }) {
  const host = useRef<HTMLDivElement>(null);
  useEffect(() => {
    let close: (() => void) | undefined;
    let gone = false;
    void load().then(({ openMerge }) => {
      if (!gone && host.current) close = openMerge(host.current, theirs, mine, onChange);
    });
    return () => {
      gone = true;
      close?.();
    };
  }, [theirs]);
  return <div class="code code-diff" ref={host} />;
}
