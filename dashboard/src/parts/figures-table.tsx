// The figures of a chart as a table: for who cannot see it, and for who wants to read a number. It is
// made when it is opened.

import { useState } from "preact/hooks";
import { count, percent } from "../format";
import { t } from "../i18n";
import { isWhole, type ChartSpan } from "../spans";
import { spanText, type StepLength, type ZoneClock } from "../zone-time";

export function FiguresTable({ spans, step, clock }: { spans: readonly ChartSpan[]; step: StepLength; clock: ZoneClock }) {
  const [open, setOpen] = useState(false);
  return (
    <details class="figures-table" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{t("chart.asTable")}</summary>
      {open && (
        <div class="figures-scroll" role="region" aria-label={t("chart.asTableLabel")}>
          <table class="table">
            <thead>
              <tr>
                <th scope="col">{t("words.time")}</th>
                <th scope="col" class="number">
                  {t("words.passed")}
                </th>
                <th scope="col" class="number">
                  {t("words.blocked")}
                </th>
              </tr>
            </thead>
            <tbody>
              {spans.toReversed().map((span) => (
                <tr key={span.at.getTime()}>
                  <th scope="row">
                    {spanText(clock, step, span.at, span.until)}
                    {!isWhole(span) && <span class="quiet">{t("chart.partCounted", { share: percent(span.share) })}</span>}
                  </th>
                  <td class="number">{count(span.passed)}</td>
                  <td class="number">{count(span.blocked)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </details>
  );
}
