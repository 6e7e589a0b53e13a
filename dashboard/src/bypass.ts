// Signals of a way around: their order, what can be done about each, and on which platforms one
// looks. Pure; the words stand with the view.

import { SIGNAL_KINDS, type Bypass, type Signal, type SignalDevice, type SignalKind } from "./bypass-model";

export const PLATFORMS = ["apple", "android", "samsung", "chrome", "firefox", "windows", "vpn", "tv"] as const;
export type Platform = (typeof PLATFORMS)[number];

/** Where what causes a signal is switched off, the likeliest first. */
const LOOKED_AT: Record<SignalKind, readonly Platform[]> = {
  encrypted_dns: ["firefox", "chrome", "android", "samsung", "windows", "apple"],
  relay: ["apple", "vpn"],
  vpn: ["vpn", "apple", "android"],
  ech: ["firefox", "chrome"],
  canary: ["apple", "firefox"],
  no_dns: ["tv", "android", "chrome", "firefox"],
  silent: ["android", "apple", "tv"],
};

/** The platforms to look at for a kind. */
export function platformsOf(kind: SignalKind): readonly Platform[] {
  return LOOKED_AT[kind];
}

/** Kinds of which a name can be blocked for the device alone, so that it falls back on what it was told. */
const BLOCKABLE: ReadonlySet<SignalKind> = new Set(["encrypted_dns", "relay", "vpn"]);
/** Kinds that a list is about. */
const LISTED: ReadonlySet<SignalKind> = new Set(["encrypted_dns", "vpn"]);

/** Kinds after which all goes on at Tidegate's doors: a question that was answered, a handshake that tells less. */
const MILD: ReadonlySet<SignalKind> = new Set(["canary", "ech"]);

export const isMild = (kind: SignalKind): boolean => MILD.has(kind);
export const isBlockable = (kind: SignalKind): boolean => BLOCKABLE.has(kind);
export const isListed = (kind: SignalKind): boolean => LISTED.has(kind);

/** The list about resolvers and tunnels that the dashboard offers to add. */
export const BYPASS_LIST = {
  name: "doh-vpn-bypass",
  url: "https://raw.githubusercontent.com/hagezi/dns-blocklists/main/adblock/doh-vpn-proxy-bypass.txt",
  kind: "block",
} as const;

/** True if a name of a signal can be blocked: an address has no name, and what is blocked is. */
export function canBlock(kind: SignalKind, name: { text: string; count: number; blocked: number }): boolean {
  return isBlockable(kind) && name.blocked < name.count && /^[\w-]+(\.[\w-]+)+$/.test(name.text) && !/^[\d.]+$/.test(name.text);
}

const rank = (kind: SignalKind): number => SIGNAL_KINDS.indexOf(kind);

/** The signals of a device, those that weigh most first. One of a kind that is not known is left out. */
export function signalsOf(device: SignalDevice): Signal[] {
  return device.signals.filter(({ kind }) => rank(kind) >= 0).toSorted((a, b) => rank(a.kind) - rank(b.kind));
}

/** When a device last gave a signal. */
export function lastSignal(device: SignalDevice): string {
  return device.signals.reduce((last, { last_at }) => (last_at > last ? last_at : last), "");
}

/** The devices with the latest signal first, each with something to show. */
export function devicesOf(bypass: Bypass): SignalDevice[] {
  return bypass.devices.filter((device) => signalsOf(device).length > 0).toSorted((a, b) => lastSignal(b).localeCompare(lastSignal(a)));
}

/** How many devices gave a signal of each kind, for the overview of the view. */
export function kindsOf(devices: readonly SignalDevice[]): { kind: SignalKind; devices: number }[] {
  return SIGNAL_KINDS.map((kind) => ({ kind, devices: devices.filter((one) => one.signals.some((signal) => signal.kind === kind)).length })).filter(
    (one) => one.devices > 0,
  );
}
