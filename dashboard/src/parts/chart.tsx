// Requests over time, blocked below and passed above, as uPlot draws it on a canvas. A step that is
// not counted whole, the last and the first of all, is drawn dashed, at its pace.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { count, percent, share, short } from "../format";
import { t } from "../i18n";
import { language } from "../language";
import { isWhole, type ChartSpan } from "../spans";
import { theme } from "../state";
import { clockOf, spanText, type StepLength, type ZoneClock } from "../zone-time";
import { colours, stack } from "./stack";

const HEIGHT_PX = 300;
const HEIGHT_NARROW_PX = 208;
const NARROW_PX = 520;
const DAY_S = 86_400;
/** Fewer steps than this are dots: one of them is no line. */
const DOTS_BELOW = 4;

function timeLabels(clock: ZoneClock, splits: number[], increment: number): string[] {
  let lastDay = "";
  return splits.map((split) => {
    const at = new Date(split * 1000);
    if (increment >= 180 * DAY_S) return clock.show("year", at);
    const thisDay = clock.show("day", at);
    const time = clock.show("minute", at);
    const text = increment >= DAY_S || time === "00:00" ? thisDay : time;
    const label = text === lastDay ? "" : text;
    lastDay = thisDay === text ? text : lastDay;
    return label;
  });
}

function options(root: HTMLElement, clock: ZoneClock, dots: boolean, onPoint: (index: number | null) => void): uPlot.Options {
  const c = colours(root);
  const width = root.clientWidth;
  const axis: uPlot.Axis = {
    stroke: c.quiet,
    font: `12px ${c.font}`,
    grid: { stroke: c.rule, width: 1 },
    ticks: { show: false },
  };
  const line = (stroke: string, fill?: string): uPlot.Series => ({
    stroke,
    width: 1.5,
    points: { show: dots, size: 7, fill: c.surface },
    ...(fill ? { fill } : { dash: [3, 4] }),
  });
  const { zone } = clock;
  return {
    width,
    height: width < NARROW_PX ? HEIGHT_NARROW_PX : HEIGHT_PX,
    ...(zone ? { tzDate: (at: number) => uPlot.tzDate(new Date(at * 1000), zone) } : {}),
    padding: [12, 20, 0, 0],
    legend: { show: false },
    cursor: {
      y: false,
      drag: { x: false, y: false },
      points: { size: 7, fill: c.surface, width: 2 },
    },
    scales: { x: { time: true }, y: { range: (_, __, max) => [0, max > 0 ? max * 1.08 : 1] } },
    axes: [
      {
        ...axis,
        grid: { show: false },
        gap: 8,
        size: 32,
        space: 64,
        values: (_, splits, __, ___, increment) => timeLabels(clock, splits, increment),
      },
      {
        ...axis,
        gap: 8,
        size: 48,
        space: 44,
        incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6, 2e6, 5e6, 1e7, 2e7, 5e7, 1e8],
        values: (_, splits) => splits.map(short),
      },
    ],
    series: [
      {},
      line(c.waterLine, c.water),
      line(c.accent, c.accentFill),
      line(c.waterLine),
      line(c.accent),
    ],
    hooks: { setCursor: [(plot) => onPoint(plot.cursor.idx ?? null)] },
  };
}

/** A step, and how much of it is counted, for people. */
function stepText(step: string, span: ChartSpan, last: boolean): string {
  if (isWhole(span)) return step;
  return t(last ? "chart.soFar" : "chart.counted", { step, share: percent(span.share) });
}

function Readout({ spans, step, clock, at }: { spans: readonly ChartSpan[]; step: StepLength; clock: ZoneClock; at: number | null }) {
  const span: ChartSpan | undefined = at === null ? undefined : spans[at];
  const passed = span ? span.passed : null;
  const blocked = span ? span.blocked : null;
  return (
    <div class="readout">
      <span class="readout-time">
        {span ? stepText(spanText(clock, step, span.at, span.until), span, at === spans.length - 1) : (clock.zone ?? t("chart.localTime"))}
      </span>
      <span class="key key-pass">{t("words.passed")}{passed !== null && <b>{count(passed)}</b>}</span>
      <span class="key key-block">
        {t("words.blocked")}{blocked !== null && <b>{count(blocked)}</b>}
        {blocked !== null && passed !== null && (
          <span class="quiet">{percent(share(blocked, passed + blocked))}</span>
        )}
      </span>
    </div>
  );
}

export function Chart(props: { spans: readonly ChartSpan[]; step: StepLength; stepName: string; zone?: string | undefined }) {
  const { spans, step, stepName, zone } = props;
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const [at, setAt] = useState<number | null>(null);
  const [scheme, setScheme] = useState(0);
  const clock = useMemo(() => clockOf(zone), [zone]);
  const dots = spans.length < DOTS_BELOW;
  const data = stack(spans);
  const latest = useRef(data);
  latest.current = data;

  useEffect(() => {
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const change = (): void => setScheme((n) => n + 1);
    dark.addEventListener("change", change);
    return () => dark.removeEventListener("change", change);
  }, []);

  // Colours and labels are baked into the canvas: another theme or language means another plot.
  useEffect(() => {
    const root = box.current;
    if (!root) return undefined;
    const made = new uPlot(options(root, clock, dots, setAt), latest.current, root);
    plot.current = made;
    const resize = new ResizeObserver(() => {
      const width = root.clientWidth;
      if (width > 0 && width !== made.width) {
        made.setSize({ width, height: width < NARROW_PX ? HEIGHT_NARROW_PX : HEIGHT_PX });
      }
    });
    resize.observe(root);
    return () => {
      resize.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [theme.value, language.value, scheme, clock, dots]);

  useEffect(() => {
    plot.current?.setData(data);
  }, [spans]);

  const blocked = spans.reduce((sum, span) => sum + span.blocked, 0);
  const passed = spans.reduce((sum, span) => sum + span.passed, 0);
  return (
    <figure class="chart">
      <figcaption class="chart-caption">
        <span>{t("chart.per", { step: stepName })}</span>
        <Readout spans={spans} step={step} clock={clock} at={at} />
      </figcaption>
      <div
        ref={box}
        class="chart-box"
        role="img"
        aria-label={t("chart.label", { passed, blocked, count: spans.length, step: stepName })}
      />
    </figure>
  );
}
