// The fields of the forms: a list of addresses, records of local names, a choice of words.

import { useSignal } from "@preact/signals";
import type { Json, SettingEdit, WrittenValue } from "../config-model";
import { written } from "../desk";
import { t } from "../i18n";
import { Icon } from "./icons";
import { Sentence } from "./sentence";

/** The settings that forms show, and how they are changed. */
export interface FormDesk {
  value: (path: string) => WrittenValue | undefined;
  change: (changes: SettingEdit[]) => Promise<void>;
  busy: boolean;
  readOnly: boolean;
}

/** How settings write a name with all below it. */
const NAMES_BELOW = "||NAME^";

const TYPES = ["A", "AAAA", "CNAME", "MX", "TXT", "SRV", "PTR"];

function textOf(item: Json, inside: string | undefined): string {
  if (typeof item === "string") return item;
  if (inside !== undefined && typeof item === "object" && item !== null && !Array.isArray(item)) return String(item[inside] ?? "");
  return JSON.stringify(item);
}

/** Keys of an item that is a mapping, besides the one that is shown. */
function more(item: Json, inside: string | undefined): string {
  if (typeof item !== "object" || item === null || Array.isArray(item)) return "";
  return Object.keys(item)
    .filter((key) => key !== inside)
    .join(", ");
}

/** Removes an item; with the last one the setting itself. */
function remove(desk: FormDesk, path: string, items: Json[], at: number): void {
  void desk.change([{ path: items.length === 1 ? path : `${path}[${at}]`, value: null }]);
}

function RemoveButton({ label, disabled, onClick }: { label: string; disabled: boolean; onClick: () => void }) {
  return (
    <button type="button" class="button button-bare button-square" aria-label={label} disabled={disabled} onClick={onClick}>
      <Icon name="close" />
    </button>
  );
}

interface ListProps {
  desk: FormDesk;
  path: string;
  label: string;
  /** One of them, in a word. */
  item: string;
  example: string;
  items: Json[];
  /** The key that is shown of a mapping. */
  inside?: string;
  /** The last one stays. */
  isNeeded?: boolean;
  /** What holds where nothing is set. */
  unset?: string;
}

export function ListField({ desk, path, label, item, example, items, inside, isNeeded, unset }: ListProps) {
  const added = useSignal("");
  const off = desk.busy || desk.readOnly;
  const set = (at: number, text: string): void => {
    const value = text.trim();
    const now = items[at] ?? "";
    if (value === "" || value === textOf(now, inside)) return;
    const below = typeof now === "string" || inside === undefined ? "" : `.${inside}`;
    void desk.change([{ path: `${path}[${at}]${below}`, value: written(value) }]);
  };
  const swap = (at: number): void => {
    const [one, two] = [items[at - 1], items[at]].map((it) => (typeof it === "string" ? written(it) : JSON.stringify(it)));
    if (one === undefined || two === undefined) return;
    void desk.change([
      { path: `${path}[${at - 1}]`, value: two },
      { path: `${path}[${at}]`, value: one },
    ]);
  };
  const add = (): void => {
    const value = added.value.trim();
    if (value === "") return;
    added.value = "";
    void desk.change([{ path: `${path}[${items.length}]`, value: written(value) }]);
  };
  return (
    <fieldset class="field">
      <legend class="field-name">{label}</legend>
      {items.length === 0 && unset && <p class="field-hint">{unset}</p>}
      <ul class="rows">
        {items.map((one, at) => (
          <li key={`${at} ${textOf(one, inside)}`} class="row">
            <input
              class="input input-mono"
              aria-label={t("config.itemOf", { label, item, n: at + 1 })}
              spellcheck={false}
              disabled={off}
              value={textOf(one, inside)}
              onChange={(event) => set(at, event.currentTarget.value)}
            />
            {more(one, inside) !== "" && <span class="field-hint">{t("config.with", { keys: more(one, inside) })}</span>}
            <button type="button" class="button button-bare button-square" aria-label={t("config.moveUp", { item, n: at + 1 })} disabled={off || at === 0} onClick={() => swap(at)}>
              <Icon name="up" />
            </button>
            <RemoveButton label={t("config.removeItem", { item, n: at + 1 })} disabled={off || (isNeeded === true && items.length === 1)} onClick={() => remove(desk, path, items, at)} />
          </li>
        ))}
        {!desk.readOnly && (
          <li class="row">
            <input
              class="input input-mono"
              aria-label={t("config.another", { label, item })}
              placeholder={example}
              spellcheck={false}
              disabled={off}
              value={added.value}
              onInput={(event) => {
                added.value = event.currentTarget.value;
              }}
              onKeyDown={(event) => {
                if (event.key === "Enter") add();
              }}
            />
            <button type="button" class="button" aria-label={t("config.addTo", { item, label })} disabled={off || added.value.trim() === ""} onClick={add}>
              <Icon name="plus" />
              {t("words.add")}
            </button>
          </li>
        )}
      </ul>
    </fieldset>
  );
}

