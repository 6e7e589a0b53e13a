// The machines of a fleet as a table; on a phone each becomes a card, so the roles are written out.

import { conditionOf, inOrder, isBehind, isTrouble, programWords, type Condition, type Machine } from "../fleet";
import type { Edge, FleetRevisions, FleetEdgeStatus } from "../fleet-model";
import { count, percent, printable, span, withUnits } from "../format";
import { t } from "../i18n";
import { routeHash } from "../route";
import { Marked } from "./notice";

const NUMBERS = ["perMinute", "blocked", "waiting"] as const;

interface MachinesProps {
  machines: readonly Machine[];
  published: FleetRevisions | null;
  own: string;
  chosen: string;
  /** True where the fleet's database was asked. */
  hasRows: boolean;
}

export function Machines({ machines, published, own, chosen, hasRows }: MachinesProps) {
  const newest = published?.newest?.revision ?? null;
  const hasWords = published !== null;
  const columns = 3 + (hasWords ? 1 : 0) + (hasRows ? NUMBERS.length : 0);
  return (
    <section class="panel panel-flush" aria-label={t("fleet.edges")}>
      <table class={`table edges${hasRows ? " edges-rows" : ""}${hasWords ? " edges-words" : ""}`} role="table">
        <thead role="rowgroup">
          <tr role="row">
            <Head name="edge" />
            <Head name="seen" />
            {hasWords && <Head name="revision" />}
            <Head name="version" />
            {hasRows && NUMBERS.map((name) => <Head key={name} name={name} isNumber />)}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {inOrder(machines, newest).map((machine) => (
            <Line key={machine.name} {...{ machine, newest, columns, hasWords, hasRows }} isOwn={machine.name === own} isChosen={machine.name === chosen} />
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Head({ name, isNumber }: { name: "edge" | "seen" | "revision" | "version" | (typeof NUMBERS)[number]; isNumber?: boolean }) {
  return (
    <th role="columnheader" scope="col" class={`h-${name}${isNumber ? " number" : ""}`}>
      {t(`fleet.column.${name}`)}
    </th>
  );
}

interface LineProps {
  machine: Machine;
  newest: number | null;
  columns: number;
  hasWords: boolean;
  hasRows: boolean;
  isOwn: boolean;
  isChosen: boolean;
}

function Line({ machine, newest, columns, hasWords, hasRows, isOwn, isChosen }: LineProps) {
  const { name, rows, word } = machine;
  const condition = conditionOf(machine, newest);
  const said = saysOf(word, condition);
  const version = word?.version ?? rows?.version ?? null;
  return (
    <>
      <tr role="row" class={`edge${isChosen ? " edge-chosen" : ""}${said.length > 0 ? " edge-says" : ""}`}>
        <td role="cell" class="e-name">
          <span class={`dot ${dotOf(condition)}`} aria-hidden="true" />
          {hasRows ? (
            <a class="edge-name" href={routeHash("fleet", { edge: isChosen ? "" : name })} aria-current={isChosen ? "true" : undefined}>
              {printable(name)}
            </a>
          ) : (
            <span class="edge-name">{printable(name)}</span>
          )}
          {isOwn && <span class="quiet">{t("fleet.own")}</span>}
        </td>
        <td role="cell" class="e-seen">
          <State condition={condition} machine={machine} />
        </td>
        {hasWords && (
          <td role="cell" class="e-revision">
            {word?.revision == null ? <span class="quiet">{t(word ? "fleet.noRevision" : "fleet.notJoined")}</span> : <Revision word={word} newest={newest} />}
          </td>
        )}
        <td role="cell" class="e-version">
          {version !== null && <Version version={version} isOther={word?.troubles.includes("version") ?? false} />}
          {word && <Program word={word} />}
        </td>
        {hasRows && <Figures rows={rows} />}
      </tr>
      {said.length > 0 && (
        <tr role="row" class={`edge-said${isChosen ? " edge-chosen" : ""}`}>
          <td role="cell" colSpan={columns} aria-colspan={columns}>
            <ul class="fleet-complaints">
              {said.map((line) => (
                <li key={line}>
                  <Marked text={line} />
                </li>
              ))}
            </ul>
          </td>
        </tr>
      )}
    </>
  );
}

/** What is to be read below a machine: programs that do not run, complaints, and a clock that is wrong. */
function saysOf(word: FleetEdgeStatus | null, condition: Condition): string[] {
  if (word === null || condition === "revoked") return [];
  const complaints = word.state === "refused" || word.state === "unreached" ? word.complaints : [];
  const lines = [...programLines(word, complaints), ...complaints.map((complaint) => printable(withUnits(complaint)))];
  const ahead = word.clock_ahead_s ?? 0;
  if (word.troubles.includes("clock")) lines.push(t(ahead > 0 ? "fleet.clockFast" : "fleet.clockSlow", { span: span(Math.abs(ahead)) }));
  return lines;
}

function programLines(word: FleetEdgeStatus, complaints: readonly string[]): string[] {
  const { next, failed } = programWords(word.program, complaints);
  const lines = next === null ? [] : [t("fleet.program.next", { digest: next })];
  if (failed?.fault === null) lines.push(t("fleet.program.failed", { digest: failed.digest }));
  else if (failed) lines.push(t("fleet.program.failedWhy", { digest: failed.digest, fault: printable(withUnits(failed.fault)) }));
  return lines;
}

function State({ condition, machine }: { condition: Condition; machine: Machine }) {
  const { rows, word } = machine;
  const text = {
    refused: () => t("fleet.state.refused", { number: String(word?.offered ?? "?") }),
    unreached: () => t("fleet.state.unreached"),
    silent: () => t("fleet.silent", { span: span(rows?.silent_s ?? word?.told_s ?? 0) }),
    untold: () => t("fleet.state.untold"),
    behind: () => t("fleet.state.behind"),
    waits: () => t("fleet.state.waits"),
    drained: () => t("fleet.state.drained"),
    revoked: () => t("fleet.state.revoked"),
    good: () => t(rows ? "fleet.up" : "fleet.state.good"),
  }[condition]();
  const isQuiet = condition === "good" || condition === "revoked";
  const isDrainedToo = word?.wanted === "drained" && condition !== "drained";
  return (
    <>
      <span class={isQuiet ? "quiet" : `tag ${toneOf(condition)}`}>{text}</span>
      {isDrainedToo && <span class="tag">{t("fleet.state.drained")}</span>}
    </>
  );
}

function Version({ version, isOther }: { version: string; isOther: boolean }) {
  return isOther ? <span class="tag tag-land">{printable(version)}</span> : <span class="quiet">{printable(version)}</span>;
}

/** The fleet's program, where it runs that. */
function Program({ word }: { word: FleetEdgeStatus }) {
  const { runs } = programWords(word.program, []);
  return (
    runs && (
      <span class="e-program" title={t("fleet.program.whole", { digest: runs.whole })}>
        {t("fleet.program.runs", { digest: runs.digest })}
      </span>
    )
  );
}

function Revision({ word, newest }: { word: FleetEdgeStatus; newest: number | null }) {
  return (
    <span class={word.revision === newest ? "" : "quiet"}>
      <span class="e-word">{t("fleet.inRow.revision")} </span>
      {word.revision}
      {word.goes_first && <span class="tag">{t("fleet.canary")}</span>}
    </span>
  );
}

function Figures({ rows }: { rows: Edge | null }) {
  if (rows === null) {
    return (
      <>
        {NUMBERS.map((name) => (
          <td key={name} role="cell" class={`e-none number e-none-${name}`}>
            <span class="quiet">–</span>
          </td>
        ))}
      </>
    );
  }
  return (
    <>
      <td role="cell" class="e-rate number" data-name={t("fleet.inRow.perMinute")}>{count(Math.round(rows.per_minute))}</td>
      <td role="cell" class="e-blocked number" data-name={t("fleet.inRow.blocked")}>{rows.per_minute > 0 ? percent(rows.blocked_share) : "–"}</td>
      <td role="cell" class="e-waiting number">
        {isBehind(rows) ? <span class="tag tag-land">{t("fleet.rowsWait", { count: rows.waiting })}</span> : <span class="quiet">{t("fleet.noneWait")}</span>}
        {rows.dropped > 0 && <span class="e-dropped">{t("fleet.dropped", { count: rows.dropped })}</span>}
      </td>
    </>
  );
}

function dotOf(condition: Condition): string {
  if (isTrouble(condition)) return "dot-bad";
  return condition === "good" ? "dot-good" : "dot-open";
}

function toneOf(condition: Condition): string {
  if (condition === "refused") return "tag-block";
  return isTrouble(condition) ? "tag-land" : "";
}
