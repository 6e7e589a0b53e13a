import { doorName } from "../explain";
import { micros, moment, subjectParts } from "../format";
import { t } from "../i18n";
import type { RequestRow } from "../model";
import { routeHash } from "../route";
import { sourceName } from "../row-sources";
import { today } from "../state";
import { Outcome } from "./outcome";

const COLUMNS = ["time", "door", "client", "kind", "subject", "outcome", "source"] as const;

/**
 * The rows as a table; on a phone each becomes a card. The roles are written out because a table
 * that is laid out as a grid loses them.
 */
export function RequestTable({ rows, onOpen }: { rows: RequestRow[]; onOpen: (row: RequestRow) => void }) {
  return (
    <table class="table requests" role="table">
      <thead role="rowgroup">
        <tr role="row">
          {COLUMNS.map((column) => (
            <th key={column} role="columnheader" scope="col">
              {t(`log.column.${column}`)}
            </th>
          ))}
          <th role="columnheader" scope="col" class="number">
            {t("log.column.took")}
          </th>
        </tr>
      </thead>
      <tbody role="rowgroup">
        {rows.map((row) => (
          <RequestLine key={row.id} row={row} onOpen={onOpen} />
        ))}
      </tbody>
    </table>
  );
}

function RequestLine({ row, onOpen }: { row: RequestRow; onOpen: (row: RequestRow) => void }) {
  const parts = subjectParts(row.subject);
  return (
    <tr role="row" class={row.action === "block" ? "request request-block" : "request"}>
      <td role="cell" class="c-time">
        <time dateTime={row.at}>{moment(row.at, today.value)}</time>
      </td>
      <td role="cell" class="c-door">
        {doorName(row.door)}
      </td>
      <td role="cell" class="c-client" data-from={t("log.from")} title={row.client}>
        <a href={routeHash("clients", { client: row.client })}>{row.client}</a>
      </td>
      <td role="cell" class="c-kind">
        {row.kind}
      </td>
      <td role="cell" class="c-subject">
        <button type="button" class="subject" onClick={() => onOpen(row)} aria-haspopup="dialog">
          <span class="subject-quiet">{parts.before}</span>
          {parts.host}
          <span class="subject-quiet">{parts.after}</span>
        </button>
      </td>
      <td role="cell" class="c-outcome">
        <Outcome row={row} />
        <span class="status">{row.status_text}</span>
      </td>
      <td role="cell" class="c-source">
        {sourceName(row.source)}
      </td>
      <td role="cell" class="c-took number">
        {micros(row.took_us)}
      </td>
    </tr>
  );
}
