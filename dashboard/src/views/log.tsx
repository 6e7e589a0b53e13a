// The request log: newest first, growing at the top by itself and at the bottom on the way down.

import { useComputed, useSignal } from "@preact/signals";
import { useCallback, useEffect, useRef } from "preact/hooks";
import { api, faultOf, type Fault, withQuery } from "../api";
import { doorName } from "../explain";
import { count, moment } from "../format";
import { DOORS, type RequestPage, type RequestRow } from "../model";
import { Drawer } from "../parts/drawer";
import { Icon } from "../parts/icons";
import { Empty, Notice } from "../parts/notice";
import { RequestTable } from "../parts/request-table";
import { SearchField } from "../parts/search-field";
import { usePolled } from "../poll";
import { routeHash } from "../route";
import { freshCount, HELD_ROWS_MAX, joinNewest, joinOlder, NOTHING_HELD, type Held } from "../rows";
import { amend, route, today } from "../state";

const NEWEST_EVERY_MS = 2_000;
/** Further down than this the page must not move under the reader. */
const AT_TOP_PX = 160;
/** After so many pages in a row without a row, looking further back takes a click. */
const DRY_PAGES_MAX = 4;

export function Log() {
  const { words } = route.value;
  const query = { filter: words["filter"] ?? "", door: words["door"] ?? "", action: words["action"] ?? "" };
  // Another question is another log: the key starts it afresh.
  return (
    <>
      <div class="view-head">
        <h1>Requests</h1>
      </div>
      <Filters key="filters" query={query} />
      <Rows key={routeHash("log", query)} query={query} />
    </>
  );
}

interface Query {
  filter: string;
  door: string;
  action: string;
}

function isNarrowed(query: Query): boolean {
  return query.filter !== "" || query.door !== "" || query.action !== "";
}

function Filters({ query }: { query: Query }) {
  return (
    <search class="filters">
      <SearchField
        label="Part of a name, URL or client, or the number of a request"
        placeholder="Part of a name, URL or client, or a number"
        value={query.filter}
        onFind={(filter) => amend({ ...query, filter })}
      />
      <label>
        <span class="unseen">Door</span>
        <select class="input" value={query.door} onChange={(event) => amend({ ...query, door: event.currentTarget.value })}>
          <option value="">All doors</option>
          {DOORS.map((door) => (
            <option key={door} value={door}>
              {doorName(door)}
            </option>
          ))}
        </select>
      </label>
      <label>
        <span class="unseen">Outcome</span>
        <select class="input" value={query.action} onChange={(event) => amend({ ...query, action: event.currentTarget.value })}>
          <option value="">Any outcome</option>
          <option value="block">Blocked</option>
          <option value="pass">Passed</option>
        </select>
      </label>
    </search>
  );
}

