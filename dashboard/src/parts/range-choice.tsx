import { t } from "../i18n";
import { RANGES } from "../model";
import { range } from "../state";
import { Choice } from "./choice";


/** The range of time that views count over. */
export function RangeChoice() {
  return (
    <Choice
      label={t("ranges.title")}
      name="range"
      options={RANGES.map((value) => ({ value, text: t(`ranges.${value}`) }))}
      value={range.value}
      onChoose={(value) => {
        range.value = value;
      }}
    />
  );
}
