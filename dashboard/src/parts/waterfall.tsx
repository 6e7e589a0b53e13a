// The timeline of a visit, host by host: a lane for each door, a bar for each request. Places are shares
// of the width, so that it is as sharp on a phone as on a wall.

import { doorName } from "../explain";
import { bytes, printable } from "../format";
import { t } from "../i18n";
import { routeHash } from "../route";
import type { Visit } from "../visit-model";
import { fallsOf, SCALE, ticks, visitLength, type Fall, type Lane } from "../waterfall";

/** Height of a lane, as in page.css, and of a bar in it. */
const LANE_PX = 18;
const BAR_PX = 8;
/** From this share of the width on a label ends at its line, so that it stays in the picture. */
const LATE = 0.93;

const shareOf = (x: number): string => `${(x / SCALE) * 100}%`;

/** A time after the begin, as short as it can be. */
function after(ms: number): string {
  return ms > 0 && ms < 1000 ? t("page.ms", { ms: Math.round(ms) }) : t("page.s", { s: ms < 9_950 ? Math.round(ms / 100) / 10 : Math.round(ms / 1000) });
}

export function Waterfall({ visit, client }: { visit: Visit; client: string }) {
  const length = visitLength(visit);
  const lines = ticks(length);
  return (
    <div class="fall" role="table" aria-label={t("page.timeline")}>
      <div class="fall-head" role="row">
        <span class="fall-host" role="columnheader">
          {t("page.host")}
        </span>
        <span class="fall-doors" role="columnheader">
          {t("page.door")}
        </span>
        <span class="fall-scale" role="columnheader">
          <span class="unseen">{t("page.when")}</span>
          <svg width="100%" height="20" aria-hidden="true" focusable="false">
            {lines.map((at) => (
              <text key={at} class="fall-label" x={shareOf((at / length) * SCALE)} y="13" text-anchor={at === 0 ? "start" : at / length > LATE ? "end" : "middle"}>
                {after(at)}
              </text>
            ))}
          </svg>
        </span>
      </div>
      {fallsOf(visit).map((fall) => (
        <Line key={fall.host.host} fall={fall} lines={lines.map((at) => (at / length) * SCALE)} client={client} />
      ))}
    </div>
  );
}

function Line({ fall: { host, lanes }, lines, client }: { fall: Fall; lines: number[]; client: string }) {
  const isKept = host.blocked > 0;
  const height = Math.max(1, lanes.length) * LANE_PX;
  return (
    <div class={isKept ? "fall-row fall-kept" : "fall-row"} role="row">
      <span class="fall-host" role="rowheader">
        <a href={routeHash("log", { client, name: host.host })} title={printable(host.host)}>
          {printable(host.host)}
        </a>
        <span class="fall-sum">
          {t("page.requests", { count: host.requests })}
          {isKept ? `, ${t("page.keptAway", { count: host.blocked })}` : host.bytes > 0 ? `, ${bytes(host.bytes)}` : ""}
        </span>
      </span>
      <span class="fall-doors" role="cell">
        {lanes.map((lane) => (
          <span key={lane.door}>{doorName(lane.door)}</span>
        ))}
      </span>
      <span class="fall-track" role="cell">
        <span class="unseen">{t("page.firstAfter", { time: after(host.first_after_ms) })}</span>
        <svg width="100%" height={height} aria-hidden="true" focusable="false">
          {lines.map((x) => (
            <line key={x} class="fall-grid" x1={shareOf(x)} x2={shareOf(x)} y1="0" y2={height} />
          ))}
          {lanes.map((lane, n) => (
            <Bars key={lane.door} lane={lane} top={n * LANE_PX + (LANE_PX - BAR_PX) / 2} />
          ))}
        </svg>
      </span>
    </div>
  );
}

function Bars({ lane, top }: { lane: Lane; top: number }) {
  return (
    <>
      {lane.bars.map((bar, n) => (
        // oxlint-disable-next-line react/no-array-index-key -- the bars of a visit never change places
        <rect key={n} class={bar.blocked ? "fall-bar fall-bar-kept" : "fall-bar"} x={shareOf(bar.x)} y={top} width={shareOf(bar.width)} height={BAR_PX} rx="1.5" />
      ))}
    </>
  );
}
