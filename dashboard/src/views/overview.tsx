import { api } from "../api";
import { asSentence, bytes, count, micros, moment, percent, printable, share, span } from "../format";
import { t } from "../i18n";
import { RANGES, type Range, type Series, type Status, type TopTable, type Totals } from "../model";
import { Doors } from "../parts/doors";
import { Figure } from "../parts/figure";
import { FirstRunNotice } from "../parts/first-run-notice";
import { Lists } from "../parts/lists";
import { Empty, Marked, Notice } from "../parts/notice";
import { Origins } from "../parts/origins";
import { Overrides } from "../parts/overrides";
import { PoolPanel } from "../parts/pools";
import { RangeChoice } from "../parts/range-choice";
import { SeriesChart } from "../parts/series-chart";
import { Top } from "../parts/top";
import { Trust } from "../parts/trust";
import { Upstreams } from "../parts/upstreams";
import { usePolled } from "../poll";
import { routeHash } from "../route";
import { STEPS_MIN } from "../spans";
import { may, range, status, today } from "../state";

const COUNTS_EVERY_MS = 4_000;
const SLOW_EVERY_MS = 15_000;
/** Clients are counted by the lines of their table; the API gives no more than this. */
const CLIENTS_MAX = 100;
const TOP_LINES = 8;

function Figures({ totals, clients, status }: { totals: Totals; clients: number | null; status: Status | null }) {
  const from = (source: string): number => totals.by_source.find((known) => known.source === source)?.count ?? 0;
  const cached = from("cache") + from("stale");
  const asked = cached + from("upstream");
  const dns = status?.latency.find((known) => known.door === "dns");
  return (
    <dl class="figures">
      <Figure name={t("words.requests")} value={count(totals.requests)} />
      <Figure name={t("words.blocked")} value={count(totals.blocked)} tone="figure-block">
        {percent(totals.blocked_share)}
      </Figure>
      <Figure name={t("words.clients")} value={clients === null ? "–" : clients >= CLIENTS_MAX ? `${CLIENTS_MAX}+` : count(clients)} />
      <Figure name={t("words.fromCache")} value={asked > 0 ? percent(share(cached, asked)) : "–"}>
        {asked > 0 ? t("overview.of", { count: asked }) : undefined}
      </Figure>
      <Figure name={t("overview.dnsMedian")} value={dns ? micros(dns.median_us) : "–"}>
        {dns ? `99 %: ${micros(dns.p99_us)}` : undefined}
      </Figure>
    </dl>
  );
}

/**
 * The series of the range, or that of a shorter one while there are too few steps to see: of an hour
 * of counting, thirty days have one.
 */
async function seriesToShow(chosen: Range, signal: AbortSignal): Promise<Series> {
  const series = await api.series(chosen, signal);
  const shorter = RANGES[RANGES.indexOf(chosen) - 1];
  const begins = series.begins ? Date.parse(series.begins) : 0;
  const counted = series.points.filter((point) => Date.parse(point.at) + series.step_s * 1000 > begins).length;
  return counted < STEPS_MIN && shorter ? seriesToShow(shorter, signal) : series;
}

const firstLines = (table: TopTable | undefined): TopTable | null =>
  table ? { ...table, lines: table.lines.slice(0, TOP_LINES) } : null;

