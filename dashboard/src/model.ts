// The admin API's JSON, as `crates/admin-api/src/lib.rs` describes it.
// Times are ISO 8601 in UTC; numbers carry their unit in the name (`_s`, `_us`, `_bytes`).

export { DOORS } from "./doors";

export const RANGES = ["1h", "24h", "7d", "30d"] as const;
export type Range = (typeof RANGES)[number];

export type Action = "pass" | "block";
export type Cause = "none" | "rule" | "paused" | "by_hand" | "not_asked" | "unlisted" | "other_blocker";
export type TopWhat = "blocked" | "names" | "clients";

export interface Listener {
  door: string;
  url: string;
}

export interface DoorLatency {
  door: string;
  count: number;
  median_us: number;
  p99_us: number;
}

export interface Status {
  version: string;
  started_at: string;
  uptime_s: number;
  paused_until: string | null;
  pid: number;
  config: string | null;
  state: string;
  listeners: Listener[];
  lists: number;
  rules: number;
  rules_bytes: number;
  resident_bytes: number | null;
  ca_fingerprint: string | null;
  warnings: string[];
  /** A newer version, where one was told. */
  newer: { version: string; page: string | null } | null;
  /** Name of this machine in its fleet; null where it neither looks for bundles nor sends rows. */
  fleet: string | null;
  /** True if this machine asks all of its fleet; older releases do not say. */
  asks_fleet?: boolean;
  /** Parts of the fleet of which the API tells. */
  fleet_parts: ("bundles" | "rows")[];
  ledger: { stored: number; dropped_queue: number; dropped_store: number };
  latency: DoorLatency[];
}

export interface Totals {
  range: string;
  since: string;
  until: string;
  requests: number;
  passed: number;
  blocked: number;
  blocked_share: number;
  by_door: { door: string; passed: number; blocked: number }[];
  by_source: { source: string; count: number }[];
}

export interface Point {
  at: string;
  passed: number;
  blocked: number;
}

export interface Series {
  range: string;
  step_s: number;
  /** When counting began; null before the first request, and not told of single clients. */
  begins?: string | null;
  /** From old to new, steps without requests too; the last is not over yet. */
  points: Point[];
}

export interface TopLine {
  text: string;
  count: number;
  blocked: number;
}

export interface TopTable {
  what: string;
  range: string;
  lines: TopLine[];
}

export interface Rule {
  list: string;
  line: number;
  text: string;
}

export interface RequestRow {
  id: number;
  /** What a block page calls it: 01A2-076A-9DE3. */
  number: string;
  at: string;
  door: string;
  client: string;
  subject: string;
  kind: string;
  action: Action;
  cause: Cause;
  rule: Rule | null;
  source: string;
  /** What the door's HTTP cache did, in the words of Cache-Status; null where none was asked. */
  cache: string | null;
  /** Why the answer was not stored. */
  not_stored: string | null;
  /** Both in a sentence. */
  cache_text: string | null;
  status: number;
  status_text: string;
  bytes: number;
  took_us: number;
}

export interface RequestPage {
  rows: RequestRow[];
  next_before: number | null;
}

/** What rows are asked for: empty words are left out. Times in milliseconds since 1970. */
export interface RequestsQuery {
  filter: string;
  door: string;
  action: string;
  client: string;
  /** A host: itself, and what is under it. */
  name: string;
  kind: string;
  list: string;
  source: string;
  /** `404`, `4xx`, `NXDOMAIN`; several by commas. */
  status: string;
  from: string;
  to: string;
  slower_than_us: string;
  faster_than_us: string;
}

export interface RuleMatch extends Rule {
  decides: boolean;
  note: string;
}

export interface Why {
  target: string;
  client: string;
  profile: string;
  host: string;
  /** The registrable name of the host. */
  site: string;
  door: string;
  kind: string;
  page: string | null;
  action: Action;
  cause: Cause;
  rule: Rule | null;
  /** Since when the list that the rule stands on is unchanged. */
  list_changed_at: string | null;
  summary: string;
  /** Every rule that matched, the deciding one first. */
  matches: RuleMatch[];
  door_outcome: string;
  /** What the door has stored of the URL, a sentence for each variant, and why its last answer was not stored. */
  stored: string[];
}

export interface WhyQuery {
  target: string;
  client: string;
  kind: string;
  door: string;
}

export interface List {
  name: string;
  kind: string;
  from: string;
  syntax: string;
  lines: number;
  rules_names: number;
  rules_urls: number;
  skipped: number;
  skipped_by_reason: { reason: string; count: number }[];
  skipped_lines: { file?: string | null; line: number; reason: string; text: string }[];
  loaded_at: string | null;
  /** Since when it is unchanged. */
  changed_at: string | null;
  /** Why nothing of it is in force. */
  unfit: string | null;
  /** Added in the dashboard, and can be removed there. */
  made: boolean;
  /** Holds for nobody. */
  off: boolean;
  /** Requests of the last seven days that it blocked; null where nothing was counted. */
  blocked_7d?: number | null;
  subscription: Subscription | null;
}

/** How much of one list stands in another. */
export interface Overlap {
  name: string;
  /** Names that both have. */
  names: number;
  /** That part of the first list's, 0 to 1. */
  share: number;
}

export interface ListOverlap {
  name: string;
  names: number;
  /** Those that hold most of it first. */
  held_by: Overlap[];
}

