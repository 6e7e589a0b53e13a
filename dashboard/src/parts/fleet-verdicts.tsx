// What every machine of the fleet says to a question, as a table; on a phone each becomes a card, so
// the roles are written out.

import { api } from "../api";
import { blocksAmong } from "../fleet";
import type { MachineVerdict } from "../fleet-model";
import { count, printable } from "../format";
import { t } from "../i18n";
import type { WhyQuery } from "../model";
import { usePolled } from "../poll";
import { SilenceTag } from "./fleet-replies";
import { Notice } from "./notice";

/** Every machine is asked anew: not often. */
const ASK_AGAIN_MS = 120_000;

export function FleetVerdicts({ question }: { question: WhyQuery }) {
  const answer = usePolled("fleet answer", ASK_AGAIN_MS, (signal) => api.fleetWhy(question, signal));
  const machines = answer.data?.machines ?? [];
  const said = machines.filter((machine) => machine.verdict !== null);
  return (
    <section aria-live="polite" aria-label={t("why.answer")} aria-busy={answer.data === null && answer.fault === null}>
      {answer.fault && <Notice tone="fault" fault={answer.fault} />}
      {answer.data === null && answer.fault === null && <p class="quiet">{t("fleet.asking")}</p>}
      {answer.data && (
        <>
          <div class="fleet-asked">
            <p class="quiet">{t("fleet.blocksAt", { blocks: count(blocksAmong(machines)), count: said.length })}</p>
            <button type="button" class="button" onClick={answer.refresh}>
              {t("fleet.askAgain")}
            </button>
          </div>
          <div class="panel panel-flush">
            <Table machines={machines} own={answer.data.own} />
          </div>
        </>
      )}
    </section>
  );
}

const COLUMNS = ["edge", "verdict", "rule", "revision"] as const;

function Table({ machines, own }: { machines: readonly MachineVerdict[]; own: string }) {
  return (
    <table class="table verdicts" role="table">
      <thead role="rowgroup">
        <tr role="row">
          {COLUMNS.map((column) => (
            <th key={column} role="columnheader" scope="col" class={`h-${column}`}>
              {t(`fleet.column.${column}`)}
            </th>
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup">
        {machines.map((machine) => (
          <Line key={machine.edge} machine={machine} isOwn={machine.edge === own} />
        ))}
      </tbody>
    </table>
  );
}

function Line({ machine, isOwn }: { machine: MachineVerdict; isOwn: boolean }) {
  const { verdict } = machine;
  return (
    <tr role="row" class="verdict-line">
      <td role="cell" class="v-edge">
        <span class="edge-name">{printable(machine.edge)}</span>
        {isOwn && <span class="quiet">{t("fleet.own")}</span>}
      </td>
      <td role="cell" class="v-verdict">
        {verdict === null ? (
          <>
            <SilenceTag reply={machine} />
            {machine.reason !== null && <span class="verdict-more">{printable(machine.reason)}</span>}
          </>
        ) : (
          <>
            <span class={`badge badge-${verdict.action}`}>{t(verdict.action === "block" ? "words.blocked" : "words.passed")}</span>
            {verdict.rule === null && <span class="verdict-more">{printable(verdict.summary)}</span>}
            <span class="verdict-more">{t("fleet.profile", { profile: printable(verdict.profile) })}</span>
          </>
        )}
      </td>
      <td role="cell" class="v-rule">
        {verdict?.rule && (
          <>
            <code>{printable(verdict.rule.text)}</code>
            <span class="verdict-more">{t("fleet.ruleAt", { list: printable(verdict.rule.list), line: String(verdict.rule.line) })}</span>
          </>
        )}
      </td>
      <td role="cell" class="v-revision">
        {machine.revision !== null && t("fleet.revision", { number: String(machine.revision) })}
        {machine.version !== null && <span class="verdict-more">{printable(machine.version)}</span>}
      </td>
    </tr>
  );
}