export function Overview() {
  const chosen = range.value;
  const counts = usePolled(`counts ${chosen}`, COUNTS_EVERY_MS, async (signal) => {
    const [totals, series, blocked, names, clients] = await Promise.all([
      api.totals(chosen, signal),
      seriesToShow(chosen, signal),
      api.top("blocked", chosen, TOP_LINES, signal),
      api.top("names", chosen, TOP_LINES, signal),
      api.top("clients", chosen, CLIENTS_MAX, signal),
    ]);
    return { totals, series, blocked, names, clients };
  });
  const slow = usePolled("lists, upstreams, pools, origins and trust", SLOW_EVERY_MS, async (signal) => {
    const [lists, upstreams, allows, blocks, pools, origins, trust] = await Promise.all([
      api.lists(signal),
      api.upstreams(signal),
      api.allows(signal),
      api.blocks(signal),
      api.pools(signal),
      api.origins(signal),
      api.trust(signal),
    ]);
    return {
      lists: lists.lists,
      upstreams: upstreams.upstreams,
      allows: allows.allows,
      blocks: blocks.blocks,
      pools: pools.pools,
      origins: origins.origins,
      clients: trust.clients,
    };
  });
  const { data } = counts;
  const nothing = data !== null && data.totals.requests === 0;
  return (
    <>
      <div class="view-head">
        <h1>{t("nav.overview")}</h1>
        <RangeChoice />
      </div>
      <FirstRunNotice />
      <NewerVersion />
      {status.value?.warnings.map((warning) => (
        <Notice tone="land" key={warning}>
          <p>
            <Marked text={asSentence(warning)} />
          </p>
        </Notice>
      ))}
      {counts.fault && counts.fault.kind === "refused" && <Notice tone="fault" fault={counts.fault} />}
      <section class="panel hero" aria-label={t("chart.title")}>
        {data && <Figures totals={data.totals} clients={data.clients.lines.length} status={status.value} />}
        {data && !nothing && <SeriesChart series={data.series} until={new Date(data.totals.until)} />}
        {nothing && (
          <Empty title={t("overview.noRequest")}>
            {t("overview.noRequestText")}{" "}
            <a href={routeHash("setup")}>{t("overview.setUp")}</a>
          </Empty>
        )}
        {!data && <div class="hero-wait" />}
      </section>
      <div class="columns columns-3">
        <Top
          title={t("overview.mostBlocked")}
          table={data ? data.blocked : null}
          href={(text) => routeHash("log", { filter: text, action: "block" })}
          empty={t("overview.nothingBlocked")}
        />
        <Top title={t("overview.mostAsked")} table={data ? data.names : null} href={(text) => routeHash("log", { filter: text })} empty={t("overview.nothingAsked")} />
        <Top
          title={t("words.clients")}
          table={firstLines(data?.clients)}
          href={(text) => routeHash("clients", { client: text })}
          empty={t("overview.noClient")}
        />
      </div>
      {status.value && <Doors status={status.value} totals={data?.totals ?? null} />}
      {slow.fault && slow.fault.kind === "refused" && <Notice tone="fault" fault={slow.fault} />}
      {slow.data && slow.data.allows.length + slow.data.blocks.length > 0 && (
        <Overrides allows={slow.data.allows} blocks={slow.data.blocks} onChanged={slow.refresh} />
      )}
      <div class="columns columns-2">
        <Lists lists={slow.data?.lists ?? null} onReloaded={slow.refresh} />
        <Upstreams upstreams={slow.data?.upstreams ?? null} />
      </div>
      {slow.data && slow.data.pools.length > 0 && (
        <div class="columns columns-2">
          {slow.data.pools.map((pool) => (
            <PoolPanel pool={pool} key={pool.name} />
          ))}
        </div>
      )}
      {slow.data && slow.data.origins.length > 0 && <Origins origins={slow.data.origins} />}
      {slow.data && slow.data.clients.length > 0 && <Trust clients={slow.data.clients} />}
      {status.value && <Colophon status={status.value} />}
    </>
  );
}

function Colophon({ status }: { status: Status }) {
  const lost = status.ledger.dropped_queue + status.ledger.dropped_store;
  return (
    <footer class="colophon">
      <span>{t("overview.version", { version: status.version })}</span>
      <span>
        {t("overview.up", { span: span(status.uptime_s), at: moment(status.started_at, today.value) })}
      </span>
      {status.resident_bytes !== null && <span>{t("overview.memory", { bytes: bytes(status.resident_bytes) })}</span>}
      <span>
        {t("overview.rules", { count: status.rules, bytes: bytes(status.rules_bytes) })}
      </span>
      <span>{t("overview.logged", { count: status.ledger.stored })}</span>
      {lost > 0 && <span class="lost">{t("overview.lost", { count: lost })}</span>}
      <span>{status.config ? <code>{status.config}</code> : t("overview.builtIn")}</span>
    </footer>
  );
}

/** A version that is newer than the one that runs, for those who can install it. */
function NewerVersion() {
  const newer = status.value?.newer;
  if (!newer || !may("administrator")) return null;
  const words = { version: printable(newer.version), running: status.value?.version ?? "" };
  return (
    <Notice tone="land">
      <p>
        {t("overview.newer", words)}{" "}
        {newer.page !== null && (
          <a href={newer.page} target="_blank" rel="noopener noreferrer">
            {t("overview.whatIsNew")}
          </a>
        )}
      </p>
    </Notice>
  );
}
