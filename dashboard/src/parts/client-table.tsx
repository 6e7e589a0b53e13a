import { clientName, EVERYBODY } from "../clients";
import type { Client, Profile } from "../client-model";
import { count, moment, percent, printable, share } from "../format";
import { holdTag } from "../holds";
import type { ClientTrust } from "../model";
import { routeHash } from "../route";
import { today } from "../state";

const TRUST_TEXT: Record<ClientTrust["trust"], string> = { trusts: "trusted", distrusts: "not trusted", unknown: "" };

/** What is in force for a client by hand, and whether its address will stay. */
export function ClientTags({ client }: { client: Client }) {
  return client.held && <span class={client.held.action === "block" ? "tag tag-block" : "tag tag-land"}>{holdTag(client.held)}</span>;
}

/** A profile's name with its page behind it; that of everybody else has none. */
export function ProfileLink({ name }: { name: string }) {
  if (name === EVERYBODY) return <span class="quiet">everybody</span>;
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
          {["Client", "Address", "Profile", "Authority", "Last seen"].map((name) => (
            <th key={name} role="columnheader" scope="col">
              {name}
            </th>
          ))}
          {["Requests", "Blocked"].map((name) => (
            <th key={name} role="columnheader" scope="col" class="number">
              {name}
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

function ClientLine({ client, profiles }: { client: Client; profiles: Profile[] }) {
  const name = clientName(client, profiles);
  return (
    <tr role="row" class="client">
      <td role="cell" class="c-name">
        <a class="client-name" href={routeHash("clients", { client: client.client })}>
          {name}
        </a>
        <ClientTags client={client} />
      </td>
      <td role="cell" class="c-address">
        <code class={name === client.client ? "c-same" : undefined}>{printable(client.client)}</code>
        {client.mac !== null && (
          <code class="quiet" title={client.mac_random ? "Made up by the device" : undefined}>
            {printable(client.mac)}
            {client.mac_random && " (made up)"}
          </code>
        )}
      </td>
      <td role="cell" class="c-profile">
        <ProfileLink name={client.profile} />
      </td>
      <td role="cell" class="c-trust">
        <span class={client.trust === "distrusts" ? "tag tag-land" : "quiet"}>{TRUST_TEXT[client.trust]}</span>
      </td>
      <td role="cell" class="c-seen">
        <time dateTime={client.last_at}>{moment(client.last_at, today.value)}</time>
      </td>
      <td role="cell" class="c-requests number">{count(client.requests)}</td>
      <td role="cell" class="c-blocked number" title={`${count(client.blocked)} blocked`}>
        {percent(share(client.blocked, client.requests))}
      </td>
    </tr>
  );
}
