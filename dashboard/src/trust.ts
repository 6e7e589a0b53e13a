// What is said of clients' trust in the certificate authority, for people. Pure: it fetches nothing and
// knows no clock but the times that the API gives.

import { few } from "./few";
import { moment } from "./format";
import type { ClientTrust } from "./model";

const STATE_TEXT: Record<ClientTrust["trust"], string> = {
  trusts: "trusts the authority",
  distrusts: "does not trust the authority, so blocked names have no address for it",
  unknown: "not known yet",
};

/** What is known of a client, and until when that leaves it without an address; `today` as `moment` takes it. */
export function trustText(client: ClientTrust, today: string): string {
  const { trust, avoided_until: until } = client;
  return until === null ? STATE_TEXT[trust] : `${STATE_TEXT[trust]} until ${moment(until, today)}`;
}

/**
 * The clients to show, and how many are left out. Those that do not trust the authority stand first: they
 * are what there is to do something about. Else the order is the API's, the one heard of last first.
 */
export function trustShown(clients: ClientTrust[]): { shown: ClientTrust[]; more: number } {
  return few([
    ...clients.filter((client) => client.trust === "distrusts"),
    ...clients.filter((client) => client.trust !== "distrusts"),
  ]);
}
