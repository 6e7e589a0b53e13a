// The request log: newest first, growing at the top by itself and at the bottom on the way down.

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { type Fault, withQuery } from "../api";
import { moment, printable } from "../format";
import { t } from "../i18n";
import { isNarrowed, isOpenEnded, logWords, readLogWords } from "../log-query";
import type { RequestRow, RequestsQuery } from "../model";
import { ClearLog } from "../parts/clear-log";
import { Drawer } from "../parts/drawer";
import { ExportLinks } from "../parts/export-links";
import { FleetRows } from "../parts/fleet-rows";
import { Icon } from "../parts/icons";
import { useLiveRows, type LiveRows } from "../parts/live-rows";
import { LogFilters } from "../parts/log-filters";
import { Empty, Notice } from "../parts/notice";
import { RequestTable } from "../parts/request-table";
import { Sentence } from "../parts/sentence";
import { routeHash } from "../route";
import { HELD_ROWS_MAX, type Held } from "../rows";
import { amend, route, status, today } from "../state";

/** Further down than this the page must not move under the reader. */
const AT_TOP_PX = 160;
/** After so many pages in a row without a row, looking further back takes a click. */
const DRY_PAGES_MAX = 4;

export function Log() {
  const query = readLogWords(route.value.words);
  const cleared = useSignal(0);
  const machines = useSignal<string[]>([]);
  const asksFleet = status.value?.asks_fleet === true;
  const of = asksFleet ? (route.value.words["of"] ?? "") : "";
  // Another question is another log: the key starts it afresh.
  return (
    <>
      <div class="view-head">
        <h1>{t("log.title")}</h1>
        {asksFleet && <WhoseRows of={of} machines={machines.value} query={query} />}
      </div>
      <LogFilters key="filters" query={query} />
      {of !== "" ? <FleetRows query={query} edge={of === "fleet" ? "" : machineOf(of)} onMachines={(names) => { machines.value = names; }} /> : <Rows
        key={`${cleared.value} ${routeHash("log", logWords(query))}`}
        query={query}
        onCleared={() => {
          cleared.value += 1;
        }}
      />}
    </>
  );
}

/** The machine that a word of the address names: `edge:harbour`. */
const machineOf = (of: string): string => of.replace(/^edge:/, "");

/** Whose rows: of this machine, of all, or of one that answered before. */
function WhoseRows({ of, machines, query }: { of: string; machines: readonly string[]; query: RequestsQuery }) {
  const named = of === "" || of === "fleet" || machines.includes(machineOf(of)) ? machines : [...machines, machineOf(of)];
  return (
    <label class="whose-rows">
      <span class="unseen">{t("fleet.asked")}</span>
      <select class="input" value={of} onChange={(event) => amend({ ...logWords(query), of: event.currentTarget.value })}>
        <option value="">{t("fleet.thisMachine")}</option>
        <option value="fleet">{t("fleet.all")}</option>
        {named.map((name) => (
          <option key={name} value={`edge:${name}`}>
            {printable(name)}
          </option>
        ))}
      </select>
    </label>
  );
}

function Rows({ query, onCleared }: { query: RequestsQuery; onCleared: () => void }) {
  const follows = useSignal(true);
  const open = useSignal<RequestRow | null>(null);
  const table = useRef<HTMLDivElement>(null);
  const pointed = useRef(false);
  // A reader further down, with a row open or a row under the pointer, is not to have the page move.
  const mayMove = (): boolean =>
    scrollY < AT_TOP_PX && open.value === null && !pointed.current && table.current?.querySelector("tbody :focus-visible") == null;
  const rows = useLiveRows(query, follows.value, mayMove);
  const { held, loaded, fault } = rows;
  const { settle } = rows;
  const latest = useRef(settle);
  latest.current = settle;
  useEffect(() => {
    const scrolled = (): void => {
      if (scrollY < AT_TOP_PX) latest.current();
    };
    addEventListener("scroll", scrolled, { passive: true });
    return () => removeEventListener("scroll", scrolled);
  }, []);

  const all = held.value.rows;
  return (
    <>
      <State query={query} rows={rows} follows={follows.value} onFollow={(on) => { follows.value = on; }} onCleared={onCleared} />
      {fault && fault.kind === "refused" && <Notice tone="fault" fault={fault} />}
      {all.length > 0 && (
        <div
          class="log-rows"
          ref={table}
          onPointerEnter={(event) => {
            pointed.current = event.pointerType === "mouse";
          }}
          onPointerLeave={() => {
            pointed.current = false;
            settle();
          }}
          onFocusOut={() => settle()}
        >
          <Newer rows={rows} />
          <div class="panel panel-flush">
            <RequestTable
              rows={all}
              onOpen={(row) => {
                open.value = row;
              }}
            />
          </div>
        </div>
      )}
      {loaded.value && all.length === 0 && held.value.next === null && <NoRows query={query} />}
      <Older
        held={held.value}
        busy={rows.older.value === "busy"}
        byItself={rows.dryPages.value < DRY_PAGES_MAX}
        fault={rows.olderFault.value}
        onMore={rows.loadOlder}
      />
      {open.value && (
        <Drawer
          key={open.value.id}
          row={open.value}
          onClose={() => {
            open.value = null;
            settle();
          }}
        />
      )}
    </>
  );
}

