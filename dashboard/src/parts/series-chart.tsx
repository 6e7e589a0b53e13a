// The chart of a series of the overview or of one client.

import { useMemo } from "preact/hooks";
import { stepName } from "../format";
import type { Series } from "../model";
import { spansOf } from "../spans";
import { Chart } from "./chart";

const DAY_S = 86_400;

export function SeriesChart({ series, until }: { series: Series; until: Date }) {
  const spans = useMemo(() => spansOf(series, until), [series]);
  const step = series.step_s >= DAY_S ? "day" : "hour";
  return <Chart spans={spans} step={step} stepName={stepName(series.step_s)} />;
}
