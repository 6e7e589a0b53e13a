// A list added: from the catalogue, by its URL, or as text.

import { useSignal } from "@preact/signals";
import { notYetThere, type KnownList } from "../catalogue";
import { t } from "../i18n";
import type { List, NewList } from "../model";
import { Choice } from "./choice";
import { Panel } from "./panel";
import { TrialOutcome, TryButton, useTrial } from "./tried";

const SOURCES = ["catalogue", "url", "rules"] as const;
type Source = (typeof SOURCES)[number];

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
      title={t("addList.title")}
      aside={
        <Choice
          label={t("addList.from")}
          name="list-source"
          value={source.value}
          options={SOURCES.map((value) => ({ value, text: t(`addList.sources.${value}`) }))}
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
  if (known.length === 0) return <p class="quiet">{t("addList.allThere")}</p>;
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
        <button type="button" class="button" disabled={busy} aria-label={t("addList.addNamed", { name: list.title })} onClick={() => void onAdd()}>
          {t("words.add")}
        </button>
      </div>
      <div class="entry-sub">
        <span>{t(list.about)}</span>
        <span>{t("addList.licence", { licence: list.licence ?? t("addList.ownLicence") })}</span>
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
        <span class="field-name">{t("words.name")}</span>
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
        <span class="field-name">{t("words.kind")}</span>
        <select
          class="input"
          value={kind.value}
          onChange={(event) => {
            kind.value = event.currentTarget.value === "allow" ? "allow" : "block";
          }}
        >
          <option value="block">{t("addList.blocks")}</option>
          <option value="allow">{t("addList.allows")}</option>
        </select>
      </label>
      <label class="field field-main">
        <span class="field-name">{source === "url" ? "URL" : t("addList.rules")}</span>
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
          {t("words.add")}
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