export interface Overlaps {
  counted_at: string;
  lists: ListOverlap[];
}

/** How a list with a URL is kept. */
export interface Subscription {
  url: string;
  bytes: number | null;
  fetched_at: string | null;
  checked_at: string | null;
  next_at: string | null;
  is_fetching: boolean;
  failures: number;
  failure: string | null;
}

export interface Upstream {
  /** The view or plugin that asks it; empty for the first group. */
  group: string;
  name: string;
  address: string;
  queries: number;
  failures: number;
  timeouts: number;
  unproved: number;
  latency_us: number | null;
  healthy: boolean;
}

/** A server of a pool of the gateway. */
export interface PoolServer {
  url: string;
  weight: number;
  backup: boolean;
  state: "up" | "trial" | "resting" | "down" | "draining";
  health: "up" | "down" | "unknown";
  rests_ms: number;
  pending: number;
  answers: number;
  failures: number;
  /** 0 while nobody has asked. */
  latency_us: number;
}

/** A name that servers of a pool are found by. */
export interface PoolName {
  url: string;
  /** What is asked for. */
  resolve: "addresses" | "srv";
  servers: number;
  /** Why the last look-up failed. The servers that it had stay. */
  failure: string | null;
  /** Null before the first look-up. */
  looked_up_at: string | null;
  /** Null while one is under way. */
  next_at: string | null;
}

/** Servers that serve the same. */
export interface Pool {
  name: string;
  requests: number;
  retries: number;
  waiting_high: number;
  waiting_normal: number;
  waiting_low: number;
  waited: number;
  unserved: number;
  servers: PoolServer[];
  /** The names that some of them are found by. */
  names: PoolName[];
}

/** An origin that the proxy has connections to, or had several to of late. */
export interface Origin {
  origin: string;
  version: "1.1" | "2";
  open: number;
  idle: number;
  /** Connections that are opened together the next time; 0 where that is not learnt. */
  at_once: number;
  /** For how long none of them has carried a request. */
  unused_s: number;
}

/** What handshakes have taught about a client's trust in the certificate authority. */
export interface ClientTrust {
  client: string;
  trust: "trusts" | "distrusts" | "unknown";
  requests: number;
  alerts: number;
  silences: number;
  heard_at: string;
  /** Until when it gets no address of the pixel door; null where it does. */
  avoided_until: string | null;
}

/** A name that passes though rules block it. */
/** What is allowed or blocked by hand. */
export interface Override {
  host: string;
  client: string | null;
  profile: string | null;
  /** Null until it is revoked. */
  until: string | null;
  left_s: number | null;
}

/** What is asked for by hand: a name with all below it, for whom, for how long. */
export interface OverrideOrder {
  host: string;
  minutes: number | "always";
  client: string | null;
  profile: string | null;
}

/** A list that is to be added, with a URL or rules. */
export interface NewList {
  name: string;
  url?: string;
  rules?: string;
  kind: "block" | "allow";
}

/** A change that is tried on recorded requests: one of them. */
export interface TriedChange {
  own_rules?: string;
  add_list?: NewList;
  switch_list?: { name: string; on: boolean };
  remove_list?: string;
  profile?: { revision: string; was: string | null; profile: unknown };
  group?: { revision: string; was: string | null; group: unknown };
}

export interface TriedName {
  name: string;
  action: Action;
  requests: number;
  clients: string[];
  rule: string | null;
}

export interface TriedRule {
  list: string;
  line: number;
  text: string;
  action: Action;
  requests: number;
}

/** What a change would have made of the requests of a while. */
export interface TriedOutcome {
  requests: number;
  blocked: number;
  passed: number;
  skipped: number;
  names: TriedName[];
  more: number;
  rules: TriedRule[];
  took_ms: number;
}

/** Own rules, with a word for this text. */
export interface OwnRules {
  text: string;
  revision: string;
}

export interface ListUpdated {
  lists: { name: string; outcome: "changed" | "same" | "failed"; failure: string | null }[];
  is_fetching: boolean;
}

export interface Reloaded {
  lists: number;
  rules: number;
  took_ms: number;
  warnings: string[];
}

export interface Paused {
  paused_until: string | null;
}

export interface Problem {
  error: string;
  remedy: string;
  complaints?: string[];
  /** What signing in needs besides: the code of the second step. */
  needs?: "code";
}

/** What to list of the caches: empty words are left out. */
export interface CacheQuery {
  site: string;
  prefix: string;
  door: string;
  after: string;
}

export interface CacheIndex {
  caches: CachePage[];
}

export interface CachePage {
  door: string;
  sites: CachedSite[];
  urls: CachedUrl[];
  next_after?: string | null;
  complete: boolean;
}

export interface CachedSite {
  site: string;
  memory_objects: number;
  memory_bytes: number;
  disk_objects: number;
  disk_bytes: number;
}

export interface CachedUrl {
  url: string;
  responses: CachedResponse[];
}

export interface CachedResponse {
  status: number;
  memory_bytes: number | null;
  front_bytes: number | null;
  disk_bytes: number | null;
  age_s: number;
  fresh_s: number;
}

/** Which stored responses to take back. */
export interface TakeBack {
  what: "url" | "prefix" | "host" | "tag" | "all";
  value: string;
  door: string;
}
