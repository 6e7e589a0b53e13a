// Deletes every row of the log, after it was asked back. For administrators.

import { api } from "../api";
import { t } from "../i18n";
import { may } from "../state";
import { useAct } from "./act";
import { AskBack } from "./ask-back";
import { Notice } from "./notice";

export function ClearLog({ onCleared }: { onCleared: () => void }) {
  const { busy, fault, act } = useAct();
  if (!may("administrator")) return null;
  const clear = async (): Promise<void> => {
    if (await act(api.clearLog)) onCleared();
  };
  return (
    <>
      <AskBack
        text={t("log.clearLog")}
        question={t("log.clearLogAsk")}
        yes={t("log.clearLogYes")}
        disabled={busy.value}
        onYes={() => void clear()}
      />
      {fault.value && <Notice tone="fault" fault={fault.value} />}
    </>
  );
}
