// What the log is narrowed to: the fields that most use, chips for what else is asked for, and the
// fields behind them. All of it stands in the page's address, and nowhere else.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { api } from "../api";
import { clientName } from "../clients";
import { doorName, KINDS } from "../explain";
import { micros, moment, printable } from "../format";
import { t } from "../i18n";
import { chipsOf, localTime, LOG_SPANS, logSpan, logWords, microsTyped, millisShown, msOf, NOTHING_ASKED, without, type ChipWord, type LogWord } from "../log-query";
import { ROW_SOURCES, sourceName } from "../row-sources";
import { DOORS, type RequestsQuery } from "../model";
import { amend, route, today } from "../state";
import { Icon } from "./icons";
import { SearchField } from "./search-field";

const STATUSES = ["2xx", "3xx", "4xx", "5xx", "NOERROR", "NXDOMAIN", "SERVFAIL", "REFUSED"];

const MORE = "log-more-filters";

/** What took a filter back is gone: the focus goes to what stays. */
function takeBack(query: RequestsQuery): void {
  document.getElementById(MORE)?.focus({ preventScroll: true });
  ask(query);
}

/** Whose rows are shown stays as it is. */
const ask = (query: RequestsQuery): void => amend({ ...logWords(query), of: route.value.words["of"] ?? "" });

export function LogFilters({ query }: { query: RequestsQuery }) {
  const open = useSignal(false);
  const chips = chipsOf(query);
  const isNarrow = Object.keys(logWords(query)).length > 0;
  return (
    <search class="log-filters">
      <div class="filters">
        <SearchField
          label={t("log.find")}
          placeholder={t("log.findShort")}
          value={query.filter}
          onFind={(filter) => ask({ ...query, filter })}
        />
        <label>
          <span class="unseen">{t("log.door")}</span>
          <select class="input" value={query.door} onChange={(event) => ask({ ...query, door: event.currentTarget.value })}>
            <option value="">{t("log.allDoors")}</option>
            {DOORS.map((door) => (
              <option key={door} value={door}>
                {doorName(door)}
              </option>
            ))}
          </select>
        </label>
        <label>
          <span class="unseen">{t("log.outcome")}</span>
          <select class="input" value={query.action} onChange={(event) => ask({ ...query, action: event.currentTarget.value })}>
            <option value="">{t("log.anyOutcome")}</option>
            <option value="block">{t("words.blocked")}</option>
            <option value="pass">{t("words.passed")}</option>
          </select>
        </label>
      </div>
      <div class="chips">
        {chips.map((chip) => (
          <Chip key={chip} chip={chip} query={query} />
        ))}
        <button
          type="button"
          id={MORE}
          class="button button-bare chips-more"
          aria-expanded={open.value}
          aria-controls="log-fields"
          onClick={() => {
            open.value = !open.value;
          }}
        >
          <Icon name={open.value ? "up" : "plus"} />
          {t(open.value ? "log.fewerFilters" : "log.moreFilters")}
        </button>
        {isNarrow && (
          <button type="button" class="button button-bare" aria-label={t("log.clearFilter")} onClick={() => takeBack({ ...query, ...NOTHING_ASKED })}>
            <Icon name="close" />
            {t("log.clear")}
          </button>
        )}
      </div>
      {open.value && <Fields query={query} />}
    </search>
  );
}

/** What a chip says. */
function chipText(chip: ChipWord, query: RequestsQuery): string {
  const when = (ms: string): string => moment(new Date(Number(ms)).toISOString(), today.value);
  const took = (us: string): string => micros(Number(us));
  const { from, to, slower_than_us: slower, faster_than_us: faster } = query;
  switch (chip) {
    case "time":
      return from && to ? t("log.chip.between", { from: when(from), to: when(to) }) : from ? t("log.chip.since", { from: when(from) }) : t("log.chip.until", { to: when(to) });
    case "took":
      return slower && faster
        ? t("log.chip.tookBetween", { from: took(slower), to: took(faster) })
        : slower
          ? t("log.chip.slower", { than: took(slower) })
          : t("log.chip.faster", { than: took(faster) });
    case "source":
      return t("log.chip.source", { what: sourceName(query.source) });
    case "client":
    case "name":
    case "kind":
    case "list":
    case "status":
      return t(`log.chip.${chip}`, { what: printable(query[chip]) });
  }
}

function Chip({ chip, query }: { chip: ChipWord; query: RequestsQuery }) {
  const text = chipText(chip, query);
  return (
    <button type="button" class="chip" aria-label={t("log.takeBack", { filter: text })} title={t("log.takeBack", { filter: text })} onClick={() => takeBack(without(query, chip))}>
      <span class="chip-text">{text}</span>
      <Icon name="close" />
    </button>
  );
}

interface Suggested {
  clients: { value: string; text: string }[];
  lists: string[];
}

