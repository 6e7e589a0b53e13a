// All settings as one file: saved on this device, and put back, here or on another machine, by the
// same check and review as every other change.

import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { api, faultOf, type Fault } from "../api";
import { drafts, known, loadDesk, nameOf, putDown } from "../desk";
import { moment, printable } from "../format";
import { t } from "../i18n";
import type { OwnRules } from "../model";
import { COPY_BYTES_MAX, copyLines, copyName, readCopy, settingsCopy, type SettingsCopy } from "../settings-copy";
import { status, today } from "../state";
import { Icon } from "./icons";
import { Notice } from "./notice";
import { Panel } from "./panel";
import { Sentence } from "./sentence";

export function ConfigCopy({ onReview }: { onReview: () => void }) {
  return (
    <div class="copies">
      <SaveCopy />
      <PutBack onReview={onReview} />
    </div>
  );
}

function SaveCopy() {
  const fault = useSignal<Fault | null>(null);
  const save = async (): Promise<void> => {
    try {
      const [{ files }, own] = await Promise.all([api.configFiles(), api.ownRules()]);
      const now = new Date();
      const copy = settingsCopy(files, own.text, status.value?.version ?? "", now);
      saveAs(copyName(now), `${JSON.stringify(copy, null, 1)}\n`);
      fault.value = null;
    } catch (thrown) {
      fault.value = faultOf(thrown);
    }
  };
  return (
    <Panel id="save-copy-title" title={t("backup.save")}>
      <div class="copy-body">
        {fault.value && <Notice tone="fault" fault={fault.value} />}
        <p>{t("backup.whatIsIn")}</p>
        <p class="quiet">
          <Sentence of="backup.whatIsNot" values={{ command: <code>tidegate backup</code> }} />
        </p>
        <p>
          <button type="button" class="button button-main" onClick={() => void save()}>
            <Icon name="download" />
            {t("backup.save")}
          </button>
        </p>
      </div>
    </Panel>
  );
}

/** Has the browser keep a text as a file. */
function saveAs(name: string, text: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  link.download = name;
  link.click();
  // The browser has it by the time that the page is idle again.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

interface ChosenCopy {
  copy: SettingsCopy;
  own: OwnRules;
}

function PutBack({ onReview }: { onReview: () => void }) {
  const chosen = useSignal<ChosenCopy | null>(null);
  const wrong = useSignal<string | null>(null);
  const fault = useSignal<Fault | null>(null);
  const field = useRef<HTMLInputElement>(null);
  const read = async (file: File | undefined): Promise<void> => {
    chosen.value = null;
    fault.value = null;
    wrong.value = null;
    if (!file) return;
    const copy = file.size > COPY_BYTES_MAX ? null : readCopy(await file.text());
    if (!copy) {
      wrong.value = t("backup.noCopy", { file: file.name });
      return;
    }
    try {
      const own = await api.ownRules();
      await loadDesk();
      chosen.value = { copy, own };
    } catch (thrown) {
      fault.value = faultOf(thrown);
    }
  };
  const isFixed = (known.value?.files ?? []).every((file) => file.fixed !== null);
  return (
    <Panel id="put-back-title" title={t("backup.putBack")}>
      <div class="copy-body">
        {fault.value && <Notice tone="fault" fault={fault.value} />}
        {wrong.value !== null && (
          <Notice tone="fault">
            <p>{wrong.value}</p>
          </Notice>
        )}
        <p>{t("backup.howPutBack")}</p>
        <p>
          <input ref={field} hidden type="file" accept="application/json,.json" onChange={(event) => void read(event.currentTarget.files?.[0])} />
          <button type="button" class="button" disabled={isFixed} onClick={() => field.current?.click()}>
            {t("backup.choose")}
          </button>
        </p>
        {chosen.value && <CopyContents chosen={chosen.value} onOwn={(own) => void (chosen.value = chosen.value && { ...chosen.value, own })} onReview={onReview} />}
      </div>
    </Panel>
  );
}

function CopyContents({ chosen, onOwn, onReview }: { chosen: ChosenCopy; onOwn: (own: OwnRules) => void; onReview: () => void }) {
  const fault = useSignal<Fault | null>(null);
  const busy = useSignal(false);
  const { copy, own } = chosen;
  const lines = copyLines(copy, known.value?.files ?? []);
  const differing = lines.filter((line) => line.state === "differs");
  const rulesDiffer = copy.own_rules !== own.text;
  const saveRules = async (): Promise<void> => {
    busy.value = true;
    try {
      await api.setOwnRules({ text: copy.own_rules, revision: own.revision });
      onOwn(await api.ownRules());
      await loadDesk();
      fault.value = null;
    } catch (thrown) {
      fault.value = faultOf(thrown);
    }
    busy.value = false;
  };
  const takeOver = (): void => {
    putDown(differing.flatMap(({ path, text }) => (path === null ? [] : [{ path, text }])));
    onReview();
  };
  return (
    <>
      <p class="quiet" role="status">
        {t("backup.made", { version: printable(copy.version), when: moment(copy.made, today.value) })}
      </p>
      {fault.value && <Notice tone="fault" fault={fault.value} />}
      <ul class="copy-lines">
        {(copy.own_rules !== "" || rulesDiffer) && (
          <li>
            <span>{t("backup.ownRules")}</span>
            <span class={rulesDiffer ? "" : "quiet"}>{t(rulesDiffer ? "backup.state.differs" : "backup.state.same")}</span>
            {rulesDiffer && (
              <button type="button" class="button" disabled={busy.value} onClick={() => void saveRules()}>
                {t("backup.saveRules")}
              </button>
            )}
          </li>
        )}
        {lines.map((line) => (
          <li key={line.from}>
            <code title={line.from}>{nameOf(line.path ?? line.from)}</code>
            <span class={line.state === "same" ? "quiet" : ""}>{t(`backup.state.${line.state}`)}</span>
            {line.state === "unknown" && <span class="quiet">{t("backup.unknown", { path: line.from })}</span>}
          </li>
        ))}
      </ul>
      {rulesDiffer && differing.length > 0 && <p class="quiet">{t("backup.rulesFirst")}</p>}
      <p>
        <button type="button" class="button button-main" disabled={differing.length === 0 || busy.value} onClick={takeOver}>
          {t("backup.review")}
        </button>
        {differing.length === 0 && !rulesDiffer && <span class="quiet">{t("backup.nothingDiffers")}</span>}
        {Object.keys(drafts.value).length > 0 && differing.length > 0 && <span class="quiet">{t("backup.overDrafts")}</span>}
      </p>
    </>
  );
}
