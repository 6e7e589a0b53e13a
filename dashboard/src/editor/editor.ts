// The editor of the configuration's files: CodeMirror, loaded when the first file is opened.
//
// It stands in a shadow root, where CodeMirror adopts its style sheets: the page's policy allows no
// style that is not a file. Completion and words come from the schema, marks from the check.

import { acceptCompletion, autocompletion, completionKeymap, type Completion, type CompletionContext, type CompletionResult } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentLess, indentMore } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { HighlightStyle, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, setDiagnostics, lintKeymap, type Diagnostic } from "@codemirror/lint";
import { MergeView, unifiedMergeView } from "@codemirror/merge";
import { Compartment, EditorState, type Extension } from "@codemirror/state";
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  hoverTooltip,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";
import type { PlacedProblem, Schema } from "../config-model";
import { t } from "../i18n";
import { offersAt, placeAt, wordsAt } from "../schema-walk";

const THEME = EditorView.theme({
  "&": { color: "var(--ink)", backgroundColor: "var(--surface)", fontSize: "14px", height: "100%" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.55", overflow: "auto" },
  ".cm-content": { caretColor: "var(--deep)", padding: "10px 0" },
  ".cm-cursor": { borderLeftColor: "var(--deep)" },
  ".cm-gutters": { color: "var(--ink-3)", backgroundColor: "var(--surface-2)", border: "0", borderRight: "1px solid var(--rule)" },
  ".cm-activeLine": { backgroundColor: "color-mix(in srgb, var(--water-soft) 50%, transparent)" },
  ".cm-activeLineGutter": { color: "var(--ink)", backgroundColor: "var(--water-soft)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--water)" },
  ".cm-tooltip": { color: "var(--ink)", backgroundColor: "var(--surface)", border: "1px solid var(--rule-2)", borderRadius: "6px", boxShadow: "0 6px 24px var(--shadow)", fontFamily: "var(--sans)", maxWidth: "min(460px, 90vw)" },
  ".cm-tooltip .words": { padding: "8px 12px", whiteSpace: "pre-line", fontSize: "13.5px", lineHeight: "1.45" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)", fontSize: "13.5px" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li": { padding: "3px 10px", lineHeight: "1.5" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { color: "var(--button-ink)", background: "var(--button)" },
  ".cm-completionInfo": { padding: "8px 12px", fontSize: "13.5px", lineHeight: "1.45", whiteSpace: "pre-line" },
  ".cm-diagnostic": { padding: "6px 12px", fontSize: "13.5px" },
  ".cm-diagnostic-error": { borderLeftColor: "var(--accent)" },
  ".cm-lintRange-error": { backgroundImage: "none", textDecoration: "underline wavy var(--accent) 1.5px", textUnderlineOffset: "3px" },
  ".cm-lint-marker-error": { content: "none", width: "10px", height: "10px", borderRadius: "50%", background: "var(--accent-fill)" },
  ".cm-gutter-lint": { width: "18px" },
  ".cm-changedLine": { backgroundColor: "color-mix(in srgb, var(--water) 38%, transparent) !important" },
  ".cm-deletedChunk": { backgroundColor: "var(--accent-soft)" },
  ".cm-deletedChunk .cm-deletedText, &.cm-merge-a .cm-changedText, .cm-deletedText": { background: "color-mix(in srgb, var(--accent) 26%, transparent)" },
  "&.cm-merge-a .cm-changedLine": { backgroundColor: "var(--accent-soft) !important" },
  ".cm-insertedLine, &.cm-merge-b .cm-changedLine": { backgroundColor: "color-mix(in srgb, var(--water) 38%, transparent) !important" },
  "&.cm-merge-b .cm-changedText, .cm-changedText": { background: "color-mix(in srgb, var(--water-line) 34%, transparent)" },
  ".cm-collapsedLines": { color: "var(--ink-3)", background: "var(--surface-2)", padding: "4px 12px" },
  ".cm-collapsedLines:before, .cm-collapsedLines:after": { content: "none" },
});

const HIGHLIGHT = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--deep)" },
  { tag: tags.comment, color: "var(--ink-3)", fontStyle: "italic" },
  { tag: [tags.string, tags.content], color: "var(--ink)" },
  { tag: [tags.separator, tags.punctuation, tags.squareBracket, tags.brace], color: "var(--ink-2)" },
  { tag: [tags.meta, tags.labelName, tags.typeName], color: "var(--accent)" },
]);

