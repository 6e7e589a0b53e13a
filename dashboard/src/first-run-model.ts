// The admin API's JSON about the first run. Times as in `model.ts`.

export type AddressKind = "private" | "public" | "loopback" | "link_local";
export type PortState = "free" | "ours" | "held" | "forbidden";

export interface OwnAddress {
  address: string;
  interface: string;
  kind: AddressKind;
}

export interface WantedPort {
  port: number;
  protocol: "udp" | "tcp";
  door: string;
  state: PortState;
  /** Who has it. */
  holder: string | null;
  /** A command, or what to do. */
  remedy: string | null;
}

export interface OfferedUpstream {
  name: string;
  url: string;
  note: string;
  current: boolean;
}

export interface FirstRun {
  needed: boolean;
  config: string | null;
  can_write: boolean;
  why_not: string | null;
  addresses: OwnAddress[];
  ports: WantedPort[];
  /** Where blocked hosts are answered; gated if browsers ask before they let a page reach it. */
  pixel: { address: string | null; gated: boolean; remedy: string | null };
  upstreams: OfferedUpstream[];
  lists: { name: string; on: boolean }[];
  people: number;
  this_device: { client: string; asks_dns: boolean; asked_at: string | null; trust: "trusts" | "distrusts" | "unknown" };
  /** An image over HTTPS that only who trusts the authority can load. */
  check_url: string | null;
  /** Until when what was written must be confirmed; null where nothing waits. */
  waiting: { until: string } | null;
}

export interface FirstRunOrder {
  address: string;
  doors: string[];
  upstreams: string[];
  lists: string[];
}

/** What is refused is told as a problem. */
export interface FirstRunAnswer {
  ok: boolean;
  /** Remarks of the reload. */
  complaints: string[];
  /** Null where nothing changed. */
  confirm_within_s: number | null;
  dashboard: string;
}
