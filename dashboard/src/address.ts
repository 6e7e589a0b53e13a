// Where a device should be pointed to, from what the doors listen on. Pure: the host name under
// which this page was opened is an argument.

import type { Listener } from "./model";

export interface Place {
  scheme: string;
  host: string;
  port: number;
  path: string;
}

const PORTS: Record<string, number> = { udp: 53, tcp: 53, tls: 853, quic: 853, http: 80, https: 443 };

/** Splits `udp://127.0.0.1:5353` or `https://[::]:443/dns-query`; null if it is no such URL. */
export function parsePlace(url: string): Place | null {
  const match = /^([a-z]+):\/\/(\[[^\]]+\]|[^/:]+)(?::(\d+))?(\/.*)?$/.exec(url);
  if (!match) return null;
  const scheme = match[1] ?? "";
  const host = (match[2] ?? "").replace(/^\[|\]$/g, "");
  return { scheme, host, port: Number(match[3] ?? PORTS[scheme] ?? 0), path: match[4] ?? "" };
}

export function isLoopback(host: string): boolean {
  return host === "::1" || host === "localhost" || host.startsWith("127.");
}

function isEverywhere(host: string): boolean {
  return host === "0.0.0.0" || host === "::";
}

export interface Reach {
  /** The address a device enters. */
  host: string;
  port: number;
  /** Only programs on Tidegate's own machine reach it. */
  onlyHere: boolean;
}

/**
 * How a device reaches a door: the first listener of the scheme that other machines can reach,
 * else the first on loopback. A listener on all addresses is reached where this page was.
 */
export function reachOf(listeners: Listener[], door: string, scheme: string, page: string): Reach | null {
  const places = listeners
    .filter((listener) => listener.door === door)
    .map((listener) => parsePlace(listener.url))
    .filter((place): place is Place => place !== null && place.scheme === scheme);
  const open = places.find((place) => !isLoopback(place.host));
  const place = open ?? places[0];
  if (!place) return null;
  const host = isEverywhere(place.host) ? page : place.host;
  return { host, port: place.port, onlyHere: isLoopback(host) };
}

/** `host:port`, with brackets round an IPv6 address. */
export function hostPort(reach: { host: string; port: number }): string {
  return reach.host.includes(":") ? `[${reach.host}]:${reach.port}` : `${reach.host}:${reach.port}`;
}