const LOOKS: Extension = [THEME, syntaxHighlighting(HIGHLIGHT), yaml(), indentUnit.of("  "), EditorState.tabSize.of(2)];

export interface EditorOptions {
  text: string;
  label: string;
  readOnly: boolean;
  schema: Schema | null;
  onChange: (text: string) => void;
  /** Ctrl+S. */
  onApply: () => void;
}

export interface TextEditor {
  setText: (text: string) => void;
  setReadOnly: (readOnly: boolean) => void;
  setProblems: (problems: readonly PlacedProblem[]) => void;
  goTo: (line: number, column: number) => void;
  destroy: () => void;
}

function linesOf(state: EditorState): string[] {
  return state.doc.toString().split("\n");
}

function completion(schema: Schema): (context: CompletionContext) => CompletionResult | null {
  return (context) => {
    const line = context.state.doc.lineAt(context.pos);
    const place = placeAt(linesOf(context.state), line.number - 1, context.pos - line.from);
    if (place.word === "" && !context.explicit && !/[:-]\s$/.test(line.text.slice(0, context.pos - line.from))) return null;
    const offers = offersAt(schema, place);
    if (offers.length === 0) return null;
    return {
      from: context.pos - place.word.length,
      options: offers.map((offer) => {
        const option: Completion = { label: offer.text, type: offer.kind === "key" ? "property" : "constant" };
        if (offer.kind === "key") option.apply = `${offer.text}: `;
        if (offer.info) option.info = offer.info;
        return option;
      }),
      validFor: /^[\w.-]*$/,
    };
  };
}

/** The manual's words about the key under the mouse. */
function hover(schema: Schema): Extension {
  return hoverTooltip((view, position) => {
    const line = view.state.doc.lineAt(position);
    const key = /^[\s-]*([^\s:#][^:#]*):/.exec(line.text);
    const start = line.from + (key ? key[0].length - 1 - (key[1]?.length ?? 0) : 0);
    if (!key || position < start || position > line.from + key[0].length) return null;
    const place = placeAt(linesOf(view.state), line.number - 1, key[0].length);
    const words = wordsAt(schema, place.path);
    if (!words) return null;
    return {
      pos: start,
      end: line.from + key[0].length - 1,
      create: () => {
        const dom = document.createElement("div");
        dom.className = "words";
        dom.textContent = words;
        return { dom };
      },
    };
  });
}

function diagnostic(state: EditorState, problem: PlacedProblem): Diagnostic {
  const line = state.doc.line(Math.min(Math.max(problem.line, 1), state.doc.lines));
  const from = Math.min(line.from + Math.max(problem.column - 1, 0), line.to);
  // The word there, or the whole line where it ends.
  const word = /^[^\s:,\]}]+/.exec(state.doc.sliceString(from, line.to))?.[0].length ?? 0;
  const message = problem.remedy ? `${problem.message}; ${problem.remedy}` : problem.message;
  return word > 0 ? { from, to: from + word, severity: "error", message } : { from: line.from, to: line.to, severity: "error", message };
}

/** How a text looks, and what the editor itself says, in the language that is spoken when it is opened. */
const looks = (): Extension => [
  LOOKS,
  EditorState.phrases.of({
    "$ unchanged lines": t("config.editor.unchanged"),
    "Revert this chunk": t("config.editor.revert"),
    Accept: t("config.editor.accept"),
    Reject: t("config.editor.reject"),
    Completions: t("config.editor.completions"),
    Diagnostics: t("config.editor.diagnostics"),
    "No diagnostics": t("config.editor.noDiagnostics"),
    close: t("config.editor.close"),
    "Selection deleted": t("config.editor.deleted"),
  }),
];

/** YAML knows no tabs. */
function indented(view: EditorView): boolean {
  if (!view.state.selection.main.empty) return indentMore(view);
  view.dispatch(view.state.replaceSelection("  "));
  return true;
}

function shadow(host: HTMLElement): ShadowRoot {
  return host.shadowRoot ?? host.attachShadow({ mode: "open" });
}

function fixed(readOnly: boolean): Extension {
  // What cannot be edited is no field, and has to be reached by the keyboard all the same.
  const reached = readOnly ? EditorView.contentAttributes.of({ tabindex: "0" }) : [];
  return [EditorState.readOnly.of(readOnly), EditorView.editable.of(!readOnly), reached];
}