interface StateProps {
  query: RequestsQuery;
  rows: LiveRows;
  follows: boolean;
  onFollow: (on: boolean) => void;
  onCleared: () => void;
}

/** How many are shown, whether new ones come, files of them, and the button that holds the page still. */
function State({ query, rows, follows, onFollow, onCleared }: StateProps) {
  const { held, loaded } = rows;
  const first = held.value.rows[0];
  const comes = isOpenEnded(query, Date.now());
  return (
    <div class="log-state">
      <p class="quiet" aria-live="off">
        {loaded.value && first ? (
          <>
            {t("log.shown", { count: held.value.rows.length })}
            <span class="log-newest">{t("log.newest", { at: moment(first.at, today.value) })}</span>
          </>
        ) : (
          "\u00a0"
        )}
      </p>
      {comes && <Liveness rows={rows} follows={follows} />}
      {first && <ExportLinks what={t("log.these")} note={t("log.atMost", { count: 100_000 })} href={(format) => withQuery("api/requests", { ...logWords(query), format })} />}
      {first && <ClearLog onCleared={onCleared} />}
      {comes && (
        <button type="button" class="button" aria-pressed={!follows} onClick={() => onFollow(!follows)}>
          <Icon name={follows ? "pause" : "play"} />
          {t(follows ? "log.hold" : "log.follow")}
        </button>
      )}
    </div>
  );
}

function Liveness({ rows, follows }: { rows: LiveRows; follows: boolean }) {
  const { value } = rows.state;
  const state = follows ? value : "held";
  return (
    <span class={`liveness liveness-${state}`} title={state === "refused" ? t("log.refusedWhy") : undefined}>
      <span class="liveness-dot" aria-hidden="true" />
      {t(`log.state.${state}`)}
    </span>
  );
}

/** The rows that wait, as a calm count. It takes no room, so that nothing moves when it comes. */
function Newer({ rows }: { rows: LiveRows }) {
  const { waiting, missed, show } = rows;
  const some = waiting.value.count + missed.value;
  return (
    <div class="log-fresh-place">
      <span class="unseen" role="status">
        {some > 0 ? t("log.newerWait") : ""}
      </span>
      {some > 0 && (
        <button
          type="button"
          class="button button-main log-fresh"
          onClick={() => {
            void show();
            scrollTo({ top: 0 });
          }}
        >
          {missed.value > 0 ? t("log.missed", { count: some }) : t("log.newer", { count: some })}
        </button>
      )}
    </div>
  );
}

function NoRows({ query }: { query: RequestsQuery }) {
  return isNarrowed(query) ? (
    <Empty title={t("log.noneFits")}>
      <p>{t("log.noneFitsHint")}</p>
      <button type="button" class="button" onClick={() => amend({})}>
        {t("log.clearFilter")}
      </button>
    </Empty>
  ) : (
    <Empty title={t("log.none")}>
      <Sentence of="log.noneHint" parts={{ link: (content) => <a href={routeHash("setup")}>{content}</a> }} />
    </Empty>
  );
}

function Older(props: {
  held: Held;
  busy: boolean;
  byItself: boolean;
  fault: Fault | null;
  onMore: () => Promise<void>;
}) {
  const { held, busy, byItself, fault, onMore } = props;
  const mark = useRef<HTMLDivElement>(null);
  const full = held.rows.length >= HELD_ROWS_MAX;
  // Each answer asks anew whether the end is still in sight: a page of few rows does not fill it.
  useEffect(() => {
    const end = mark.current;
    if (!end || full || fault || !byItself || held.next === null) return undefined;
    const watch = new IntersectionObserver((seen) => {
      if (seen.some((one) => one.isIntersecting)) void onMore();
    }, { rootMargin: "400px" });
    watch.observe(end);
    return () => watch.disconnect();
  }, [held, full, fault, byItself, onMore]);
  if (full) {
    return <p class="log-end quiet">{t("log.full", { count: held.rows.length })}</p>;
  }
  return (
    <div ref={mark} class="log-end">
      {fault && <Notice tone="fault" fault={fault} />}
      {held.next !== null && held.rows.length === 0 && !busy && !byItself && (
        <Empty title={t("log.dry")}>{t("log.dryHint")}</Empty>
      )}
      {held.next !== null && (
        <button type="button" class="button" disabled={busy} onClick={() => void onMore()}>
          {t(busy ? "log.looking" : held.rows.length === 0 ? "log.lookBack" : "log.older")}
        </button>
      )}
      {held.next === null && held.rows.length > 0 && <p class="quiet">{t("log.begins")}</p>}
    </div>
  );
}
