import { doorName, targetOf } from "../explain";
import type { FleetRow } from "../fleet-model";
import { micros, moment, printable, subjectParts } from "../format";
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
export function RequestTable({ rows, onOpen }: { rows: (RequestRow | FleetRow)[]; onOpen?: (row: RequestRow) => void }) {
  const ofFleet = rows.some((row) => "edge" in row);
  return (
    <table class={`table requests${ofFleet ? " requests-fleet" : ""}`} role="table">
      <thead role="rowgroup">
        <tr role="row">
          {ofFleet && (
            <th role="columnheader" scope="col">
              {t("fleet.column.edge")}
            </th>
          )}
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
          <RequestLine key={"edge" in row ? `${row.edge} ${row.id}` : row.id} row={row} {...(onOpen ? { onOpen } : {})} />
        ))}
      </tbody>
    </table>
  );
}

/** A row of another machine leads to the question why, put to all of them: its own is not at hand. */
function RequestLine({ row, onOpen }: { row: RequestRow | FleetRow; onOpen?: (row: RequestRow) => void }) {
  const parts = subjectParts(row.subject);
  const subject = (
    <>
      <span class="subject-quiet">{parts.before}</span>
      {parts.host}
      <span class="subject-quiet">{parts.after}</span>
    </>
  );
  return (
    <tr role="row" class={row.action === "block" ? "request request-block" : "request"}>
      {"edge" in row && (
        <td role="cell" class="c-edge" title={printable(row.edge)}>
          {printable(row.edge)}
        </td>
      )}
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
        {onOpen ? (
          <button type="button" class="subject" onClick={() => onOpen(row)} aria-haspopup="dialog">
            {subject}
          </button>
        ) : (
          <a class="subject" href={routeHash("why", { target: targetOf(row.subject), client: row.client, kind: row.kind, door: row.door, of: "fleet" })}>
            {subject}
          </a>
        )}
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
