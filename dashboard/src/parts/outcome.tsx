import { printable } from "../format";
import { t } from "../i18n";
import type { RequestRow } from "../model";

const failText = (source: string): string => (source === "failed" || source === "refused" ? t(`outcome.${source}`) : printable(source));

/** What became of a request, as a badge: blocked, passed, or failed on the way. */
export function Outcome({ row }: { row: Pick<RequestRow, "action" | "source"> }) {
  const failed = row.action === "pass" && (row.source === "failed" || row.source === "refused");
  const kind = row.action === "block" ? "block" : failed ? "fail" : "pass";
  const text = kind === "block" ? t("why.blocked") : kind === "fail" ? failText(row.source) : t("why.passed");
  return <span class={`badge badge-${kind}`}>{text}</span>;
}
