// A fleet at a glance: sums over its machines, how each does, and in which order they are shown. Pure.

import type { Edge, FleetProgram, FleetRevisions, FleetEdgeStatus, MachineVerdict } from "./fleet-model";

export interface FleetSums {
  edges: number;
  up: number;
  perMinute: number;
  /** Share that was blocked, 0 to 1. */
  blocked: number;
  waiting: number;
}

/** Fewer rows than this wait in any case: they are sent every quarter of a second. */
const WAITING_MIN = 1_000;

/** True where rows pile up. */
export const isBehind = (edge: Edge): boolean => edge.waiting >= WAITING_MIN;

export function sumsOf(edges: readonly Edge[]): FleetSums {
  const sum = (of: (edge: Edge) => number): number => edges.reduce((all, edge) => all + of(edge), 0);
  const perMinute = sum((edge) => edge.per_minute);
  const blocked = sum((edge) => edge.per_minute * edge.blocked_share);
  return {
    edges: edges.length,
    up: edges.filter((edge) => edge.state === "up").length,
    perMinute,
    blocked: perMinute > 0 ? blocked / perMinute : 0,
    waiting: sum((edge) => (isBehind(edge) ? edge.waiting : 0)),
  };
}

/** A machine by what the database knows of it, and by what it has said and signed. */
export interface Machine {
  name: string;
  rows: Edge | null;
  word: FleetEdgeStatus | null;
}

/** How a machine does: the worst of it. */
export type Condition = "refused" | "unreached" | "silent" | "untold" | "behind" | "waits" | "drained" | "good" | "revoked";

const ORDER: readonly Condition[] = ["refused", "unreached", "silent", "untold", "behind", "waits", "drained", "good", "revoked"];

/** Machines that either knows, each once. */
export function machinesOf(rows: readonly Edge[], words: readonly FleetEdgeStatus[]): Machine[] {
  const all = new Map<string, Machine>();
  for (const word of words) all.set(word.edge, { name: word.edge, rows: null, word });
  for (const edge of rows) all.set(edge.edge, { name: edge.edge, rows: edge, word: all.get(edge.edge)?.word ?? null });
  return [...all.values()];
}

export function conditionOf({ rows, word }: Machine, newest: number | null): Condition {
  const has = (trouble: FleetEdgeStatus["troubles"][number]): boolean => word?.troubles.includes(trouble) ?? false;
  if (word?.wanted === "revoked") return "revoked";
  // What a silent machine said last may be long over.
  if (rows === null ? has("silent") : rows.state === "silent") return "silent";
  if (has("refused")) return "refused";
  if (has("unreached")) return "unreached";
  if (has("untold")) return "untold";
  if (has("waits_for_canary")) return "waits";
  if (word !== null && newest !== null && word.revision !== null && word.revision < newest) return "behind";
  return word?.wanted === "drained" ? "drained" : "good";
}

/** True for what somebody should look at. */
export const isTrouble = (condition: Condition): boolean => ORDER.indexOf(condition) < ORDER.indexOf("behind");

/** Those in trouble first, then those with rows that wait, then by name. */
export function inOrder(machines: readonly Machine[], newest: number | null): Machine[] {
  const rank = (machine: Machine): number => {
    const at = ORDER.indexOf(conditionOf(machine, newest));
    return at + (machine.rows !== null && isBehind(machine.rows) ? 0 : 0.5);
  };
  return machines.toSorted((a, b) => rank(a) - rank(b) || a.name.localeCompare(b.name));
}

/** What is said of a machine's program; digests are cut to what tells one from another. */
export interface ProgramWords {
  /** Digest of the fleet's program that runs, whole too. */
  runs: { digest: string; whole: string } | null;
  /** Another one is the fleet's, and runs from the next start. */
  next: string | null;
  /** One that did not come up; the fault is left out where it is among these complaints. */
  failed: { digest: string; fault: string | null } | null;
}

const DIGEST_SHOWN = 8;

export function programWords(program: FleetProgram | null, complaints: readonly string[]): ProgramWords {
  const { runs = "", in_force: inForce = null, failed = null } = program ?? {};
  const cut = (digest: string): string => digest.slice(0, DIGEST_SHOWN);
  return {
    runs: inForce !== null && inForce === runs ? { digest: cut(runs), whole: runs } : null,
    next: inForce !== null && inForce !== runs ? cut(inForce) : null,
    failed: failed && { digest: cut(failed.digest), fault: complaints.includes(failed.fault) ? null : failed.fault },
  };
}

/** Parts of the bar that shows how far a revision has come, in percent: has it, has refused it. */
export function progressOf({ edges, in_force: inForce, refused }: FleetRevisions["rollout"]): { has: number; refused: number } {
  const part = (n: number): number => (edges > 0 ? (100 * n) / edges : 0);
  return { has: part(inForce), refused: part(refused) };
}

/** Machines that block, among those that answered. */
export const blocksAmong = (machines: readonly MachineVerdict[]): number => machines.filter((machine) => machine.verdict?.action === "block").length;
