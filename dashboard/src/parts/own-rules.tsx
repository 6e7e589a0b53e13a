// Own rules in an editor: looked at while they are typed, saved as a whole, and never over somebody
// else's change.

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { api, faultOf, type Fault } from "../api";
import { printable } from "../format";
import { t } from "../i18n";
import type { List, OwnRules, TriedRule } from "../model";
import { may } from "../state";
import { SkippedLines } from "./list-entry";
import { Notice } from "./notice";
import { Panel } from "./panel";
import { Sentence } from "./sentence";
import { TrialOutcome, TryButton, useTrial } from "./tried";

/** Typing settles for this long before the rules are looked at. */
const TYPING_MS = 400;
/** Lines whose effect is shown. */
const LINES_SHOWN = 20;

export function OwnRulesPanel({ onSaved }: { onSaved: () => void }) {
  const saved = useSignal<OwnRules | null>(null);
  const text = useSignal("");
  const looked = useSignal<List | null>(null);
  const busy = useSignal(false);
  const isSaved = useSignal(false);
  const fault = useSignal<Fault | null>(null);
  const trial = useTrial(text.value);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);

  const load = async (): Promise<void> => {
    try {
      const rules = await api.ownRules();
      saved.value = rules;
      text.value = rules.text;
      looked.value = rules.text === "" || !may("operator") ? null : await api.checkRules(rules.text);
      fault.value = null;
    } catch (thrown) {
      fault.value = faultOf(thrown);
    }
  };
  useEffect(() => {
    void load();
    return () => clearTimeout(timer.current);
  }, []);

  const type = (value: string): void => {
    text.value = value;
    isSaved.value = false;
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      void api.checkRules(value).then(
        (list) => {
          if (text.value === value) looked.value = list;
        },
        (thrown: unknown) => {
          fault.value = faultOf(thrown);
        },
      );
    }, TYPING_MS);
  };
  const save = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (!saved.value) return;
    busy.value = true;
    try {
      await api.setOwnRules({ text: text.value, revision: saved.value.revision });
      saved.value = await api.ownRules();
      fault.value = null;
      isSaved.value = true;
      onSaved();
    } catch (thrown) {
      fault.value = faultOf(thrown);
    }
    busy.value = false;
  };

  const changed = saved.value !== null && text.value !== saved.value.text;
  return (
    <Panel id="own-rules-title" title={t("ownRules.title")}>
      <form class="own-rules" onSubmit={(event) => void save(event)}>
        {fault.value && <Notice tone="fault" fault={fault.value} />}
        {isSaved.value && (
          <Notice tone="good">
            <p>{t("ownRules.saved")}</p>
          </Notice>
        )}
        <label class="field">
          <span class="field-name">
            <Sentence
              of="ownRules.hint"
              values={{ block: <code>||ads.example^</code>, allow: <code>@@||shop.example^</code>, client: <code>||game.example^$client=192.168.1.70</code> }}
            />
          </span>
          <textarea
            class="input input-mono rules-text"
            rows={10}
            spellcheck={false}
            disabled={saved.value === null}
            readOnly={!may("operator")}
            value={text.value}
            onInput={(event) => type(event.currentTarget.value)}
          />
        </label>
        <div class="own-rules-foot">
          {may("operator") && (
            <button type="submit" class="button button-main" disabled={busy.value || !changed}>
              {busy.value ? t("words.saving") : t("words.save")}
            </button>
          )}
          {changed && <TryButton trial={trial} change={() => ({ own_rules: text.value })} disabled={busy.value} />}
          {changed && (
            <button type="button" class="button button-bare" onClick={() => void load()}>
              {t("words.discard")}
            </button>
          )}
          <span class="quiet" role="status">
            {looked.value && t("units.rules", { count: looked.value.rules_names + looked.value.rules_urls })}
          </span>
        </div>
        {looked.value && looked.value.skipped > 0 && <SkippedLines list={looked.value} />}
        <TrialOutcome trial={trial} />
        {trial.outcome.value && <LineEffects rules={trial.outcome.value.rules} />}
      </form>
    </Panel>
  );
}

/** What each line would have done, those that did most first. */
function LineEffects({ rules }: { rules: TriedRule[] }) {
  const own = rules.filter((rule) => rule.list === "own-rules");
  if (own.length === 0) return null;
  return (
    <ul class="rule-effects" aria-label={t("ownRules.effects")}>
      {own.slice(0, LINES_SHOWN).map((rule) => (
        <li key={rule.line}>
          <Sentence
            of={rule.action === "block" ? "ownRules.blocked" : "ownRules.passed"}
            values={{ line: String(rule.line), rule: <code>{printable(rule.text)}</code>, count: rule.requests }}
          />
        </li>
      ))}
    </ul>
  );
}
