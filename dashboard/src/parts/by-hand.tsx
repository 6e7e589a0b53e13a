// Allowing or blocking a name by hand: which name, for whom, how long; then what was done, and undo.

import { useSignal } from "@preact/signals";
import { api } from "../api";
import { namesUpTo, orderOf, overrideText, type HowLong, type Whom } from "../by-hand";
import { printable } from "../format";
import { t } from "../i18n";
import type { Action, Override, Why } from "../model";
import { may } from "../state";
import { useAct } from "./act";
import { Choice } from "./choice";
import { Notice } from "./notice";

const HOW_LONG: readonly HowLong[] = ["hour", "tomorrow", "always"];

interface Done {
  action: Action;
  held: Override;
}

/** `onChanged` is told after each change: the policy may say something else now. */
export function ByHand({ why, onChanged }: { why: Why; onChanged: () => void }) {
  const names = namesUpTo(why.host, why.site);
  const host = useSignal(why.host);
  const whom = useSignal<Whom>("client");
  const howLong = useSignal<HowLong>("hour");
  const done = useSignal<Done | null>(null);
  const { busy, fault, act } = useAct();
  const action: Action = why.action === "block" ? "pass" : "block";
  const word = action === "block" ? t("byHand.block") : t("byHand.allow");

  const change = async (made: () => Promise<Done | null>): Promise<void> => {
    await act(async () => {
      done.value = await made();
    });
    onChanged();
  };
  const order = (): Promise<void> =>
    change(async () => {
      const chosen = { host: host.value, whom: whom.value, howLong: howLong.value };
      return { action, held: await api.override(action, orderOf(chosen, why, new Date())) };
    });
  const undo = ({ action: done_, held }: Done): Promise<void> =>
    change(async () => {
      await api.endOverride(done_, held);
      return null;
    });

  // A top-level name is not for a click.
  if (!why.host.includes(".") || !may("operator")) return null;
  return (
    <section class="by-hand" aria-labelledby="by-hand-title">
      <h2 id="by-hand-title">{action === "block" ? t("byHand.blockTitle") : t("byHand.allowTitle")}</h2>
      {fault.value && <Notice tone="fault" fault={fault.value} />}
      {done.value ? (
        <Notice tone="good">
          <p class="by-hand-done">
            <span>{overrideText(done.value.action, done.value.held)}</span>
            <button type="button" class="button button-bare" disabled={busy.value} onClick={() => done.value && void undo(done.value)}>
              {t("byHand.undo")}
            </button>
          </p>
        </Notice>
      ) : (
        <div class="by-hand-form">
          <label class="field">
            <span class="field-name">{t("byHand.name")}</span>
            <select
              class="input input-mono"
              value={host.value}
              disabled={names.length === 1}
              onChange={(event) => {
                host.value = event.currentTarget.value;
              }}
            >
              {names.map((name) => (
                <option key={name} value={name}>
                  {printable(name)}
                </option>
              ))}
            </select>
          </label>
          <Choice
            label={t("byHand.forWhom")}
            name="by-hand-whom"
            value={whom.value}
            options={[
              { value: "client", text: t("byHand.thisClient") },
              { value: "profile", text: t("byHand.profile", { name: printable(why.profile) }) },
              { value: "all", text: t("byHand.everybody") },
            ]}
            onChoose={(value) => {
              whom.value = value;
            }}
          />
          <Choice
            label={t("byHand.howLong")}
            name="by-hand-long"
            value={howLong.value}
            options={HOW_LONG.map((value) => ({ value, text: t(`byHand.long.${value}`) }))}
            onChoose={(value) => {
              howLong.value = value;
            }}
          />
          <button type="button" class="button button-main" disabled={busy.value} onClick={() => void order()}>
            {word}
          </button>
        </div>
      )}
    </section>
  );
}
