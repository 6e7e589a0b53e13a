// A change of where Tidegate is reached, which somebody has to confirm: who cannot reach it any more
// has the earlier configuration back.

import { api } from "../api";
import { deadlineOf, noteKept } from "../first-run-wait";
import { countdown } from "../format";
import { t } from "../i18n";
import { may, now } from "../state";
import { useAct } from "./act";
import { Notice } from "./notice";

export function WaitingNotice({ waiting, onConfirmed }: { waiting: { until: string }; onConfirmed: () => void }) {
  const { busy, fault, act } = useAct();
  const left = Math.max(0, Math.ceil((deadlineOf(waiting.until) - now.value.getTime()) / 1000));
  const confirm = async (): Promise<void> => {
    if (await act(() => api.confirmFirstRun())) noteKept();
    onConfirmed();
  };
  return (
    <div class="waiting" role="alertdialog" aria-labelledby="waiting-title" aria-describedby="waiting-text">
      <div class="waiting-clock" aria-hidden="true">
        {countdown(left)}
      </div>
      <div class="waiting-what">
        <h2 id="waiting-title">{t("welcome.keepTitle")}</h2>
        <p id="waiting-text">{t("welcome.keepText")}</p>
        {fault.value && <Notice tone="fault" fault={fault.value} />}
      </div>
      {may("administrator") && (
        <button type="button" class="button button-main" disabled={busy.value || left === 0} onClick={() => void confirm()}>
          {t(busy.value ? "welcome.keeping" : "welcome.keep")}
        </button>
      )}
    </div>
  );
}
