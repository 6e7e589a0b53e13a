// The lists: what is in force, added and removed, switched off, fetched anew; and own rules.

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { api } from "../api";
import { plural, printable } from "../format";
import type { List, ListUpdated } from "../model";
import { useAct } from "../parts/act";
import { AddList } from "../parts/add-list";
import { ListEntry } from "../parts/list-entry";
import { Empty, Notice } from "../parts/notice";
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
  if (!one) return `${name} is being fetched.`;
  switch (one.outcome) {
    case "changed":
      return `${name} was fetched anew.`;
    case "same":
      return `${name} is unchanged.`;
    case "failed":
      return `${name} could not be fetched: ${one.failure ?? "no reason was told"}.`;
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
    `${what} ${plural(reloaded.rules, "rule")} in force.`;

  const known = lists.data?.lists ?? [];
  return (
    <>
      <div class="view-head">
        <h1>Lists</h1>
      </div>
      <ReadOnly needs="operator" can="add lists, switch them off, and write rules" />
      {lists.fault && <Notice tone="fault" fault={lists.fault} />}
      {fault.value && <Notice tone="fault" fault={fault.value} />}
      {done.value && (
        <Notice tone="good">
          <p>{printable(done.value)}</p>
        </Notice>
      )}
      <div class={may("operator") ? "columns columns-2" : "stack"}>
        <div class="stack">
          <Panel id="in-force-title" title="In force">
            {lists.data && known.length === 0 && (
              <Empty title="No list, so nothing is blocked">{may("operator") && "Add one beside this, or write rules of your own."}</Empty>
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
                          api.switchList(list.name, list.off).then(told(`${list.name} is ${list.off ? "on" : "off"}.`)),
                        )
                      }
                      onFetch={() => act(() => api.fetchList(list.name).then((it) => fetchedText(list.name, it)))}
                      onRemove={() => act(() => api.removeList(list.name).then(told(`${list.name} is removed.`)))}
                    />
                  )}
                />
              ))}
            </ul>
          </Panel>
          <OwnRulesPanel onSaved={lists.refresh} />
        </div>
        {may("operator") && (
          <div class="stack">
            <AddList
              lists={known}
              busy={busy.value}
              onAdd={(list) => act(() => api.addList(list).then(told(`${list.name} is added.`)))}
            />
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
  const named = (what: string): string => `${what} ${list.name}`;
  return (
    <>
      <button
        type="button"
        class="button button-bare"
        disabled={busy}
        aria-label={named(list.off ? "Switch on" : "Switch off")}
        onClick={() => void onSwitch()}
      >
        {list.off ? "Switch on" : "Switch off"}
      </button>
      <button
        type="button"
        class="button button-bare"
        disabled={busy || trial.busy.value}
        aria-label={`What if ${list.name} were ${list.off ? "on" : "off"}?`}
        onClick={() => void trial.run({ switch_list: { name: list.name, on: list.off } })}
      >
        {trial.busy.value ? "Trying …" : `What if ${list.off ? "on" : "off"}?`}
      </button>
      {list.subscription && (
        <button type="button" class="button button-bare" disabled={busy} aria-label={named("Fetch")} onClick={() => void onFetch()}>
          Fetch now
        </button>
      )}
      {list.made && list.name !== "own-rules" && (
        <button type="button" class="button button-bare" disabled={busy} aria-label={named("Remove")} onClick={() => void onRemove()}>
          Remove
        </button>
      )}
    </>
  );
}
