// A change of the configuration before it is applied: what differs in the texts and in what they
// mean, what may be a mistake, what must be said yes to, and why it is made.

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { api } from "../api";
import { apply, busy, changedPaths, checked, checking, conflicts, deskFault, discard, draftFiles, drafts, known, nameOf, settle } from "../desk";
import { t } from "../i18n";
import { CodeDiff, CodeMerge } from "./code";
import { Notice } from "./notice";
import { Panel } from "./panel";
import { Sentence } from "./sentence";
import { TrialOutcome, TryButton, useTrialBy } from "./tried";

const SHOWN_DIFFERENCES = 40;

/** The bar that stands under the view while something is typed that is not in force. */
export function DeskBar({ onReview }: { onReview: () => void }) {
  const paths = changedPaths.value;
  if (paths.length === 0) return null;
  const wrong = checked.value?.complaints.length ?? 0;
  const state = checking.value ? t("config.checking") : wrong > 0 ? t("config.complaints", { count: wrong }) : t("config.nothingWrong");
  return (
    <div class="desk-bar" role="region" aria-label={t("config.notApplied")}>
      <p role="status">
        <Sentence of="config.changed" values={{ what: paths.length === 1 ? nameOf(paths[0] ?? "") : t("config.files", { count: paths.length }), state }} />
      </p>
      <button type="button" class="button button-bare" disabled={busy.value} onClick={discard}>
        {t("words.discard")}
      </button>
      <button type="button" class="button button-main" disabled={checking.value || wrong > 0} onClick={onReview}>
        {t("config.reviewAndApply")}
      </button>
    </div>
  );
}

function Meaning() {
  const found = checked.value;
  if (!found) return null;
  const late = found.differences.filter((one) => one.takes === "restart");
  return (
    <>
      {found.differences.length > 0 ? (
        <div>
          <h3>{t("config.whatChanges")}</h3>
          <ul class="meaning">
            {found.differences.slice(0, SHOWN_DIFFERENCES).map((one) => (
              <li key={one.path}>
                <code>{one.text}</code>
              </li>
            ))}
          </ul>
          {found.differences.length > SHOWN_DIFFERENCES && <p class="quiet">{t("words.andMore", { count: found.differences.length - SHOWN_DIFFERENCES })}</p>}
        </div>
      ) : (
        <p class="quiet">{t("config.noSettingDiffers")}</p>
      )}
      {late.length > 0 && (
        <Notice tone="land">
          <p>
            {t("config.atRestart", { settings: late.map((one) => one.path).join(", ") })}
          </p>
        </Notice>
      )}
      {found.warnings.length > 0 && (
        <Notice tone="land">
          <ul class="complaints">
            {found.warnings.map((warning) => (
              <li key={warning}>{warning}</li>
            ))}
          </ul>
        </Notice>
      )}
    </>
  );
}

export function Review({ onClose }: { onClose: (worked: boolean) => void }) {
  const why = useSignal("");
  const confirmed = useSignal(false);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  const asks = checked.value?.asks ?? [];
  const trial = useTrialBy(drafts.value, api.configReplay);
  const send = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (await apply(why.value, confirmed.value)) onClose(true);
  };
  if (conflicts.value.length > 0) return <Conflict />;
  const files = known.value?.files ?? [];
  // Verdicts come from the policy alone.
  const decides = checked.value?.differences.some((one) => /^policy\b/.test(one.path)) ?? false;
  return (
    <Panel id="review-title" title={t("config.review")}>
      <form class="review" onSubmit={(event) => void send(event)}>
        {deskFault.value && <Notice tone="fault" fault={deskFault.value} />}
        <label class="field">
          <span class="field-name">{t("config.why")}</span>
          <input
            ref={field}
            class="input"
            maxLength={400}
            value={why.value}
            onInput={(event) => {
              why.value = event.currentTarget.value;
            }}
          />
        </label>
        {asks.map((ask) => (
          <label key={ask} class="ask">
            <input
              type="checkbox"
              checked={confirmed.value}
              onChange={(event) => {
                confirmed.value = event.currentTarget.checked;
              }}
            />
            <span>{t("config.yes", { ask })}</span>
          </label>
        ))}
        <div class="foot">
          <button
            type="submit"
            class="button button-main"
            disabled={busy.value || checking.value || (checked.value?.complaints.length ?? 0) > 0 || (asks.length > 0 && !confirmed.value)}
          >
            {busy.value ? t("config.applying") : t("config.apply")}
          </button>
          {decides && <TryButton trial={trial} change={draftFiles} disabled={checking.value || (checked.value?.complaints.length ?? 0) > 0} />}
          <button type="button" class="button button-bare" onClick={() => onClose(false)}>
            {t("config.goOn")}
          </button>
        </div>
        <TrialOutcome trial={trial} />
        <Meaning />
        {files
          .filter((file) => drafts.value[file.path] !== undefined)
          .map((file) => (
            <div key={file.path} class="review-file">
              <h3>
                <code>{file.path}</code>
              </h3>
              <CodeDiff before={file.text ?? ""} after={drafts.value[file.path] ?? ""} label={t("config.changesOf", { file: file.path })} />
            </div>
          ))}
      </form>
    </Panel>
  );
}

/** Somebody else was quicker: both texts, to be joined. */
function Conflict() {
  const joined = useRef<Record<string, string>>({});
  for (const file of conflicts.value) joined.current[file.path] ??= drafts.value[file.path] ?? "";
  return (
    <Panel id="conflict-title" title={t("config.changedMeanwhile")}>
      <div class="review">
        <Notice tone="land">
          <p>
            {t("config.somebodyElse", { files: conflicts.value.map((file) => nameOf(file.path)).join(", ") })}
          </p>
        </Notice>
        {conflicts.value.map((file) => (
          <div key={file.path} class="review-file">
            <h3>
              <code>{file.path}</code>
            </h3>
            <p class="quiet">{t("config.bothTexts")}</p>
            <CodeMerge
              theirs={file.text ?? ""}
              mine={drafts.value[file.path] ?? ""}
              onChange={(text) => {
                joined.current[file.path] = text;
              }}
            />
          </div>
        ))}
        <div class="foot">
          <button type="button" class="button button-main" onClick={() => settle(joined.current)}>
            {t("config.goOnMine")}
          </button>
          <button type="button" class="button" onClick={discard}>
            {t("config.takeTheirs")}
          </button>
        </div>
      </div>
    </Panel>
  );
}