/** One text. */
export function TextField({ desk, path, label, value }: { desk: FormDesk; path: string; label: string; value: string }) {
  return (
    <label class="field">
      <span class="field-name">{label}</span>
      <input
        class="input input-mono"
        spellcheck={false}
        disabled={desk.busy || desk.readOnly}
        value={value}
        onChange={(event) => {
          const text = event.currentTarget.value.trim();
          if (text !== "" && text !== value) void desk.change([{ path, value: written(text) }]);
        }}
      />
    </label>
  );
}

/** Mappings of two texts. */
export function PairField(props: {
  desk: FormDesk;
  path: string;
  label: string;
  item: string;
  keys: [string, string];
  examples: [string, string];
  items: Json[];
}) {
  const { desk, path, label, item, keys, examples, items } = props;
  const first = useSignal("");
  const second = useSignal("");
  const off = desk.busy || desk.readOnly;
  const add = (): void => {
    const [one, two] = [first.value.trim(), second.value.trim()];
    if (one === "" || two === "") return;
    first.value = "";
    second.value = "";
    void desk.change([{ path: `${path}[${items.length}]`, value: `{ ${keys[0]}: ${written(one)}, ${keys[1]}: ${written(two)} }` }]);
  };
  return (
    <fieldset class="field">
      <legend class="field-name">{label}</legend>
      <ul class="rows">
        {items.map((one, at) => (
          <li key={`${at} ${textOf(one, keys[0])}`} class="row row-pair">
            {keys.map((key) => (
              <input
                key={key}
                class="input input-mono"
                aria-label={`${key} ${at + 1}`}
                spellcheck={false}
                disabled={off}
                value={textOf(one, key)}
                onChange={(event) => {
                  const text = event.currentTarget.value.trim();
                  if (text !== "") void desk.change([{ path: `${path}[${at}].${key}`, value: written(text) }]);
                }}
              />
            ))}
            <RemoveButton label={t("config.removeItem", { item, n: at + 1 })} disabled={off} onClick={() => remove(desk, path, items, at)} />
          </li>
        ))}
        {!desk.readOnly && (
          <li class="row row-pair">
            {([first, second] as const).map((typed, at) => (
              <input
                key={keys[at]}
                class="input input-mono"
                aria-label={t("config.keyOfAnother", { key: keys[at] ?? "", item })}
                placeholder={examples[at]}
                spellcheck={false}
                disabled={off}
                value={typed.value}
                onInput={(event) => {
                  typed.value = event.currentTarget.value;
                }}
              />
            ))}
            <button type="button" class="button button-square" aria-label={t("config.addThe", { item })} disabled={off || first.value.trim() === "" || second.value.trim() === ""} onClick={add}>
              <Icon name="plus" />
            </button>
          </li>
        )}
      </ul>
    </fieldset>
  );
}

