import { printable } from "../format";
import type { RequestRow } from "../model";

/** What became of a request, as a badge: blocked, passed, or failed on the way. */
export function Outcome({ row }: { row: Pick<RequestRow, "action" | "source"> }) {
  const failed = row.action === "pass" && (row.source === "failed" || row.source === "refused");
  const kind = row.action === "block" ? "block" : failed ? "fail" : "pass";
  const text = kind === "block" ? "Blocked" : kind === "fail" ? printable(row.source) : "Passed";
  return <span class={`badge badge-${kind}`}>{text}</span>;
}
