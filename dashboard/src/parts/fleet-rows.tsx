// The newest rows of the request logs of all machines of the fleet, or of one. They are asked for
// once and again by hand: each asking is written into the audit log.

import { useEffect, useState } from "preact/hooks";
import { api, faultOf, type Fault } from "../api";
import type { FleetRequests } from "../fleet-model";
import { t } from "../i18n";
import type { RequestsQuery } from "../model";
import { Silent } from "./fleet-replies";
import { Empty, Notice } from "./notice";
import { RequestTable } from "./request-table";

interface FleetRowsProps {
  query: RequestsQuery;
  /** One machine; all of them where it is empty. */
  edge: string;
  /** Is told which machines there are. */
  onMachines: (machines: string[]) => void;
}

export function FleetRows({ query, edge, onMachines }: FleetRowsProps) {
  const [found, setFound] = useState<FleetRequests | null>(null);
  const [fault, setFault] = useState<Fault | null>(null);
  const [turn, setTurn] = useState(0);
  const key = JSON.stringify([query, edge]);
  useEffect(() => {
    const stop = new AbortController();
    const ask = async (): Promise<void> => {
      try {
        const answer = await api.fleetRequests(query, edge, stop.signal);
        setFound(answer);
        setFault(null);
        if (edge === "") onMachines(answer.machines.map((machine) => machine.edge));
      } catch (thrown) {
        if (!stop.signal.aborted) setFault(faultOf(thrown));
      }
    };
    void ask();
    return () => stop.abort();
  }, [key, turn]);
  const hasMore = found?.machines.some((machine) => machine.has_more) ?? false;
  return (
    <>
      <div class="fleet-asked">
        <p class="quiet" role="status">
          {found === null ? (fault ? "" : t("fleet.asking")) : t("fleet.rowsShown", { count: found.rows.length })}
        </p>
        <button type="button" class="button" onClick={() => setTurn((n) => n + 1)}>
          {t("fleet.askAgain")}
        </button>
      </div>
      {fault && <Notice tone="fault" fault={fault} />}
      {found && <Silent machines={found.machines} />}
      {found && found.rows.length === 0 && <Empty title={t("fleet.noRows")}>{t("fleet.noRowsText")}</Empty>}
      {found && found.rows.length > 0 && (
        <div class="panel panel-flush">
          <RequestTable rows={found.rows} />
        </div>
      )}
      {hasMore && <p class="log-end quiet">{t("fleet.moreRows")}</p>}
    </>
  );
}
