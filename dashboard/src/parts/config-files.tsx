// The files of the configuration as texts: one at a time, with what is wrong at its line.

import { useSignal } from "@preact/signals";
import type { PlacedProblem } from "../config-model";
import { checked, changedPaths, known, nameOf, textOf } from "../desk";
import { t } from "../i18n";
import { isUnwritten } from "../settings-copy";
import { amend, route } from "../state";
import { CodeEditor, type Goal } from "./code";
import { Marked, Notice } from "./notice";
import { Sentence } from "./sentence";

export function ConfigTexts({ onApply }: { onApply: () => void }) {
  const goal = useSignal<Goal | null>(lineOf(route.value.words["line"]));
  const files = (known.value?.files ?? []).filter((one) => !isUnwritten({ kind: one.kind, text: textOf(one) }));
  const wanted = route.value.words["file"];
  const file = files.find((one) => one.path === wanted) ?? files[0];
  if (!file) return null;
  const complaints = checked.value?.complaints ?? [];
  const open = (path: string, line: number | null, column = 1): void => {
    amend({ tab: "files", file: path });
    goal.value = line === null ? null : { line, column };
  };
  const here = complaints.filter((one) => one.file === file.path);
  return (
    <div class="texts">
      {files.length > 1 && (
        <div class="file-tabs" role="group" aria-label={t("config.tabs.files")}>
          {files.map((one) => {
            const wrong = complaints.filter((it) => it.file === one.path).length;
            return (
              <button
                key={one.path}
                type="button"
                class="file-tab"
                title={one.path}
                aria-pressed={one.path === file.path}
                onClick={() => open(one.path, null)}
              >
                {nameOf(one.path)}
                {changedPaths.value.includes(one.path) && <span class="file-mark">{t("config.edited")}</span>}
                {wrong > 0 && <span class="badge badge-block">{wrong}</span>}
              </button>
            );
          })}
        </div>
      )}
      <p class="file-path">
        <code>{file.path}</code>
        {file.kind === "dashboard" && <span class="quiet">{t("config.onOtherPages")}</span>}
      </p>
      {file.fixed !== null && <ReadOnly why={file.fixed} remedy={file.remedy} />}
      {file.fixed === null && file.changed && (
        <Notice tone="land">
          <p>{t("config.changedOutside")}</p>
        </Notice>
      )}
      <CodeEditor key={file.path} file={file} problems={here} goal={goal.value} onApply={onApply} />
      <Problems complaints={complaints} here={file.path} onOpen={(one) => open(one.file, one.line, one.column)} />
      <p class="quiet keys">
        <Sentence of="config.keys" />
      </p>
    </div>
  );
}

/** What is wrong, each with its place, which a click leads to. */
export function Problems(props: { complaints: readonly PlacedProblem[]; here: string; onOpen: (problem: PlacedProblem) => void }) {
  if (props.complaints.length === 0) return null;
  return (
    <ul class="problems" aria-label={t("config.wrong")}>
      {props.complaints.map((one) => (
        <li key={`${one.file}:${one.line}:${one.column}:${one.message}`}>
          <button type="button" class="problem" onClick={() => props.onOpen(one)}>
            <span class="problem-place">
              {one.file === props.here ? t("config.line", { line: String(one.line) }) : t("config.fileLine", { file: nameOf(one.file), line: String(one.line) })}
            </span>
            <span>
              {one.path !== "" && (
                <>
                  <code>{one.path}</code>:{" "}
                </>
              )}
              {one.message}
              {one.remedy && <span class="quiet">; {one.remedy}</span>}
            </span>
          </button>
        </li>
      ))}
    </ul>
  );
}

function lineOf(word: string | undefined): Goal | null {
  const line = Number(word);
  return Number.isInteger(line) && line > 0 ? { line, column: 1 } : null;
}

/** Why nothing can be written, and how that is changed. */
export function ReadOnly({ why, remedy }: { why: string; remedy: string | null }) {
  const sentence = why.charAt(0).toUpperCase() + why.slice(1);
  return (
    <Notice tone="land">
      <p>
        {t("config.readOnly", { why: sentence })} {remedy && <Sentence of="config.toChange" values={{ remedy: <Marked text={remedy} /> }} />}
      </p>
    </Notice>
  );
}