function Rows({ query }: { query: Query }) {
  const held = useSignal<Held>(NOTHING_HELD);
  const loaded = useSignal(false);
  const waiting = useSignal<RequestPage | null>(null);
  const live = useSignal(true);
  const older = useSignal<"idle" | "busy">("idle");
  const dryPages = useSignal(0);
  const olderFault = useSignal<Fault | null>(null);
  const open = useSignal<RequestRow | null>(null);
  const waitingCount = useComputed(() => (waiting.value ? freshCount(held.value, waiting.value) : 0));

  const newest = usePolled(`newest ${live.value ? "live" : "held"}`, NEWEST_EVERY_MS, async (signal) => {
    if (!live.value && loaded.value) return;
    const page = await api.requests(query, null, signal);
    // A reader further down, or with a row open, is not to have the page move.
    const still = scrollY < AT_TOP_PX && open.value === null;
    if (still || held.value.rows.length === 0) {
      held.value = joinNewest(held.value, page);
      waiting.value = null;
    } else {
      waiting.value = page;
    }
    loaded.value = true;
  });

  const loadOlder = useCallback(async () => {
    const before = held.value.next;
    if (before === null || older.value === "busy") return;
    older.value = "busy";
    try {
      const page = await api.requests(query, before);
      held.value = joinOlder(held.value, page);
      dryPages.value = page.rows.length === 0 ? dryPages.value + 1 : 0;
      olderFault.value = null;
    } catch (thrown) {
      olderFault.value = faultOf(thrown);
    }
    older.value = "idle";
  }, [held, older, olderFault, dryPages]);

  const showWaiting = (): void => {
    if (waiting.value) held.value = joinNewest(held.value, waiting.value);
    waiting.value = null;
    scrollTo({ top: 0 });
  };

  const { rows } = held.value;
  const first = rows[0];
  return (
    <>
      <div class="log-state">
        <p class="quiet" aria-live="off">
          {loaded.value && first
            ? <>
                {count(rows.length)} shown<span class="log-newest">, newest {moment(first.at, today.value)}</span>
              </>
            : "\u00a0"}
        </p>
        {isNarrowed(query) && (
          <button type="button" class="button button-bare" aria-label="Clear the filter" onClick={() => amend({})}>
            <Icon name="close" />
            Clear
          </button>
        )}
        {first && (
          <a
            class="button button-bare"
            href={withQuery("api/requests", { ...query, format: "csv" })}
            download
            aria-label="These requests as CSV"
            title="These requests as CSV, at most 100,000"
          >
            <Icon name="download" />
            CSV
          </a>
        )}
        <button
          type="button"
          class="button"
          aria-pressed={!live.value}
          onClick={() => {
            live.value = !live.value;
          }}
        >
          <Icon name={live.value ? "pause" : "play"} />
          {live.value ? "Hold still" : "Follow"}
        </button>
      </div>
      {waitingCount.value > 0 && (
        <button type="button" class="button button-main log-fresh" onClick={showWaiting}>
          {count(waitingCount.value)} newer
        </button>
      )}
      {newest.fault && newest.fault.kind === "refused" && <Notice tone="fault" fault={newest.fault} />}
      {rows.length > 0 && (
        <div class="panel panel-flush">
          <RequestTable
            rows={rows}
            onOpen={(row) => {
              open.value = row;
            }}
          />
        </div>
      )}
      {loaded.value && rows.length === 0 && held.value.next === null && <NoRows query={query} />}
      <Older
        held={held.value}
        busy={older.value === "busy"}
        byItself={dryPages.value < DRY_PAGES_MAX}
        fault={olderFault.value}
        onMore={loadOlder}
      />
      {open.value && (
        <Drawer
          key={open.value.id}
          row={open.value}
          onClose={() => {
            open.value = null;
          }}
        />
      )}
    </>
  );
}

function NoRows({ query }: { query: Query }) {
  return isNarrowed(query) ? (
    <Empty title="No request fits this filter">
      <p>Look for a shorter part of the name, or for all doors.</p>
      <button type="button" class="button" onClick={() => amend({})}>
        Clear the filter
      </button>
    </Empty>
  ) : (
    <Empty title="No request yet">
      Every request at every door shows here within seconds.{" "}
      <a href={routeHash("setup")}>Point a device at Tidegate</a>. If requests are counted but not shown, say{" "}
      <code>log: all</code> under <code>ledger:</code>.
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
    return <p class="log-end quiet">{count(held.rows.length)} requests are shown. Use the filter to look further back.</p>;
  }
  return (
    <div ref={mark} class="log-end">
      {fault && <Notice tone="fault" fault={fault} />}
      {held.next !== null && held.rows.length === 0 && !busy && !byItself && (
        <Empty title="Nothing fits among the newer requests">Older ones were not looked at yet.</Empty>
      )}
      {held.next !== null && (
        <button type="button" class="button" disabled={busy} onClick={() => void onMore()}>
          {busy ? "Looking further back …" : held.rows.length === 0 ? "Look further back" : "Older"}
        </button>
      )}
      {held.next === null && held.rows.length > 0 && <p class="quiet">The log begins here.</p>}
    </div>
  );
}
