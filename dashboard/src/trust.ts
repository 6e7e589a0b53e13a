// What is said of clients' trust in the certificate authority, for people. Pure: it fetches nothing and
// knows no clock but the times that the API gives.

import { few } from "./few";
import { moment } from "./format";
import { t } from "./i18n";
import type { ClientTrust } from "./model";


/** What is known of a client, and until when that leaves it without an address; `today` as `moment` takes it. */
export function trustText(client: ClientTrust, today: string): string {
  const { trust, avoided_until: until } = client;
  const state = t(`trust.states.${trust}`);
  return until === null ? state : t("trust.until", { state, at: moment(until, today) });
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
