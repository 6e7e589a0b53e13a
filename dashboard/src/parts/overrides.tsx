// What is allowed or blocked by hand, with a button that ends it. Shown where there is any.

import { useSignal } from "@preact/signals";
import { api, faultOf, type Fault } from "../api";
import { EVERY_HOST, hostText, whomText } from "../by-hand";
import { moment } from "../format";
import { t } from "../i18n";
import type { Action, Override } from "../model";
import { may, today } from "../state";
import { Notice } from "./notice";
import { Panel } from "./panel";

function endText(action: Action, host: string): string {
  if (action === "block") return t("overrides.unblock");
  return host === EVERY_HOST ? t("overrides.protect") : t("overrides.blockAgain");
}

export function Overrides(props: { allows: Override[]; blocks: Override[]; onChanged: () => void }) {
  const fault = useSignal<Fault | null>(null);
  const end = async (action: Action, held: Override): Promise<void> => {
    try {
      await api.endOverride(action, held);
      fault.value = null;
    } catch (thrown) {
      fault.value = faultOf(thrown);
    }
    props.onChanged();
  };
  const rows = [
    ...props.allows.map((held) => ({ action: "pass" as const, held })),
    ...props.blocks.map((held) => ({ action: "block" as const, held })),
  ];
  return (
    <Panel id="overrides-title" title={t("overrides.title")}>
      {fault.value && <Notice tone="fault" fault={fault.value} />}
      <ul class="entries">
        {rows.map(({ action, held }) => (
          <li class="entry" key={`${action} ${held.host} ${held.client} ${held.profile}`}>
            <div class="entry-main">
              <span class="entry-name">{hostText(held.host)}</span>
              {may("operator") && (
                <button type="button" class="button button-bare" onClick={() => void end(action, held)}>
                  {endText(action, held.host)}
                </button>
              )}
            </div>
            <div class="entry-sub">
              <span class={action === "block" ? "tag tag-block" : "tag"}>{action === "block" ? t("overrides.blocked") : t("overrides.allowed")}</span>
              <span>{whomText(held)}</span>
              <span>{held.until === null ? t("byHand.untilTakenBack") : t("byHand.until", { at: moment(held.until, today.value) })}</span>
            </div>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
