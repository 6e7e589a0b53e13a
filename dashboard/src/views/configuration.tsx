// The configuration: forms for what people change weekly, the files as texts, and what was changed.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { applied, changedPaths, check, checked, conflicts, deskFault, known, loadDesk } from "../desk";

import { t } from "../i18n";
import { Choice } from "../parts/choice";
import { ConfigCopy } from "../parts/config-copy";
import { ConfigTexts, ReadOnly } from "../parts/config-files";
import { ConfigForms } from "../parts/config-forms";
import { ConfigHistory } from "../parts/config-history";
import { DeskBar, Review } from "../parts/config-review";
import { DashboardAt } from "../parts/dashboard-at";
import { WaitingChange } from "../parts/first-run-notice";
import { Empty, Notice } from "../parts/notice";
import { amend, refreshStatus, route } from "../state";

const TABS = ["forms", "files", "history", "backup"] as const;
type Tab = (typeof TABS)[number];

export function ConfigurationView() {
  const reviewing = useSignal(false);
  const tab: Tab = TABS.find((one) => one === route.value.words["tab"]) ?? "forms";
  useEffect(() => {
    void loadDesk();
    return () => {
      applied.value = null;
    };
  }, []);
  const review = (): void => {
    if (changedPaths.value.length === 0) return;
    void check().then(() => {
      if ((checked.value?.complaints.length ?? 0) > 0) amend({ ...route.value.words, tab: "files" });
      else reviewing.value = true;
    });
  };
  const close = (worked: boolean): void => {
    reviewing.value = false;
    if (worked) void refreshStatus();
  };
  const files = known.value;
  const isReviewing = reviewing.value && changedPaths.value.length > 0;
  return (
    <>
      <div class="view-head">
        <h1>{t("nav.configuration")}</h1>
        {!isReviewing && (
          <Choice label={t("config.part")} name="tab" options={TABS.map((one) => ({ value: one, text: t(`config.tabs.${one}`) }))} value={tab} onChoose={(value) => amend({ tab: value === "forms" ? "" : value })} />
        )}
      </div>
      <AppliedNotice />
      {deskFault.value && !isReviewing && <Notice tone="fault" fault={deskFault.value} />}
      {files && files.fixed !== null && <ReadOnly why={files.fixed} remedy={files.remedy} />}
      {files && isReviewing && <Review onClose={close} />}
      {files && !isReviewing && (
        <>
          {files.files.length === 0 && (tab === "forms" || tab === "files") ? (
            <Empty title={t("config.noFile")}>{t("config.noFileText")}</Empty>
          ) : (
            <>
              {tab === "forms" && <ConfigForms />}
              {tab === "files" && <ConfigTexts onApply={review} />}
            </>
          )}
          {tab === "backup" && <ConfigCopy onReview={review} />}
          {tab === "history" && <ConfigHistory canRestore={files.files.some((file) => file.fixed === null)} />}
          <DeskBar onReview={review} />
        </>
      )}
      {conflicts.value.length > 0 && !isReviewing && (
        <button type="button" class="button" onClick={() => void (reviewing.value = true)}>
          {t("config.join")}
        </button>
      )}
    </>
  );
}

function AppliedNotice() {
  const done = applied.value;
  if (!done) return null;
  const rules = t("units.rules", { count: done.reload.rules });
  return (
    <>
      {done.confirm_within_s != null && <WaitingChange />}
      <Notice tone="good">
        <p>
          {done.number === null ? t("config.applied", { rules }) : t("config.appliedAs", { number: String(done.number), rules })}
        </p>
        {done.at_restart.length > 0 && (
          <ul class="complaints">
            {done.at_restart.map((one) => (
              <li key={one}>{one}</li>
            ))}
          </ul>
        )}
        {done.dashboard != null && (
          <p>
            <DashboardAt url={done.dashboard} />
          </p>
        )}
      </Notice>
    </>
  );
}
