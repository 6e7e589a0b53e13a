// A change tried on the requests of the last week before it is made: a button, and what it would do.

import { useSignal, type Signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { api } from "../api";
import { count, printable } from "../format";
import { t } from "../i18n";
import type { TriedChange, TriedName, TriedOutcome } from "../model";
import { may } from "../state";
import { sumText } from "../tried";
import { useAct, type Act } from "./act";
import { Notice } from "./notice";

/** Names that are shown before one asks for more. */
const FEW = 8;

/** What is tried, and what came of it. */
export interface Trial<Change = TriedChange> extends Pick<Act, "busy" | "fault"> {
  outcome: Signal<TriedOutcome | null>;
  run: (change: Change) => Promise<void>;
}

/** A trial of one change; `changed` is what it is of: what was found for another is forgotten. */
export function useTrial(changed: unknown): Trial {
  return useTrialBy(changed, api.tryChange);
}

/** The same of a change of another kind, which somebody else judges. */
export function useTrialBy<Change>(changed: unknown, judge: (change: Change) => Promise<TriedOutcome>): Trial<Change> {
  const outcome = useSignal<TriedOutcome | null>(null);
  const { busy, fault, act } = useAct();
  const forget = (): void => {
    outcome.value = null;
    fault.value = null;
  };
  useEffect(forget, [changed]);
  const run = async (change: Change): Promise<void> => {
    forget();
    await act(async () => {
      outcome.value = await judge(change);
    });
  };
  return { outcome, fault, busy, run };
}

interface TryProps<Change> {
  trial: Trial<Change>;
  change: () => Change;
  disabled?: boolean;
}

export function TryButton<Change>({ trial, change, disabled }: TryProps<Change>) {
  if (!may("operator")) return null;
  return (
    <button
      type="button"
      class="button"
      disabled={trial.busy.value || disabled === true}
      title={t("tried.title")}
      onClick={() => void trial.run(change())}
    >
      {trial.busy.value ? t("tried.trying") : t("tried.try")}
    </button>
  );
}

/** What a trial has found. */
export function TrialOutcome({ trial }: { trial: Pick<Trial, "outcome" | "fault"> }) {
  const { outcome, fault } = trial;
  if (fault.value) return <Notice tone="fault" fault={fault.value} />;
  const found = outcome.value;
  if (!found) return null;
  return (
    <section class="tried" aria-label={t("tried.wouldChange")}>
      <p class="tried-sum" role="status">
        {sumText(found)}
      </p>
      {found.names.length > 0 && <Names names={found.names} more={found.more} />}
    </section>
  );
}

/** Which rule it was, and for whom; of many clients only the first are told. */
function whyText({ rule, clients }: TriedName): string {
  const all = `${clients.map(printable).join(", ")}${clients.length >= 5 ? " …" : ""}`;
  return rule ? t("tried.why", { rule: printable(rule), clients: all }) : t("tried.whyFor", { clients: all });
}

function Names({ names, more }: { names: TriedName[]; more: number }) {
  const all = useSignal(false);
  const shown = all.value ? names : names.slice(0, FEW);
  return (
    <>
      <ul class="tried-names">
        {shown.map((one) => (
          <li key={`${one.action} ${one.name}`}>
            <span class={`badge badge-${one.action}`}>{one.action === "block" ? t("why.blocked") : t("tried.passes")}</span>
            <b class="tried-name">{printable(one.name)}</b>
            <span class="tried-count" aria-label={t("units.requests", { count: one.requests })}>
              {count(one.requests)}
            </span>
            <span class="tried-why quiet">
              {whyText(one)}
            </span>
          </li>
        ))}
      </ul>
      {!all.value && names.length > FEW && (
        <button
          type="button"
          class="button button-bare"
          onClick={() => {
            all.value = true;
          }}
        >
          {t("tried.showMore", { count: names.length - FEW })}
        </button>
      )}
      {all.value && more > 0 && <p class="quiet">{t("tried.andMore", { count: more })}</p>}
    </>
  );
}
