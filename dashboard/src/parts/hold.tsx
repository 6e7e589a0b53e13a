// Pausing protection for one client or profile, or cutting it off from the internet: for how
// long, then what holds, and the button that ends it.

import { api } from "../api";
import { overrideText } from "../by-hand";
import { holdOrder, type Held, type Hold, type HoldFor } from "../holds";
import { t } from "../i18n";
import type { Action } from "../model";
import { may } from "../state";
import { useAct } from "./act";
import { Icon, type IconName } from "./icons";
import { Notice } from "./notice";
import { Panel } from "./panel";

const HOLDS: { action: Action; icon: IconName; long: HoldFor[] }[] = [
  { action: "pass", icon: "pause", long: ["ten", "hour", "tomorrow", "always"] },
  { action: "block", icon: "offline", long: ["hour", "tomorrow", "always"] },
];

interface HoldPanelProps {
  who: Held;
  /** What holds of exactly these now. */
  holds: Hold[];
  /** What holds for it because of others: its profile. */
  above?: Hold[];
  onChanged: () => void;
}

export function HoldPanel({ who, holds, above = [], onChanged }: HoldPanelProps) {
  const { busy, fault, act } = useAct();
  const change = async (made: () => Promise<unknown>): Promise<void> => {
    await act(made);
    onChanged();
  };
  const isMine = may("operator");
  if (!isMine && holds.length + above.length === 0) return null;
  return (
    <Panel id="hold-title" title={t("holds.title")}>
      {fault.value && <Notice tone="fault" fault={fault.value} />}
      {above.map(({ action, held }) => (
        <Notice tone="land" key={`above ${action}`}>
          <p>{overrideText(action, held)}</p>
        </Notice>
      ))}
      {holds.map(({ action, held }) => (
        <Notice tone={action === "block" ? "land" : "good"} key={action}>
          <p class="by-hand-done">
            <span>{overrideText(action, held)}</span>
            {isMine && (
              <button type="button" class="button" disabled={busy.value} onClick={() => void change(() => api.endOverride(action, held))}>
                {action === "block" ? t("holds.giveBack") : t("overrides.protect")}
              </button>
            )}
          </p>
        </Notice>
      ))}
      {isMine && holds.length === 0 && (
        <div class="holds">
          {HOLDS.map((hold) => (
            <fieldset class="hold" key={hold.action}>
              <legend class="hold-name">
                <Icon name={hold.icon} />
                {t(`holds.names.${hold.action}`)}
                <span class="quiet">{t(`holds.does.${hold.action}`)}</span>
              </legend>
              <div class="hold-buttons">
                {hold.long.map((howLong) => (
                  <button
                    key={howLong}
                    type="button"
                    class="button"
                    disabled={busy.value}
                    aria-label={t("holds.forLong", { what: t(`holds.names.${hold.action}`), long: t(`byHand.long.${howLong}`) })}
                    onClick={() => void change(() => api.override(hold.action, holdOrder(who, howLong, new Date())))}
                  >
                    {t(`byHand.long.${howLong}`)}
                  </button>
                ))}
              </div>
            </fieldset>
          ))}
        </div>
      )}
    </Panel>
  );
}
