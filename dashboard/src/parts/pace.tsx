import { micros } from "../format";
import { t } from "../i18n";

/** How long somebody who is asked takes to answer. */
export function Pace({ us }: { us: number }) {
  return (
    <span class="entry-figure">
      <span class="quiet">{t("overview.answersIn")}</span> {micros(us)}
    </span>
  );
}
