// Which clients trust the certificate authority. Shown where handshakes have taught anything of one.

import { moment, printable } from "../format";
import { t } from "../i18n";
import type { ClientTrust } from "../model";
import { routeHash } from "../route";
import { today } from "../state";
import { trustShown, trustText } from "../trust";
import { More, Panel } from "./panel";

const DOTS: Record<ClientTrust["trust"], string> = { trusts: "dot-good", distrusts: "dot-bad", unknown: "dot-open" };

export function Trust({ clients }: { clients: ClientTrust[] }) {
  const { shown, more } = trustShown(clients);
  return (
    <Panel id="trust-title" title={t("trust.title")}>
      <ul class="entries">
        {shown.map((client) => (
          <Client client={client} key={client.client} />
        ))}
      </ul>
      <More more={more} />
    </Panel>
  );
}

function Client({ client }: { client: ClientTrust }) {
  return (
    <li class="entry">
      <div class="entry-main">
        <span class="entry-name">
          <span class={`dot ${DOTS[client.trust]}`} aria-hidden="true" />
          <a href={routeHash("clients", { client: client.client })}>{printable(client.client)}</a>
          {client.trust === "distrusts" && <span class="tag tag-land">{t("trust.noAddress")}</span>}
        </span>
        <span class="entry-figure">{t("trust.lastSeen", { at: moment(client.heard_at, today.value) })}</span>
      </div>
      <div class="entry-sub">
        <span>{trustText(client, today.value)}</span>
      </div>
    </li>
  );
}
