// Requests over time, blocked below and passed above, as uPlot draws it on a canvas. The step that
// is not over yet is drawn dashed: its count is not comparable.

import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { count, day, minute, percent, share, short, stepName } from "../format";
import type { Point, Series } from "../model";
import { theme } from "../state";
import { colours, stack } from "./stack";

const HEIGHT_PX = 300;
const HEIGHT_NARROW_PX = 208;
const NARROW_PX = 520;
const DAY_S = 86_400;

function timeLabels(splits: number[], increment: number): string[] {
  let lastDay = "";
  return splits.map((split) => {
    const at = new Date(split * 1000);
    const thisDay = day(at);
    const midnight = at.getHours() === 0 && at.getMinutes() === 0;
    const text = increment >= DAY_S || midnight ? thisDay : minute(at);
    const label = text === lastDay ? "" : text;
    lastDay = thisDay === text ? text : lastDay;
    return label;
  });
}

function options(root: HTMLElement, onPoint: (index: number | null) => void): uPlot.Options {
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
    points: { show: false },
    ...(fill ? { fill } : { dash: [3, 4] }),
  });
  return {
    width,
    height: width < NARROW_PX ? HEIGHT_NARROW_PX : HEIGHT_PX,
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
        values: (_, splits, __, ___, increment) => timeLabels(splits, increment),
      },
      {
        ...axis,
        gap: 8,
        size: 48,
        space: 44,
        incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6, 2e6, 5e6, 1e7],
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

function Readout({ series, at }: { series: Series; at: number | null }) {
  const point: Point | undefined = at === null ? undefined : series.points[at];
  const passed = point ? point.passed : null;
  const blocked = point ? point.blocked : null;
  const start = point ? new Date(point.at) : null;
  const last = at === series.points.length - 1;
  return (
    <div class="readout">
      <span class="readout-time">
        {start
          ? `${day(start)}, ${minute(start)}${last ? ", so far" : ` to ${minute(new Date(start.getTime() + series.step_s * 1000))}`}`
          : "local time"}
      </span>
      <span class="key key-pass">Passed{passed !== null && <b>{count(passed)}</b>}</span>
      <span class="key key-block">
        Blocked{blocked !== null && <b>{count(blocked)}</b>}
        {blocked !== null && passed !== null && (
          <span class="quiet">{percent(share(blocked, passed + blocked))}</span>
        )}
      </span>
    </div>
  );
}

export function Chart({ series }: { series: Series }) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const [at, setAt] = useState<number | null>(null);
  const [scheme, setScheme] = useState(0);
  const data = stack(series);
  const latest = useRef(data);
  latest.current = data;

  useEffect(() => {
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const change = (): void => setScheme((n) => n + 1);
    dark.addEventListener("change", change);
    return () => dark.removeEventListener("change", change);
  }, []);

  // Colours are baked into the canvas: another theme means another plot.
  useEffect(() => {
    const root = box.current;
    if (!root) return undefined;
    const made = new uPlot(options(root, setAt), latest.current, root);
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
  }, [theme.value, scheme]);

  useEffect(() => {
    plot.current?.setData(data);
  }, [series]);

  const blocked = series.points.reduce((sum, point) => sum + point.blocked, 0);
  const passed = series.points.reduce((sum, point) => sum + point.passed, 0);
  return (
    <figure class="chart">
      <figcaption class="chart-caption">
        <span>Requests per {stepName(series.step_s)}</span>
        <Readout series={series} at={at} />
      </figcaption>
      <div
        ref={box}
        class="chart-box"
        role="img"
        aria-label={`Requests over time: ${count(passed)} passed and ${count(blocked)} blocked in ${series.points.length} steps of one ${stepName(series.step_s)}.`}
      />
    </figure>
  );
}
