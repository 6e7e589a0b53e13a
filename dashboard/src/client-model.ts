// The admin API's JSON about clients, their profiles and the groups of these. Times and units as in
// `model.ts`.

import type { ClientTrust, Point } from "./model";

/** A device that asked within the range. */
export interface Client {
  client: string;
  /** As it calls itself, or as DNS does. */
  name: string | null;
  /** Who told the name. */
  name_source?: NameSource | null;
  /** From the kernel's table of neighbours. */
  mac: string | null;
  /** The device made that address up, and may make up another tomorrow. */
  mac_random: boolean;
  /** Who made the device's network part; null for an address that was made up. */
  maker?: string | null;
  profile: string;
  requests: number;
  blocked: number;
  first_at: string;
  last_at: string;
  trust: ClientTrust["trust"];
  held: ClientHold | null;
}

/** A local record, the device's own word to the DHCP server, its announcement, or a reverse look-up. */
export type NameSource = "local" | "dhcp" | "mdns" | "reverse";

/** Everything allowed for a client, or everything blocked, by hand. */
export interface ClientHold {
  action: "allow" | "block";
  /** Null until it is taken back. */
  until: string | null;
  left_s: number | null;
}

export interface Clients {
  clients: Client[];
  /** Clients that are left out: the busiest thousand are told. */
  more: number;
}

export interface NameCount {
  text: string;
  count: number;
}

/** What one client did. */
export interface ClientActivity {
  client: string;
  step_s: number;
  /** From old to new, steps without requests too; the last is not over yet. */
  points: Point[];
  /** Names that passed, the one asked for most first. */
  names: NameCount[];
  blocked: NameCount[];
}

/** What holds at certain hours: lists, one rule, or the treatment of all that no rule is about. */
export interface Schedule {
  block: string;
  lists: string[];
  /** Null for what holds at other hours too. */
  otherwise: Otherwise | null;
  /** `mon-fri,sun`; empty for every day. */
  days: string;
  /** `21:00`; empty for midnight. */
  from: string;
  /** Not after `from`, it is on the next day. */
  to: string;
}

export type Otherwise = "pass" | "block";
export type BlockStyle = "pixel" | "nodata" | "nxdomain" | "null" | "refused";

/** What can be said of a profile. */
export interface ProfileSettings {
  name: string;
  match: string[];
  /** Null for those of everybody, or with groups for none but theirs. */
  lists: string[] | null;
  groups: string[];
  tags: string[];
  schedule: Schedule[];
  otherwise: Otherwise | null;
  blocked: BlockStyle | null;
}

export interface Profile extends ProfileSettings {
  /** False if it is set in the configuration's file. */
  made_here: boolean;
}

/** What can be said of a group. */
export interface GroupSettings {
  name: string;
  lists: string[] | null;
  schedule: Schedule[];
}

export interface Group extends GroupSettings {
  made_here: boolean;
}

/** A list that can be chosen. */
export interface ListChoice {
  name: string;
  kind: string;
  off: boolean;
}

export interface Profiles {
  revision: string;
  lists: ListChoice[];
  default: { lists: string[] | null; otherwise: Otherwise };
  profiles: Profile[];
  groups: Group[];
  /** Where the hours of schedules are read. */
  time_zone?: string;
}

export interface ProfileOrder {
  revision: string;
  was: string | null;
  profile: ProfileSettings;
}

export interface GroupOrder {
  revision: string;
  was: string | null;
  group: GroupSettings;
}

export interface RemoveOrder {
  revision: string;
  name: string;
}
