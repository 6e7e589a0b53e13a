// The machines of a fleet, as its database knows them: who is there, how much each has to do, and
// whose rows wait. The chart shows all of them, or the one that was chosen.

import { api } from "../api";
import { inOrder, isBehind, sumsOf } from "../fleet";
import type { Edge, FleetEdges, FleetStatistics } from "../fleet-model";
import { count, percent, printable, span } from "../format";
import { t } from "../i18n";
import { Figure } from "../parts/figure";
import { Empty, Notice } from "../parts/notice";
import { RangeChoice } from "../parts/range-choice";
import { SeriesChart } from "../parts/series-chart";
import { usePolled } from "../poll";
import { routeHash } from "../route";
import { range, route } from "../state";

const EDGES_EVERY_MS = 10_000;
const NUMBERS = ["perMinute", "blocked", "waiting"] as const;

export function FleetView() {
  const chosen = route.value.words["edge"] ?? "";
  const over = range.value;
  const { data, fault } = usePolled(`fleet ${over} ${chosen}`, EDGES_EVERY_MS, async (signal) => {
    const [fleet, statistics] = await Promise.all([api.fleetEdges(signal), api.fleetStatistics(over, chosen, signal)]);
    return { fleet, statistics };
  });
  return (
    <>
      <div class="view-head">
        <h1>{t("fleet.title")}</h1>
        <RangeChoice />
      </div>
      {fault && fault.kind === "refused" && <Notice tone="fault" fault={fault} />}
      {data && data.fleet.edges.length === 0 && <Empty title={t("fleet.none")}>{t("fleet.noneText")}</Empty>}
      {data && data.fleet.edges.length > 0 && (
        <>
          <Glance edges={data.fleet.edges} statistics={data.statistics} chosen={chosen} />
          <Edges fleet={data.fleet} chosen={chosen} />
        </>
      )}
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

/** The machines as a table; on a phone each becomes a card, so the roles are written out. */
function Edges({ fleet, chosen }: { fleet: FleetEdges; chosen: string }) {
  return (
    <section class="panel panel-flush" aria-label={t("fleet.edges")}>
      <table class="table edges" role="table">
        <thead role="rowgroup">
          <tr role="row">
            <th role="columnheader" scope="col">{t("fleet.column.edge")}</th>
            <th role="columnheader" scope="col">{t("fleet.column.seen")}</th>
            <th role="columnheader" scope="col">{t("fleet.column.version")}</th>
            {NUMBERS.map((name) => (
              <th key={name} role="columnheader" scope="col" class="number">
                {t(`fleet.column.${name}`)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {inOrder(fleet.edges).map((edge) => (
            <EdgeLine key={edge.edge} edge={edge} isOwn={edge.edge === fleet.own} isChosen={edge.edge === chosen} />
          ))}
        </tbody>
      </table>
    </section>
  );
}

function EdgeLine({ edge, isOwn, isChosen }: { edge: Edge; isOwn: boolean; isChosen: boolean }) {
  const isUp = edge.state === "up";
  return (
    <tr role="row" class={isChosen ? "edge edge-chosen" : "edge"}>
      <td role="cell" class="e-name">
        <span class={`dot ${isUp ? "dot-good" : "dot-bad"}`} aria-hidden="true" />
        <a class="edge-name" href={routeHash("fleet", { edge: isChosen ? "" : edge.edge })} aria-current={isChosen ? "true" : undefined}>
          {printable(edge.edge)}
        </a>
        {isOwn && <span class="quiet">{t("fleet.own")}</span>}
      </td>
      <td role="cell" class="e-seen">
        {isUp ? <span class="quiet">{t("fleet.up")}</span> : <span class="tag tag-land">{t("fleet.silent", { span: span(edge.silent_s) })}</span>}
      </td>
      <td role="cell" class="e-version quiet">{printable(edge.version)}</td>
      <td role="cell" class="e-rate number" data-name={t("fleet.inRow.perMinute")}>{count(Math.round(edge.per_minute))}</td>
      <td role="cell" class="e-blocked number" data-name={t("fleet.inRow.blocked")}>{edge.per_minute > 0 ? percent(edge.blocked_share) : "–"}</td>
      <td role="cell" class="e-waiting number">
        {isBehind(edge) ? <span class="tag tag-land">{t("fleet.rowsWait", { count: edge.waiting })}</span> : <span class="quiet">{t("fleet.noneWait")}</span>}
        {edge.dropped > 0 && <span class="e-dropped">{t("fleet.dropped", { count: edge.dropped })}</span>}
      </td>
    </tr>
  );
}
