// The machines of a fleet: which revision each has, by what it has signed, and, where the fleet has a
// database, how much each has to do. Either is shown without the other.

import type { ComponentChildren } from "preact";
import { api } from "../api";
import { machinesOf, sumsOf } from "../fleet";
import type { Edge, FleetStatistics } from "../fleet-model";
import { count, percent, printable } from "../format";
import { t } from "../i18n";
import { Figure } from "../parts/figure";
import { Machines } from "../parts/fleet-machines";
import { Published, Revisions } from "../parts/fleet-revisions";
import { Empty, Notice } from "../parts/notice";
import { RangeChoice } from "../parts/range-choice";
import { SeriesChart } from "../parts/series-chart";
import { usePolled } from "../poll";
import { routeHash } from "../route";
import { range, route, status } from "../state";

const ROWS_EVERY_MS = 10_000;
const REVISIONS_EVERY_MS = 5_000;

export function FleetView() {
  const parts = status.value?.fleet_parts;
  // What the machine has no part in would be answered by 404, and is not asked for.
  return parts ? <Fleet hasBundles={parts.includes("bundles")} hasTables={parts.includes("rows")} /> : <Head />;
}

function Head({ children }: { children?: ComponentChildren }) {
  return (
    <div class="view-head">
      <h1>{t("fleet.title")}</h1>
      {children}
    </div>
  );
}

function Fleet({ hasBundles, hasTables }: { hasBundles: boolean; hasTables: boolean }) {
  const chosen = route.value.words["edge"] ?? "";
  const over = range.value;
  const bundles = usePolled(`fleet revisions ${hasBundles}`, REVISIONS_EVERY_MS, async (signal) => ({ fleet: hasBundles ? await api.fleetRevisions(signal) : null }));
  const database = usePolled(`fleet ${hasTables} ${over} ${chosen}`, ROWS_EVERY_MS, async (signal) => {
    const fleet = hasTables ? await api.fleetEdges(signal) : null;
    return { fleet, statistics: fleet && (await api.fleetStatistics(over, chosen, signal)) };
  });
  const { fleet: rows = null, statistics = null } = database.data ?? {};
  const published = bundles.data?.fleet ?? null;
  const machines = machinesOf(rows?.edges ?? [], published?.edges ?? []);
  const isThere = (bundles.data !== null || bundles.fault !== null) && (database.data !== null || database.fault !== null);
  return (
    <>
      <Head>{rows && <RangeChoice />}</Head>
      {[bundles.fault, database.fault].map((fault, part) => fault?.kind === "refused" && <Notice key={part} tone="fault" fault={fault} />)}
      {published && <Published fleet={published} />}
      {rows && statistics && rows.edges.length > 0 && <Glance edges={rows.edges} statistics={statistics} chosen={chosen} />}
      {isThere && machines.length === 0 && <Empty title={t("fleet.none")}>{t("fleet.noneText")}</Empty>}
      {isThere && machines.length > 0 && <Machines machines={machines} published={published} own={rows?.own ?? published?.own.edge ?? ""} chosen={chosen} hasRows={rows !== null} />}
      {published?.newest && <Revisions fleet={published} newest={published.newest} />}
    </>
  );
}

/** Figures and chart, of all machines or of one. */
function Glance({ edges, statistics, chosen }: { edges: Edge[]; statistics: FleetStatistics; chosen: string }) {
  const sums = sumsOf(chosen === "" ? edges : edges.filter(({ edge }) => edge === chosen));
  const until = new Date();
  return (
    <section class="panel hero" aria-label={t("fleet.glance")}>
      <div class="fleet-whose">
        <h2>{chosen === "" ? t("fleet.all") : printable(chosen)}</h2>
        {chosen !== "" && <a href={routeHash("fleet")}>{t("fleet.showAll")}</a>}
      </div>
      <dl class="figures figures-4">
        {chosen === "" ? (
          <Figure name={t("fleet.figure.up")} value={t("fleet.upOf", { up: sums.up, edges: sums.edges })} />
        ) : (
          <Figure name={t("fleet.column.seen")} value={t(sums.up > 0 ? "fleet.up" : "fleet.isSilent")} />
        )}
        <Figure name={t("fleet.figure.perMinute")} value={count(Math.round(sums.perMinute))} />
        <Figure name={t("words.blocked")} value={percent(sums.blocked)} tone="figure-block" />
        <Figure name={t("fleet.figure.waiting")} value={count(sums.waiting)} />
      </dl>
      <SeriesChart series={{ ...statistics, begins: null }} until={until} />
    </section>
  );
}