/** Opens a text in an element. */
export function openEditor(host: HTMLElement, options: EditorOptions): TextEditor {
  const root = shadow(host);
  const readOnly = new Compartment();
  let isOurs = false;
  const apply = (): boolean => {
    options.onApply();
    return true;
  };
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: options.text,
      extensions: [
        lineNumbers(),
        lintGutter(),
        history(),
        drawSelection(),
        highlightActiveLine(),
        highlightActiveLineGutter(),
        looks(),
        readOnly.of(fixed(options.readOnly)),
        ...(options.schema ? [autocompletion({ override: [completion(options.schema)] }), hover(options.schema)] : []),
        keymap.of([
          { key: "Mod-s", preventDefault: true, run: apply },
          // Escape, then Tab leaves the editor, as CodeMirror has it.
          { key: "Tab", run: (target) => acceptCompletion(target) || indented(target), shift: indentLess },
          ...completionKeymap,
          ...lintKeymap,
          ...historyKeymap,
          ...defaultKeymap,
        ]),
        EditorView.contentAttributes.of({ "aria-label": options.label, spellcheck: "false", autocapitalize: "off" }),
        EditorView.updateListener.of((update) => {
          if (update.docChanged && !isOurs) options.onChange(update.state.doc.toString());
        }),
      ],
    }),
  });
  return {
    setText: (text) => {
      if (view.state.doc.toString() === text) return;
      isOurs = true;
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
      isOurs = false;
    },
    setReadOnly: (value) => view.dispatch({ effects: readOnly.reconfigure(fixed(value)) }),
    setProblems: (problems) => view.dispatch(setDiagnostics(view.state, problems.map((one) => diagnostic(view.state, one)))),
    goTo: (line, column) => {
      const at = view.state.doc.line(Math.min(Math.max(line, 1), view.state.doc.lines));
      const anchor = Math.min(at.from + Math.max(column - 1, 0), at.to);
      view.dispatch({ selection: { anchor }, effects: EditorView.scrollIntoView(anchor, { y: "center" }) });
      view.focus();
    },
    destroy: () => view.destroy(),
  };
}

/** Shows what changes between two texts: side by side where there is room, else one below another. */
export function openDiff(host: HTMLElement, before: string, after: string, label: string): () => void {
  const root = shadow(host);
  const shown: Extension = [looks(), lineNumbers(), fixed(true), EditorView.contentAttributes.of({ "aria-label": label })];
  const collapse = { margin: 3, minSize: 6 };
  if (host.clientWidth >= 760) {
    const view = new MergeView({
      root,
      parent: root,
      a: { doc: before, extensions: shown },
      b: { doc: after, extensions: shown },
      collapseUnchanged: collapse,
      gutter: false,
    });
    return () => view.destroy();
  }
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: after,
      extensions: [shown, unifiedMergeView({ original: before, mergeControls: false, collapseUnchanged: collapse, gutter: false })],
    }),
  });
  return () => view.destroy();
}

/** Theirs beside mine, which can be changed; arrows take a piece of theirs over. */
export function openMerge(host: HTMLElement, theirs: string, mine: string, onChange: (text: string) => void): () => void {
  const root = shadow(host);
  const listens = EditorView.updateListener.of((update) => {
    if (update.docChanged) onChange(update.state.doc.toString());
  });
  const label = (text: string): Extension => EditorView.contentAttributes.of({ "aria-label": text });
  if (host.clientWidth >= 760) {
    const view = new MergeView({
      root,
      parent: root,
      a: { doc: theirs, extensions: [looks(), lineNumbers(), fixed(true), label(t("config.fileNow"))] },
      b: { doc: mine, extensions: [looks(), lineNumbers(), history(), keymap.of([...historyKeymap, ...defaultKeymap]), listens, label(t("config.yourText"))] },
      revertControls: "a-to-b",
      gutter: false,
    });
    return () => view.destroy();
  }
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: mine,
      extensions: [
        looks(),
        lineNumbers(),
        history(),
        keymap.of([...historyKeymap, ...defaultKeymap]),
        listens,
        label(t("config.yourTextWithFile")),
        unifiedMergeView({ original: theirs, mergeControls: true, gutter: false }),
      ],
    }),
  });
  return () => view.destroy();
}