/** What is known of clients and lists, looked up when the fields are opened. */
function useSuggested(): Suggested {
  const found = useSignal<Suggested>({ clients: [], lists: [] });
  useEffect(() => {
    const stop = new AbortController();
    const look = async (): Promise<void> => {
      const [{ clients }, { lists }, profiles] = await Promise.all([api.clients("7d", stop.signal), api.lists(stop.signal), api.profiles(stop.signal)]);
      found.value = {
        clients: clients.map((client) => ({ value: client.client, text: clientName(client, profiles.profiles) })),
        lists: lists.map((list) => list.name),
      };
    };
    // Without suggestions one types.
    look().catch(() => undefined);
    return () => stop.abort();
  }, [found]);
  return found.value;
}

function Fields({ query }: { query: RequestsQuery }) {
  const { clients, lists } = useSuggested();
  const set = (word: LogWord, value: string): void => ask({ ...query, [word]: value.trim() });
  return (
    <div class="panel log-fields" id="log-fields">
      <Typed name={t("log.field.client")} value={query.client} placeholder="192.168.1.7" options={clients} onSet={(text) => set("client", text)} />
      <Typed name={t("log.field.name")} value={query.name} placeholder="example.org" onSet={(text) => set("name", text)} />
      <Chosen name={t("log.field.list")} value={query.list} any={t("log.anyList")} options={lists.map((list) => ({ value: list, text: printable(list) }))} onSet={(text) => set("list", text)} />
      <Typed name={t("log.field.status")} value={query.status} placeholder="4xx,NXDOMAIN" options={STATUSES.map((value) => ({ value, text: "" }))} onSet={(text) => set("status", text)} />
      <Chosen
        name={t("log.field.kind")}
        value={query.kind}
        any={t("log.anyKind")}
        options={Object.values(KINDS).flat().map((kind) => ({ value: kind, text: kind }))}
        onSet={(text) => set("kind", text)}
      />
      <Chosen
        name={t("log.field.source")}
        value={query.source}
        any={t("log.anySource")}
        options={ROW_SOURCES.map((source) => ({ value: source, text: sourceName(source) }))}
        onSet={(text) => set("source", text)}
      />
      <Typed name={t("log.field.slower")} value={millisShown(query.slower_than_us)} placeholder="50" isNumber onSet={(text) => set("slower_than_us", microsTyped(text))} />
      <Typed name={t("log.field.faster")} value={millisShown(query.faster_than_us)} placeholder="1000" isNumber onSet={(text) => set("faster_than_us", microsTyped(text))} />
      <Times query={query} />
    </div>
  );
}

interface TypedProps {
  name: string;
  value: string;
  placeholder: string;
  options?: { value: string; text: string }[];
  isNumber?: boolean;
  onSet: (text: string) => void;
}

/** A field that is taken when it is left, or at Enter. */
function Typed({ name, value, placeholder, options = [], isNumber, onSet }: TypedProps) {
  const list = `log-field-${placeholder.replace(/\W/g, "")}`;
  return (
    <label class="field">
      <span class="field-name">{name}</span>
      <input
        class="input"
        type="text"
        inputMode={isNumber ? "decimal" : "text"}
        placeholder={placeholder}
        autocapitalize="none"
        autocomplete="off"
        spellcheck={false}
        value={value}
        {...(options.length > 0 ? { list } : {})}
        onChange={(event) => onSet(event.currentTarget.value)}
      />
      {options.length > 0 && (
        <datalist id={list}>
          {options.map((option) => (
            <option key={option.value} value={option.value}>
              {option.text}
            </option>
          ))}
        </datalist>
      )}
    </label>
  );
}

function Chosen(props: { name: string; value: string; any: string; options: { value: string; text: string }[]; onSet: (text: string) => void }) {
  const { name, value, any, options, onSet } = props;
  const isKnown = value === "" || options.some((option) => option.value === value);
  return (
    <label class="field">
      <span class="field-name">{name}</span>
      <select class="input" value={value} onChange={(event) => onSet(event.currentTarget.value)}>
        <option value="">{any}</option>
        {!isKnown && <option value={value}>{printable(value)}</option>}
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.text}
          </option>
        ))}
      </select>
    </label>
  );
}

function Times({ query }: { query: RequestsQuery }) {
  const set = (part: Partial<RequestsQuery>): void => ask({ ...query, ...part });
  return (
    <div class="log-times" role="group" aria-label={t("log.field.time")}>
      <label class="field">
        <span class="field-name">{t("log.field.from")}</span>
        <input class="input" type="datetime-local" value={localTime(query.from)} max={localTime(query.to)} onChange={(event) => set({ from: msOf(event.currentTarget.value) })} />
      </label>
      <label class="field">
        <span class="field-name">{t("log.field.to")}</span>
        <input class="input" type="datetime-local" value={localTime(query.to)} min={localTime(query.from)} onChange={(event) => set({ to: msOf(event.currentTarget.value) })} />
      </label>
      <div class="log-spans" role="group" aria-label={t("log.field.spans")}>
        {LOG_SPANS.map((span) => (
          <button key={span} type="button" class="button" onClick={() => set(logSpan(span, new Date()))}>
            {t(`log.span.${span}`)}
          </button>
        ))}
      </div>
    </div>
  );
}
