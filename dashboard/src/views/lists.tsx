// The lists: what is in force, added and removed, switched off, fetched anew; and own rules.

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { api } from "../api";
import { printable } from "../format";
import { t } from "../i18n";
import type { List, ListUpdated } from "../model";
import { useAct } from "../parts/act";
import { AddList } from "../parts/add-list";
import { ListEntry } from "../parts/list-entry";
import { Empty, Notice } from "../parts/notice";
import { OverlapsPanel } from "../parts/overlaps";
import { OwnRulesPanel } from "../parts/own-rules";
import { Panel } from "../parts/panel";
import { ReadOnly } from "../parts/read-only";
import { TrialOutcome, useTrial, type Trial } from "../parts/tried";
import { usePolled } from "../poll";
import { may, refreshStatus } from "../state";

const LISTS_EVERY_MS = 10_000;

/** What became of fetching one list, in words. */
function fetchedText(name: string, updated: ListUpdated): string {
  const one = updated.lists.find((list) => list.name === name);
  if (!one) return t("lists.isFetching", { name });
  switch (one.outcome) {
    case "changed":
      return t("lists.wasFetched", { name });
    case "same":
      return t("lists.isSame", { name });
    case "failed":
      return t("lists.fetchFailed", { name, why: one.failure ?? t("lists.noReason") });
  }
}

export function ListsView() {
  const lists = usePolled("lists", LISTS_EVERY_MS, (signal) => api.lists(signal));
  const done = useSignal<string | null>(null);
  const { busy, fault, act: make } = useAct();

  /** Says whether it worked. */
  const act = async (change: () => Promise<string>): Promise<boolean> => {
    const worked = await make(async () => {
      done.value = await change();
    });
    if (!worked) done.value = null;
    lists.refresh();
    void refreshStatus();
    return worked;
  };
  const told = (what: string) => (reloaded: { rules: number }): string =>
    `${what} ${t("lists.rulesInForce", { count: reloaded.rules })}`;

  const known = lists.data?.lists ?? [];
  const overlaps = lists.data && <OverlapsPanel revision={known.map((list) => `${list.name} ${list.off} ${list.rules_names}`).join()} />;
  return (
    <>
      <div class="view-head">
        <h1>{t("lists.title")}</h1>
      </div>
      <ReadOnly needs="operator" can={t("lists.operatorCan")} />
      {lists.fault && <Notice tone="fault" fault={lists.fault} />}
      {fault.value && <Notice tone="fault" fault={fault.value} />}
      {done.value && (
        <Notice tone="good">
          <p>{printable(done.value)}</p>
        </Notice>
      )}
      <div class={may("operator") ? "columns columns-2" : "stack"}>
        <div class="stack">
          <Panel id="in-force-title" title={t("lists.inForce")}>
            {lists.data && known.length === 0 && (
              <Empty title={t("lists.none")}>{may("operator") && t("lists.noneBeside")}</Empty>
            )}
            <ul class="entries">
              {known.map((list) => (
                <TriedEntry
                  key={list.name}
                  list={list}
                  buttons={(trial) => (
                    <Buttons
                      list={list}
                      busy={busy.value}
                      trial={trial}
                      onSwitch={() =>
                        act(() =>
                          api.switchList(list.name, list.off).then(told(t(list.off ? "lists.isOn" : "lists.isOff", { name: list.name }))),
                        )
                      }
                      onFetch={() => act(() => api.fetchList(list.name).then((it) => fetchedText(list.name, it)))}
                      onRemove={() => act(() => api.removeList(list.name).then(told(t("lists.isRemoved", { name: list.name }))))}
                    />
                  )}
                />
              ))}
            </ul>
          </Panel>
          {!may("operator") && overlaps}
          <OwnRulesPanel onSaved={lists.refresh} />
        </div>
        {may("operator") && (
          <div class="stack">
            <AddList
              lists={known}
              busy={busy.value}
              onAdd={(list) => act(() => api.addList(list).then(told(t("lists.isAdded", { name: list.name }))))}
            />
            {overlaps}
          </div>
        )}
      </div>
    </>
  );
}

/** A list with its buttons, and what switching it off or on would have changed. */
function TriedEntry({ list, buttons }: { list: List; buttons: (trial: Trial) => ComponentChildren }) {
  const trial = useTrial(list.off);
  return (
    <ListEntry list={list}>
      {may("operator") && (
        <>
          {buttons(trial)}
          <TrialOutcome trial={trial} />
        </>
      )}
    </ListEntry>
  );
}

interface ButtonsProps {
  trial: Trial;
  list: List;
  busy: boolean;
  onSwitch: () => Promise<boolean>;
  onFetch: () => Promise<boolean>;
  onRemove: () => Promise<boolean>;
}

function Buttons({ trial, list, busy, onSwitch, onFetch, onRemove }: ButtonsProps) {
  const { name } = list;
  return (
    <>
      <button
        type="button"
        class="button button-bare"
        disabled={busy}
        aria-label={t(list.off ? "lists.switchOnOf" : "lists.switchOffOf", { name })}
        onClick={() => void onSwitch()}
      >
        {t(list.off ? "lists.switchOn" : "lists.switchOff")}
      </button>
      <button
        type="button"
        class="button button-bare"
        disabled={busy || trial.busy.value}
        aria-label={t(list.off ? "lists.whatIfOnOf" : "lists.whatIfOffOf", { name })}
        onClick={() => void trial.run({ switch_list: { name: list.name, on: list.off } })}
      >
        {t(trial.busy.value ? "lists.trying" : list.off ? "lists.whatIfOn" : "lists.whatIfOff")}
      </button>
      {list.subscription && (
        <button type="button" class="button button-bare" disabled={busy} aria-label={t("lists.fetchOf", { name })} onClick={() => void onFetch()}>
          {t("lists.fetchNow")}
        </button>
      )}
      {list.made && list.name !== "own-rules" && (
        <button type="button" class="button button-bare" disabled={busy} aria-label={t("lists.removeOf", { name })} onClick={() => void onRemove()}>
          {t("lists.remove")}
        </button>
      )}
    </>
  );
}
