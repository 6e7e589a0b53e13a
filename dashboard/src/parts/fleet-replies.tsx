// Machines that said nothing when all were asked, each with the reason.

import type { FleetReply } from "../fleet-model";
import { printable } from "../format";
import { t } from "../i18n";

/** True for a machine whose silence somebody should look at. */
const isTrouble = (reply: FleetReply): boolean => reply.state !== "declined";

export function SilenceTag({ reply }: { reply: FleetReply }) {
  if (reply.state === "answered") return null;
  return (
    <span class={isTrouble(reply) ? "tag tag-land" : "tag"} title={reply.reason ?? undefined}>
      {t(`fleet.reply.${reply.state}`)}
    </span>
  );
}

/** Those that gave nothing; nothing where all answered. */
export function Silent({ machines }: { machines: readonly FleetReply[] }) {
  const silent = machines.filter((machine) => machine.state !== "answered");
  if (silent.length === 0) return null;
  return (
    <ul class="fleet-silent" aria-label={t("fleet.silentOnes")}>
      {silent.map((machine) => (
        <li key={machine.edge}>
          <span class="fleet-silent-name">{printable(machine.edge)}</span>
          <SilenceTag reply={machine} />
        </li>
      ))}
    </ul>
  );
}
