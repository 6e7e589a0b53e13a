// A list added: from the catalogue, by its URL, or as text.

import { useSignal } from "@preact/signals";
import { notYetThere, type KnownList } from "../catalogue";
import type { List, NewList } from "../model";
import { Choice } from "./choice";
import { Panel } from "./panel";
import { TrialOutcome, TryButton, useTrial } from "./tried";

const SOURCES = [
  { value: "catalogue", text: "Known" },
  { value: "url", text: "By URL" },
  { value: "rules", text: "As text" },
] as const;
type Source = (typeof SOURCES)[number]["value"];

interface AddListProps {
  lists: List[];
  busy: boolean;
  onAdd: (list: NewList) => Promise<boolean>;
}

export function AddList({ lists, busy, onAdd }: AddListProps) {
  const source = useSignal<Source>("catalogue");
  return (
    <Panel
      id="add-list-title"
      title="Add a list"
      aside={
        <Choice
          label="Where it comes from"
          name="list-source"
          value={source.value}
          options={SOURCES}
          onChoose={(value) => {
            source.value = value;
          }}
        />
      }
    >
      {source.value === "catalogue" ? (
        <Catalogue lists={lists} busy={busy} onAdd={onAdd} />
      ) : (
        <ByHand key={source.value} source={source.value} busy={busy} onAdd={onAdd} />
      )}
    </Panel>
  );
}

function Catalogue({ lists, busy, onAdd }: AddListProps) {
  const known = notYetThere(lists.map((list) => list.subscription?.url));
  if (known.length === 0) return <p class="quiet">All of them are there.</p>;
  return (
    <ul class="entries">
      {known.map((list) => (
        <KnownEntry key={list.name} list={list} busy={busy} onAdd={() => onAdd({ name: list.name, url: list.url, kind: "block" })} />
      ))}
    </ul>
  );
}

function KnownEntry({ list, busy, onAdd }: { list: KnownList; busy: boolean; onAdd: () => Promise<boolean> }) {
  return (
    <li class="entry">
      <div class="entry-main">
        <span class="entry-name">{list.title}</span>
        <button type="button" class="button" disabled={busy} aria-label={`Add ${list.title}`} onClick={() => void onAdd()}>
          Add
        </button>
      </div>
      <div class="entry-sub">
        <span>{list.about}</span>
        <span>Licence: {list.licence}</span>
      </div>
    </li>
  );
}

function ByHand({ source, busy, onAdd }: { source: "url" | "rules"; busy: boolean; onAdd: AddListProps["onAdd"] }) {
  const name = useSignal("");
  const text = useSignal("");
  const kind = useSignal<"block" | "allow">("block");
  const trial = useTrial(`${kind.value} ${text.value}`);
  const tried = () => ({ add_list: { name: name.value.trim(), kind: kind.value, rules: text.value } });
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    const is = source === "url" ? { url: text.value.trim() } : { rules: text.value };
    const done = await onAdd({ name: name.value.trim(), kind: kind.value, ...is });
    if (done) {
      name.value = "";
      text.value = "";
    }
  };
  return (
    <form class="add-list" onSubmit={(event) => void submit(event)}>
      <label class="field">
        <span class="field-name">Name</span>
        <input
          class="input"
          type="text"
          required
          maxLength={100}
          autocapitalize="none"
          autocomplete="off"
          value={name.value}
          onInput={(event) => {
            name.value = event.currentTarget.value;
          }}
        />
      </label>
      <label class="field">
        <span class="field-name">Kind</span>
        <select
          class="input"
          value={kind.value}
          onChange={(event) => {
            kind.value = event.currentTarget.value === "allow" ? "allow" : "block";
          }}
        >
          <option value="block">blocks</option>
          <option value="allow">allows</option>
        </select>
      </label>
      <label class="field field-main">
        <span class="field-name">{source === "url" ? "URL" : "Rules, one a line"}</span>
        {source === "url" ? (
          <input
            class="input input-mono"
            type="url"
            required
            placeholder="https://lists.example/ads.txt"
            autocapitalize="none"
            autocomplete="off"
            value={text.value}
            onInput={(event) => {
              text.value = event.currentTarget.value;
            }}
          />
        ) : (
          <textarea
            class="input input-mono rules-text"
            rows={6}
            required
            spellcheck={false}
            placeholder={"||ads.example^\n0.0.0.0 tracker.example"}
            value={text.value}
            onInput={(event) => {
              text.value = event.currentTarget.value;
            }}
          />
        )}
      </label>
      <div class="foot">
        <button type="submit" class="button button-main" disabled={busy}>
          Add
        </button>
        {source === "rules" && (
          <TryButton trial={trial} change={tried} disabled={busy || name.value.trim() === "" || text.value.trim() === ""} />
        )}
      </div>
      <div class="field-main">
        <TrialOutcome trial={trial} />
      </div>
    </form>
  );
}
