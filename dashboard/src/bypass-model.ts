// The admin API's JSON about signals of a way around Tidegate. Times as in `model.ts`.

export const SIGNAL_KINDS = ["encrypted_dns", "relay", "vpn", "ech", "canary", "no_dns", "silent"] as const;
export type SignalKind = (typeof SIGNAL_KINDS)[number];

export const BYPASS_RANGES = ["24h", "7d", "30d"] as const;
export type BypassRange = (typeof BYPASS_RANGES)[number];

export interface SignalName {
  text: string;
  count: number;
  blocked: number;
}

/** Something that speaks for a way around, of one device. */
export interface Signal {
  kind: SignalKind;
  /** Requests; of `silent` the days on which it asked. */
  count: number;
  /** Of `silent`, its last question. */
  last_at: string;
  /** Those with most requests; of `no_dns` the doors. */
  names: SignalName[];
}

export interface SignalDevice {
  client: string;
  name: string | null;
  signals: Signal[];
}

export interface Bypass {
  range: string;
  /** Later than the range where there is more than can be looked through. */
  since: string;
  devices: SignalDevice[];
  /** Devices that are left out. */
  more: number;
}
