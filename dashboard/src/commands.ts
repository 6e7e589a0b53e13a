// What the palette offers: places to go and things to do, found by a few letters of their name. It
// knows nothing of the page: who uses it says what is known, and does what was chosen.

import type { Client, Profiles } from "./client-model";
import { clientName } from "./clients";
import { printable } from "./format";
import { fuzzy, type Found } from "./fuzzy";
import { t, type MessageKey } from "./i18n";
import type { IconName } from "./parts/icons";
import { covers, type Role } from "./roles";
import { routeHash, type View } from "./route";

export type Doing =
  | { does: "go"; hash: string }
  | { does: "pause"; seconds: number }
  | { does: "resume" | "reload" | "keys" | "sign-out" }
  | { does: "theme"; theme: "system" | "light" | "dark" };

export interface Command {
  id: string;
  name: string;
  /** What kind of thing it is, shown at its end. */
  kind: string;
  /** Other words that it is found by, shown after the name. */
  also?: string;
  icon: IconName;
  doing: Doing;
  /** Who alone is offered it. */
  role?: Role;
}

/** What was looked up for the palette; what is not known yet is missing. */
export interface KnownThings {
  clients: readonly Client[];
  profiles: Profiles | null;
  lists: readonly { name: string; off: boolean }[];
}

interface Ways {
  role: Role;
  paused: boolean;
  places: readonly { view: View; name: MessageKey; icon: IconName; role?: Role }[];
  pauses: readonly { seconds: number; name: string }[];
}

const go = (view: View, words?: Record<string, string>): Doing => ({ does: "go", hash: routeHash(view, words) });

function doings({ paused, pauses }: Ways): Command[] {
  const pausing: Command[] = paused
    ? [{ id: "resume", name: "Resume protection", kind: "Do", icon: "play", doing: { does: "resume" }, role: "operator" }]
    : pauses.map(({ seconds, name }) => ({
        id: `pause ${seconds}`, name: `Pause protection ${name}`, kind: "Do", icon: "pause", doing: { does: "pause", seconds }, role: "operator",
      }));
  return [
    ...pausing,
    { id: "reload", name: "Reload configuration and lists", kind: "Do", icon: "reload", doing: { does: "reload" }, role: "operator" },
    { id: "new profile", name: "New profile", kind: "Do", icon: "plus", doing: go("clients", { new: "profile" }), role: "operator" },
    { id: "new group", name: "New group", kind: "Do", icon: "plus", doing: go("clients", { new: "group" }), role: "operator" },
    { id: "theme light", name: "Light colours", also: "theme", kind: "Do", icon: "sun", doing: { does: "theme", theme: "light" } },
    { id: "theme dark", name: "Dark colours", also: "theme", kind: "Do", icon: "moon", doing: { does: "theme", theme: "dark" } },
    { id: "theme system", name: "Colours as the system has them", also: "theme", kind: "Do", icon: "system", doing: { does: "theme", theme: "system" } },
    { id: "keys", name: "Show the keys", also: "keyboard shortcuts", kind: "Do", icon: "keyboard", doing: { does: "keys" } },
    { id: "sign out", name: "Sign out", kind: "Do", icon: "leave", doing: { does: "sign-out" } },
  ];
}

function views({ places }: Ways): Command[] {
  return places.map(({ view, name, icon, role }) => ({ id: `view ${view}`, name: t(name), kind: "View", icon, doing: go(view), ...(role ? { role } : {}) }));
}

function ownViews(): Command[] {
  const within: [show: string, name: string][] = [["sessions", "Sessions of all"], ["tokens", "Tokens of programs"], ["audit", "Audit log"]];
  return [
    { id: "view account", name: "Your account", also: "password, two-step, tokens", kind: "View", icon: "person", doing: go("account") },
    ...within.map(([show, name]): Command => ({ id: `people ${show}`, name, kind: "View", icon: "people", doing: go("people", { show }), role: "administrator" })),
  ];
}

function things({ clients, profiles, lists }: KnownThings): Command[] {
  const named = profiles?.profiles ?? [];
  return [
    ...clients.map((client): Command => {
      const name = clientName(client, named);
      const also = name === client.client ? {} : { also: client.client };
      return { id: `client ${client.client}`, name, ...also, kind: "Client", icon: "clients", doing: go("clients", { client: client.client }) };
    }),
    ...named.map((one): Command => ({ id: `profile ${one.name}`, name: printable(one.name), kind: "Profile", icon: "clients", doing: go("clients", { profile: one.name }) })),
    ...(profiles?.groups ?? []).map((one): Command => ({ id: `group ${one.name}`, name: printable(one.name), kind: "Group", icon: "clients", doing: go("clients", { group: one.name }) })),
    ...lists.map((one): Command => ({ id: `list ${one.name}`, name: printable(one.name), ...(one.off ? { also: "off" } : {}), kind: "List", icon: "lists", doing: go("lists") })),
  ];
}

/** All that one may go to or do. */
export function commands(ways: Ways, known: KnownThings): Command[] {
  return [...views(ways), ...doings(ways), ...ownViews(), ...things(known)].filter(({ role }) => role === undefined || covers(ways.role, role));
}

/** What can be asked with whatever was typed. */
function asking(typed: string): Command[] {
  return [
    { id: "ask why", name: `Why is ${typed} blocked, or not?`, kind: "Ask", icon: "why", doing: go("why", { target: typed }) },
    { id: "ask log", name: `Requests with ${typed}`, kind: "Ask", icon: "log", doing: go("log", { filter: typed }) },
  ];
}

export interface Offered {
  command: Command;
  /** Where the letters that were typed stand in its name. */
  at: readonly number[];
}

/** As much as one looks through. */
const OFFERED_MAX = 40;
/** Found by its other words it comes later. */
const ALSO_COSTS = 12;

function foundIn(typed: string, command: Command): Found | null {
  const byName = fuzzy(typed, command.name);
  const byAlso = command.also === undefined ? null : fuzzy(typed, command.also);
  const other = byAlso && { score: byAlso.score - ALSO_COSTS, at: [] };
  if (!byName || (other && other.score > byName.score)) return other;
  return byName;
}

/** What fits what was typed, the best first; a name that nothing is called can be asked about. */
export function offered(typed: string, all: readonly Command[]): Offered[] {
  const text = printable(typed.trim());
  if (text === "") return all.slice(0, OFFERED_MAX).map((command) => ({ command, at: [] }));
  const found = all.flatMap((command) => {
    const one = foundIn(text, command);
    return one ? [{ command, ...one }] : [];
  });
  const best = found.toSorted((a, b) => b.score - a.score).slice(0, OFFERED_MAX);
  const asks = asking(text).map((command) => ({ command, at: [] }));
  const isCalledSo = best.some(({ command }) => `${command.name}\n${command.also ?? ""}`.toLowerCase().includes(text.toLowerCase()));
  const isName = /^\S+[.:]\S+$/.test(text) && !isCalledSo;
  return isName ? [...asks, ...best] : [...best, ...asks];
}
