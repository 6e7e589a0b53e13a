// What is said of clients, for people: their names, their order, who is found by a word, and what a
// move from one profile to another takes. Pure.

import type { Client, Profile, Profiles, ProfileSettings } from "./client-model";
import { printable } from "./format";

/** The profile of whoever no other is about. */
export const EVERYBODY = "default";

const MAC = /^[0-9a-f]{2}([:-][0-9a-f]{2}){5}$/i;
/** Fewer clients than this are found without a search. */
export const SEARCH_FROM = 9;

export const SORTS = ["requests", "seen", "name"] as const;
export type Sort = (typeof SORTS)[number];

/** One device, and not a network, a user or an interface. */
export function isOneDevice(member: string): boolean {
  if (/^(user|interface):/.test(member)) return false;
  if (member.startsWith("id:") || MAC.test(member)) return true;
  const [address = "", prefix] = member.split("/", 2);
  return prefix === undefined || prefix === (address.includes(":") ? "128" : "32");
}

/** The name somebody gave a client: its profile's, if that is about one device. */
export function givenName(client: Pick<Client, "profile">, profiles: readonly Profile[]): string | null {
  const profile = profiles.find((known) => known.name === client.profile);
  const [only, ...others] = profile?.match ?? [];
  return profile && only !== undefined && others.length === 0 && isOneDevice(only) ? profile.name : null;
}

/** What a client is called: as somebody named it, else as DNS does, else its address. */
export function clientName(client: Client, profiles: readonly Profile[]): string {
  return printable(givenName(client, profiles) ?? client.name ?? client.client);
}

/** The clients in an order; the busiest first where that leaves a choice. */
export function sorted(clients: readonly Client[], sort: Sort, profiles: readonly Profile[]): Client[] {
  const busier = (a: Client, b: Client): number => b.requests - a.requests || a.client.localeCompare(b.client);
  const named = (client: Client): boolean => (givenName(client, profiles) ?? client.name) !== null;
  const orders: Record<Sort, (a: Client, b: Client) => number> = {
    requests: busier,
    seen: (a, b) => b.last_at.localeCompare(a.last_at) || busier(a, b),
    // Those that are only addresses come last.
    name: (a, b) =>
      Number(named(b)) - Number(named(a)) ||
      clientName(a, profiles).localeCompare(clientName(b, profiles), "en", { numeric: true }) ||
      busier(a, b),
  };
  return clients.toSorted(orders[sort]);
}

/** Those of which some word has the text as a part. */
export function found(clients: readonly Client[], text: string, profiles: readonly Profile[]): Client[] {
  const wanted = text.trim().toLowerCase();
  if (wanted === "") return [...clients];
  return clients.filter((client) =>
    [client.client, client.name ?? "", client.mac ?? "", client.profile, clientName(client, profiles)].some((word) =>
      word.toLowerCase().includes(wanted),
    ),
  );
}

/**
 * What a profile names a client by: its MAC address if that will be the same tomorrow, else its
 * address.
 */
export function memberOf(client: Pick<Client, "client" | "mac" | "mac_random">): string {
  return client.mac !== null && !client.mac_random ? client.mac : client.client;
}

/** The settings alone, as they are sent. */
export function settingsOf(profile: Profile): ProfileSettings {
  const { made_here: _made_here, ...settings } = profile;
  return settings;
}

const sameMember = (one: string, other: string): boolean => one.trim().toLowerCase() === other.trim().toLowerCase();

/** The entries of a profile that name this very client, and not a network that it is in. */
export function entriesOf(profile: Pick<Profile, "match">, client: Pick<Client, "client" | "mac">): string[] {
  return profile.match.filter(
    (entry) => sameMember(entry, client.client) || (client.mac !== null && sameMember(entry, client.mac)),
  );
}

/** One change of the profiles. */
export type ProfileStep =
  | { does: "remove"; name: string }
  | { does: "put"; was: string | null; profile: ProfileSettings };

export const NEW_PROFILE: ProfileSettings = {
  name: "",
  match: [],
  lists: null,
  groups: [],
  tags: [],
  schedule: [],
  otherwise: null,
  blocked: null,
};

/**
 * What moves a client to a profile, which may be a new one or that of everybody: first it is
 * taken out of those of the dashboard that name it, then put in. A profile that would be about
 * nobody is removed, because there is no such profile.
 */
export function moveSteps(known: Pick<Profiles, "profiles">, client: Client, target: string): ProfileStep[] {
  const steps: ProfileStep[] = [];
  for (const profile of known.profiles) {
    if (!profile.made_here || profile.name === target) continue;
    const entries = entriesOf(profile, client);
    if (entries.length === 0) continue;
    const match = profile.match.filter((entry) => !entries.includes(entry));
    const settings = settingsOf(profile);
    steps.push(
      match.length === 0
        ? { does: "remove", name: profile.name }
        : { does: "put", was: profile.name, profile: { ...settings, match } },
    );
  }
  if (target === EVERYBODY) return steps;
  const there = known.profiles.find((profile) => profile.name === target);
  const member = memberOf(client);
  if (!there) steps.push({ does: "put", was: null, profile: { ...NEW_PROFILE, name: target, match: [member] } });
  else if (entriesOf(there, client).length === 0) {
    steps.push({ does: "put", was: target, profile: { ...settingsOf(there), match: [...there.match, member] } });
  }
  return steps;
}

/** The file's profile that names a client, which nothing here can change. */
export function fixedProfile(known: Pick<Profiles, "profiles">, client: Client): Profile | null {
  const own = known.profiles.find((profile) => profile.name === client.profile);
  return own && !own.made_here ? own : null;
}
