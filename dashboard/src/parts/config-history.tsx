// What was changed in the configuration, by whom and why: each with its texts, and a way back.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { api, faultOf, type Fault } from "../api";
import type { ChangeDetails, ChangeInfo } from "../config-model";
import { applied, loadDesk, nameOf } from "../desk";
import { moment, printable } from "../format";
import { t } from "../i18n";
import { today } from "../state";
import { CodeDiff } from "./code";
import { Empty, Notice } from "./notice";

function author(change: ChangeInfo): string {
  if (change.who === "outside") return t("config.byOther");
  const who = change.who === "admin.token" ? t("config.withToken") : t("config.by", { who: printable(change.who) });
  return change.from === null ? who : t("config.byFrom", { who, from: change.from });
}

export function ConfigHistory({ canRestore }: { canRestore: boolean }) {
  const changes = useSignal<ChangeInfo[] | null>(null);
  const trouble = useSignal<string | null>(null);
  const open = useSignal<ChangeDetails | null>(null);
  const fault = useSignal<Fault | null>(null);
  const busy = useSignal(false);
  const act = async (what: () => Promise<void>): Promise<void> => {
    busy.value = true;
    try {
      await what();
      fault.value = null;
    } catch (thrown) {
      fault.value = faultOf(thrown);
    }
    busy.value = false;
  };
  const load = async (): Promise<void> => {
    const list = await api.configHistory();
    changes.value = list.changes;
    trouble.value = list.trouble;
  };
  useEffect(() => void act(load), []);
  const show = (number: number): void => {
    if (open.value?.number === number) open.value = null;
    else void act(async () => void (open.value = await api.configChange(number)));
  };
  const restore = (number: number, why: string, confirm: boolean): Promise<void> =>
    act(async () => {
      applied.value = await api.configRestore(number, why, confirm);
      open.value = null;
      await loadDesk();
      await load();
    });
  return (
    <div class="history">
      {fault.value && (
        <Notice tone="fault" fault={fault.value}>
          {(fault.value.files.asks ?? []).map((ask) => (
            <p key={ask}>{ask}</p>
          ))}
        </Notice>
      )}
      {trouble.value && (
        <Notice tone="fault">
          <p>{trouble.value}</p>
        </Notice>
      )}
      {changes.value?.length === 0 && (
        <Empty title={t("config.noChange")}>{t("config.noChangeText")}</Empty>
      )}
      <ol class="changes">
        {(changes.value ?? []).map((change) => (
          <li key={change.number} class="change">
            <button type="button" class="change-head" aria-expanded={open.value?.number === change.number} onClick={() => show(change.number)}>
              <span class="change-number">{change.number}</span>
              <span class="change-why">{change.why === "" ? <span class="quiet">{t("config.noReason")}</span> : printable(change.why)}</span>
              <span class="change-facts">
                {moment(change.at, today.value)} {author(change)}: {change.files.map(nameOf).join(", ")}
              </span>
            </button>
            {open.value?.number === change.number && (
              <div class="change-body">
                {open.value.texts.map((text) => (
                  <div key={text.path} class="review-file">
                    <h3>
                      <code>{text.path}</code>
                    </h3>
                    <CodeDiff before={text.before ?? ""} after={text.after ?? ""} label={t("config.changeOf", { number: String(change.number), file: text.path })} />
                  </div>
                ))}
                {canRestore && <Restore number={change.number} latest={changes.value?.[0]?.number ?? 0} busy={busy.value} asks={(fault.value?.files.asks ?? []).length > 0} onRestore={restore} />}
              </div>
            )}
          </li>
        ))}
      </ol>
    </div>
  );
}

function Restore(props: {
  number: number;
  latest: number;
  busy: boolean;
  asks: boolean;
  onRestore: (number: number, why: string, confirm: boolean) => Promise<void>;
}) {
  const why = useSignal("");
  const { number, latest } = props;

  return (
    <form
      class="restore"
      onSubmit={(event) => {
        event.preventDefault();
        void props.onRestore(number, why.value, props.asks);
      }}
    >
      <label class="field">
        <span class="field-name">{t(latest > number ? "config.goBackWhyLater" : "config.goBackWhy", { number: String(number) })}</span>
        <input
          class="input"
          maxLength={400}
          value={why.value}
          onInput={(event) => {
            why.value = event.currentTarget.value;
          }}
        />
      </label>
      <button type="submit" class="button" disabled={props.busy}>
        {props.busy ? t("config.goingBack") : props.asks ? t("config.yesRollBack") : t("config.rollBack")}
      </button>
    </form>
  );
}
