import { clientName, EVERYBODY } from "../clients";
import type { Client, Profile } from "../client-model";
import { count, moment, percent, printable, share } from "../format";
import { holdTag } from "../holds";
import { t } from "../i18n";
import { routeHash } from "../route";
import { today } from "../state";

const COLUMNS = ["client", "address", "profile", "trust", "seen"] as const;
const NUMBERS = ["requests", "blocked"] as const;

/** What is in force for a client by hand, and whether its address will stay. */
export function ClientTags({ client }: { client: Client }) {
  return client.held && <span class={client.held.action === "block" ? "tag tag-block" : "tag tag-land"}>{holdTag(client.held)}</span>;
}

/** A profile's name with its page behind it; that of everybody else has none. */
export function ProfileLink({ name }: { name: string }) {
  if (name === EVERYBODY) return <span class="quiet">{t("clients.everybody")}</span>;
  return <a href={routeHash("clients", { profile: name })}>{printable(name)}</a>;
}

/**
 * The clients as a table; on a phone each becomes a card. The roles are written out because a table
 * that is laid out as a grid loses them.
 */
export function ClientTable({ clients, profiles }: { clients: Client[]; profiles: Profile[] }) {
  return (
    <table class="table clients" role="table">
      <thead role="rowgroup">
        <tr role="row">
          {COLUMNS.map((name) => (
            <th key={name} role="columnheader" scope="col">
              {t(`clients.column.${name}`)}
            </th>
          ))}
          {NUMBERS.map((name) => (
            <th key={name} role="columnheader" scope="col" class="number">
              {t(`clients.column.${name}`)}
            </th>
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup">
        {clients.map((client) => (
          <ClientLine key={client.client} client={client} profiles={profiles} />
        ))}
      </tbody>
    </table>
  );
}

/** A MAC address, with who made the device's network part; a made-up one has no maker. */
function MacAddress({ client }: { client: Client }) {
  const { mac, mac_random, maker } = client;
  return (
    <span class="mac quiet" title={mac_random ? t("clients.madeUpTitle") : undefined}>
      <code>{printable(mac ?? "")}</code>
      {mac_random && ` ${t("clients.madeUp")}`}
      {maker && <span class="maker">{printable(maker)}</span>}
    </span>
  );
}

function ClientLine({ client, profiles }: { client: Client; profiles: Profile[] }) {
  const name = clientName(client, profiles);
  return (
    <tr role="row" class="client">
      <td role="cell" class="c-name">
        <a class="client-name" href={routeHash("clients", { client: client.client })}>
          {name}
        </a>
        {client.name_source && name !== client.client && <span class="client-from">{t(`clients.nameFrom.${client.name_source}`)}</span>}
        <ClientTags client={client} />
      </td>
      <td role="cell" class="c-address">
        <code class={name === client.client ? "c-same" : undefined}>{printable(client.client)}</code>
        {client.mac !== null && <MacAddress client={client} />}
      </td>
      <td role="cell" class="c-profile" data-name={t("clients.inRow.profile")}>
        <ProfileLink name={client.profile} />
      </td>
      <td role="cell" class="c-trust">
        <span class={client.trust === "distrusts" ? "tag tag-land" : "quiet"} data-name={t("clients.inRow.trust")}>{client.trust !== "unknown" && t(`clients.trust.${client.trust}`)}</span>
      </td>
      <td role="cell" class="c-seen">
        <time dateTime={client.last_at}>{moment(client.last_at, today.value)}</time>
      </td>
      <td role="cell" class="c-requests number" data-name={t("clients.inRow.requests")}>{count(client.requests)}</td>
      <td role="cell" class="c-blocked number" data-name={t("clients.inRow.blocked")} title={t("clients.blockedCount", { count: client.blocked })}>
        {percent(share(client.blocked, client.requests))}
      </td>
    </tr>
  );
}
