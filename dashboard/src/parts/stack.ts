// What the chart draws: the series stacked, and the theme's colours as a canvas takes them.

import type uPlot from "uplot";
import type { Series } from "../model";

/**
 * Columns for uPlot: times, all, blocked, and both again for the last step alone, which is not
 * over yet and is drawn apart.
 */
export function stack(series: Series): uPlot.AlignedData {
  const { points } = series;
  const last = points.length - 1;
  const times = points.map((point) => Date.parse(point.at) / 1000);
  const all = points.map((point) => point.passed + point.blocked);
  const blocked = points.map((point) => point.blocked);
  const over = (values: number[]): (number | null)[] => values.map((value, n) => (n < last ? value : null));
  const tail = (values: number[]): (number | null)[] => values.map((value, n) => (n >= last - 1 ? value : null));
  return [times, over(all), over(blocked), tail(all), tail(blocked)];
}

export interface Colours {
  water: string;
  waterLine: string;
  accent: string;
  accentFill: string;
  rule: string;
  quiet: string;
  surface: string;
  font: string;
}

/** Resolves the custom properties: a canvas knows neither `var()` nor `light-dark()`. */
export function colours(root: HTMLElement): Colours {
  const probe = document.createElement("span");
  root.append(probe);
  const read = (name: string): string => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  const found = {
    water: read("water"),
    waterLine: read("water-line"),
    accent: read("accent"),
    accentFill: read("accent-fill"),
    rule: read("rule"),
    quiet: read("ink-3"),
    surface: read("surface"),
    font: getComputedStyle(root).fontFamily,
  };
  probe.remove();
  return found;
}