/** Records as `NAME TYPE VALUE`. */
export function RecordField({ desk, path, items }: { desk: FormDesk; path: string; items: Json[] }) {
  const name = useSignal("");
  const type = useSignal("A");
  const value = useSignal("");
  const off = desk.busy || desk.readOnly;
  const put = (at: number, words: string[]): void => {
    const text = words.map((word) => word.trim()).join(" ");
    if (text === items[at] || words.some((word) => word.trim() === "")) return;
    void desk.change([{ path: `${path}[${at}]`, value: JSON.stringify(text) }]);
  };
  const add = (): void => {
    if (name.value.trim() === "" || value.value.trim() === "") return;
    put(items.length, [name.value, type.value, value.value]);
    name.value = "";
    value.value = "";
  };
  const onEnter = (event: KeyboardEvent): void => {
    if (event.key === "Enter") add();
  };
  return (
    <fieldset class="field">
      <legend class="field-name">
        <Sentence of="config.records" values={{ names: <code>{NAMES_BELOW}</code> }} />
      </legend>
      <ul class="rows">
        {items.map((one, at) => {
          const [host = "", kind = "", ...rest] = String(one).split(/\s+/);
          const words = [host, kind, rest.join(" ")];
          const set = (n: number, text: string): void => put(at, words.with(n, text));
          return (
            <li key={`${at} ${String(one)}`} class="row row-record">
              <input class="input input-mono" aria-label={t("config.nameN", { n: at + 1 })} spellcheck={false} disabled={off} value={host} onChange={(event) => set(0, event.currentTarget.value)} />
              <TypeChoice label={t("config.typeN", { n: at + 1 })} value={kind.toUpperCase()} disabled={off} onChoose={(chosen) => set(1, chosen)} />
              <input class="input input-mono" aria-label={t("config.valueN", { n: at + 1 })} spellcheck={false} disabled={off} value={rest.join(" ")} onChange={(event) => set(2, event.currentTarget.value)} />
              <RemoveButton label={t("config.removeName", { name: host })} disabled={off} onClick={() => remove(desk, path, items, at)} />
            </li>
          );
        })}
        {!desk.readOnly && (
          <li class="row row-record">
            <input class="input input-mono" aria-label={t("config.newName")} placeholder="nas.lan" spellcheck={false} disabled={off} value={name.value} onKeyDown={onEnter} onInput={(event) => {
              name.value = event.currentTarget.value;
            }} />
            <TypeChoice label={t("config.newType")} value={type.value} disabled={off} onChoose={(chosen) => {
              type.value = chosen;
            }} />
            <input class="input input-mono" aria-label={t("config.newValue")} placeholder="192.168.1.5" spellcheck={false} disabled={off} value={value.value} onKeyDown={onEnter} onInput={(event) => {
              value.value = event.currentTarget.value;
            }} />
            <button type="button" class="button button-square" aria-label={t("config.addName")} disabled={off || name.value.trim() === "" || value.value.trim() === ""} onClick={add}>
              <Icon name="plus" />
            </button>
          </li>
        )}
      </ul>
    </fieldset>
  );
}

function TypeChoice(props: { label: string; value: string; disabled: boolean; onChoose: (type: string) => void }) {
  const known = TYPES.includes(props.value) ? TYPES : [props.value, ...TYPES];
  return (
    <select class="input" aria-label={props.label} disabled={props.disabled} value={props.value} onChange={(event) => props.onChoose(event.currentTarget.value)}>
      {known.map((one) => (
        <option key={one}>{one}</option>
      ))}
    </select>
  );
}

export function ChoiceField(props: {
  desk: FormDesk;
  path: string;
  label: string;
  /** The word that holds where nothing is set. */
  standard: string;
  choices: { value: string; text: string }[];
}) {
  const { desk, path, label, standard, choices } = props;
  const set = desk.value(path)?.value;
  const value = typeof set === "string" ? set : standard;
  const words = choices.find((one) => one.value === value)?.text ?? "";
  return (
    <label class="field">
      <span class="field-name">{label}</span>
      <select
        class="input"
        disabled={desk.busy || desk.readOnly}
        value={value}
        onChange={(event) => void desk.change([{ path, value: event.currentTarget.value }])}
      >
        {choices.map((one) => (
          <option key={one.value} value={one.value}>
            {one.value === standard ? t("config.standard", { choice: one.value }) : one.value}
          </option>
        ))}
      </select>
      {words !== "" && <span class="field-hint">{words.replaceAll("`", "")}</span>}
    </label>
  );
}
