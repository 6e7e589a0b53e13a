// How much of each list stands in others already: what one could do without.

import { api } from "../api";
import { moment, percent, printable } from "../format";
import { t } from "../i18n";
import { overlapLines, type OverlapLine } from "../overlaps";
import { usePolled } from "../poll";
import { today } from "../state";
import { Empty, Notice } from "./notice";
import { Panel } from "./panel";
import { Sentence } from "./sentence";

const OVERLAPS_EVERY_MS = 60_000;

/** Asked anew when `revision` changes: other lists overlap in other ways. */
export function OverlapsPanel({ revision }: { revision: string }) {
  const asked = usePolled(`overlaps ${revision}`, OVERLAPS_EVERY_MS, (signal) => api.overlaps(signal));
  const { data, fault } = asked;
  const lines = data ? overlapLines(data) : [];
  // Of one list alone there is nothing to say.
  if (data && data.lists.length < 2) return null;
  return (
    <Panel
      id="overlaps-title"
      title={t("lists.overlaps")}
      aside={data && <span class="quiet overlaps-at">{t("lists.overlapsCounted", { at: moment(data.counted_at, today.value) })}</span>}
    >
      {fault && fault.kind === "refused" && <Notice tone="fault" fault={fault} />}
      {!data && !fault && <p class="quiet">{t("lists.overlapsCounting")}</p>}
      {data && lines.length === 0 && <Empty title={t("lists.overlapsNone")} />}
      {lines.length > 0 && (
        <ul class="entries">
          {lines.map((line) => (
            <Line key={line.name} line={line} />
          ))}
        </ul>
      )}
    </Panel>
  );
}

function Line({ line }: { line: OverlapLine }) {
  const most = line.held_by[0];
  return (
    <li class="entry">
      <div class="entry-main">
        <span class="entry-name">
          {printable(line.name)}
          {line.little && <span class="tag tag-land">{t("lists.addsLittle")}</span>}
        </span>
        <span class="entry-figure quiet">{t("lists.overlapNames", { count: line.names })}</span>
      </div>
      <ul class="overlap-bars">
        {line.held_by.map((held) => (
          <li key={held.name}>
            <span class="overlap-text">
              <Sentence of="lists.overlapIn" values={{ share: <b>{percent(held.share)}</b>, list: printable(held.name) }} />
            </span>
            <svg class="bar-track" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
              <rect class="bar-all" width={held.share * 100} height="4" />
            </svg>
          </li>
        ))}
      </ul>
      {line.little && most && <p class="entry-sub overlap-hint">{line.own > 0 ? t("lists.addsLittleHint", { list: printable(most.name), count: line.own }) : t("lists.addsNothingHint", { list: printable(most.name) })}</p>}
    </li>
  );
}
