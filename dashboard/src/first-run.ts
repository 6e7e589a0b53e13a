// The steps of the first run: which there are, which are done, and what is written. Pure.

import type { FirstRun, FirstRunOrder, OwnAddress, WantedPort } from "./first-run-model";
import { isLoopback } from "./address";

export const STEPS = ["address", "upstreams", "lists", "write", "certificate", "user", "device"] as const;
export type Step = (typeof STEPS)[number];

/** The step that an address names; the first if none. */
export function stepOf(word: string | undefined): Step {
  return STEPS.find((step) => step === word) ?? "address";
}

export function stepAfter(step: Step): Step | null {
  return STEPS[STEPS.indexOf(step) + 1] ?? null;
}

export function stepBefore(step: Step): Step | null {
  return STEPS[STEPS.indexOf(step) - 1] ?? null;
}

/** What is chosen in the wizard and not written yet. */
export interface Draft {
  address: string;
  doors: string[];
  upstreams: string[];
  lists: string[];
}

/** What the content of a step is given. */
export interface StepProps {
  known: FirstRun;
  chosen: Draft;
  refresh: () => void;
  onChange: (part: Partial<Draft>) => void;
}

/** The address that other devices most likely reach: a private one, of IPv4 before IPv6. */
export function bestAddress(addresses: readonly OwnAddress[]): string {
  const weight = ({ address, kind }: OwnAddress): number =>
    (kind === "private" ? 0 : kind === "public" ? 4 : 8) + (address.includes(":") ? 1 : 0) + (isLoopback(address) ? 16 : 0);
  return addresses.toSorted((a, b) => weight(a) - weight(b))[0]?.address ?? "";
}

/** What is chosen at first: what is in force, else the first of what is offered. */
export function firstDraft(known: FirstRun): Draft {
  const current = known.upstreams.filter((one) => one.current).map((one) => one.url);
  const on = known.lists.filter((list) => list.on).map((list) => list.name);
  return {
    address: bestAddress(known.addresses),
    // A proxy is nothing that a network needs from the first day.
    doors: doorsOf(known.ports).filter((door) => door !== "proxy"),
    upstreams: current.length > 0 ? current : known.upstreams.slice(0, 1).map((one) => one.url),
    lists: on.length > 0 ? on : known.lists.slice(0, 1).map((list) => list.name),
  };
}

/** The doors that the ports are wanted for, each once. */
export function doorsOf(ports: readonly WantedPort[]): string[] {
  return [...new Set(ports.map((port) => port.door))];
}

/** The ports of chosen doors that cannot be had now. */
export function portsInTheWay(ports: readonly WantedPort[], doors: readonly string[]): WantedPort[] {
  return ports.filter((port) => doors.includes(port.door) && (port.state === "held" || port.state === "forbidden"));
}

export function orderOf(draft: Draft): FirstRunOrder {
  return { ...draft };
}

/** Which of what follows the writing is done already. */
export function isDone(step: Step, known: FirstRun): boolean {
  switch (step) {
    case "address":
    case "upstreams":
    case "lists":
    case "write":
      return !known.needed && known.waiting === null;
    case "certificate":
      return known.this_device.trust === "trusts";
    case "user":
      return known.people > 0;
    case "device":
      return known.this_device.asks_dns;
  }
}

/** Seconds until something ends; none where it has. */
export function secondsLeft(until: string, now: Date): number {
  return Math.max(0, Math.ceil((Date.parse(until) - now.getTime()) / 1000));
}
