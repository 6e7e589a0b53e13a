import { RANGES, type Range } from "../model";
import { range } from "../state";
import { Choice } from "./choice";

const RANGE_TEXT: Record<Range, string> = { "1h": "1 h", "24h": "24 h", "7d": "7 d", "30d": "30 d" };

/** The range of time that views count over. */
export function RangeChoice() {
  return (
    <Choice
      label="Range of time"
      name="range"
      options={RANGES.map((value) => ({ value, text: RANGE_TEXT[value] }))}
      value={range.value}
      onChoose={(value) => {
        range.value = value;
      }}
    />
  );
}
