// What the chart draws: the steps stacked, and the theme's colours as a canvas takes them.

import type uPlot from "uplot";
import { isWhole, pace, type ChartSpan } from "../spans";

/**
 * Columns for uPlot: times, all, blocked, and both again for steps that are not counted whole, with
 * their neighbour. These are drawn apart, at their pace.
 */
export function stack(spans: readonly ChartSpan[]): uPlot.AlignedData {
  const times = spans.map((span) => span.at.getTime() / 1000);
  const all = (span: ChartSpan): number => span.passed + span.blocked;
  const blocked = (span: ChartSpan): number => span.blocked;
  const whole = (of: (span: ChartSpan) => number): (number | null)[] => spans.map((span) => (isWhole(span) ? of(span) : null));
  const apart = (of: (span: ChartSpan) => number): (number | null)[] =>
    spans.map((span, n) => {
      const beside = [spans[n - 1], spans[n + 1]].some((other) => other !== undefined && !isWhole(other));
      return !isWhole(span) || beside ? pace(of(span), span.share) : null;
    });
  return [times, whole(all), whole(blocked), apart(all), apart(blocked)];
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
