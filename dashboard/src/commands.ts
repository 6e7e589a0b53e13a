// What the palette offers: places to go and things to do, found by a few letters of their name. It
// knows nothing of the page: who uses it says what is known, and does what was chosen.

import type { Client, Profiles } from "./client-model";
import { clientName } from "./clients";
import { printable } from "./format";
import { fuzzy, type Found } from "./fuzzy";
import { t, type MessageKey } from "./i18n";
import { LANGUAGE_NAMES, LANGUAGES, type Language } from "./language";
import type { IconName } from "./parts/icons";
import { covers, type Role } from "./roles";
import { routeHash, type View } from "./route";

export type Doing =
  | { does: "go"; hash: string }
  | { does: "pause"; seconds: number }
  | { does: "resume" | "reload" | "keys" | "sign-out" }
  | { does: "theme"; theme: "system" | "light" | "dark" }
  | { does: "language"; language: Language };

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
  pauses: readonly { seconds: number; name: MessageKey }[];
}

const go = (view: View, words?: Record<string, string>): Doing => ({ does: "go", hash: routeHash(view, words) });

function doings({ paused, pauses }: Ways): Command[] {
  const pausing: Command[] = paused
    ? [{ id: "resume", name: t("palette.resume"), kind: t("palette.do"), icon: "play", doing: { does: "resume" }, role: "operator" }]
    : pauses.map(({ seconds, name }) => ({
        id: `pause ${seconds}`, name: t("palette.pause", { long: t(name) }), kind: t("palette.do"), icon: "pause", doing: { does: "pause", seconds }, role: "operator",
      }));
  return [
    ...pausing,
    { id: "reload", name: t("palette.reload"), kind: t("palette.do"), icon: "reload", doing: { does: "reload" }, role: "operator" },
    { id: "backup", name: t("palette.backup"), kind: t("palette.do"), icon: "download", doing: go("configuration", { tab: "backup" }), role: "administrator" },
    { id: "new profile", name: t("palette.newProfile"), kind: t("palette.do"), icon: "plus", doing: go("clients", { new: "profile" }), role: "operator" },
    { id: "new group", name: t("palette.newGroup"), kind: t("palette.do"), icon: "plus", doing: go("clients", { new: "group" }), role: "operator" },
    { id: "theme light", name: t("palette.light"), also: t("palette.theme"), kind: t("palette.do"), icon: "sun", doing: { does: "theme", theme: "light" } },
    { id: "theme dark", name: t("palette.dark"), also: t("palette.theme"), kind: t("palette.do"), icon: "moon", doing: { does: "theme", theme: "dark" } },
    { id: "theme system", name: t("palette.system"), also: t("palette.theme"), kind: t("palette.do"), icon: "system", doing: { does: "theme", theme: "system" } },
    ...languages(),
    { id: "keys", name: t("palette.keys"), also: t("palette.shortcuts"), kind: t("palette.do"), icon: "keyboard", doing: { does: "keys" } },
    { id: "sign out", name: t("account.signOut"), kind: t("palette.do"), icon: "leave", doing: { does: "sign-out" } },
  ];
}

/** Found by the name of the language, and by "language" in the one that is spoken. */
function languages(): Command[] {
  return LANGUAGES.map((language): Command => ({
    id: `language ${language}`, name: LANGUAGE_NAMES[language], also: t("language.title"), kind: t("palette.do"), icon: "language", doing: { does: "language", language },
  }));
}

function views({ places }: Ways): Command[] {
  return places.map(({ view, name, icon, role }) => ({ id: `view ${view}`, name: t(name), kind: t("palette.view"), icon, doing: go(view), ...(role ? { role } : {}) }));
}

function ownViews(): Command[] {
  const within: [show: string, name: string][] = [["sessions", t("palette.sessions")], ["tokens", t("people.tokensOfPrograms")], ["audit", t("people.parts.audit")]];
  return [
    { id: "view account", name: t("nav.account"), also: t("palette.accountAlso"), kind: t("palette.view"), icon: "person", doing: go("account") },
    { id: "view welcome", name: t("nav.welcome"), kind: t("palette.view"), icon: "setup", doing: go("welcome"), role: "administrator" },
    { id: "view page", name: t("page.title"), kind: t("palette.view"), icon: "log", doing: go("page") },
    ...within.map(([show, name]): Command => ({ id: `people ${show}`, name, kind: t("palette.view"), icon: "people", doing: go("people", { show }), role: "administrator" })),
  ];
}

function things({ clients, profiles, lists }: KnownThings): Command[] {
  const named = profiles?.profiles ?? [];
  return [
    ...clients.map((client): Command => {
      const name = clientName(client, named);
      const also = name === client.client ? {} : { also: client.client };
      return { id: `client ${client.client}`, name, ...also, kind: t("palette.client"), icon: "clients", doing: go("clients", { client: client.client }) };
    }),
    ...named.map((one): Command => ({ id: `profile ${one.name}`, name: printable(one.name), kind: t("palette.profile"), icon: "clients", doing: go("clients", { profile: one.name }) })),
    ...(profiles?.groups ?? []).map((one): Command => ({ id: `group ${one.name}`, name: printable(one.name), kind: t("palette.group"), icon: "clients", doing: go("clients", { group: one.name }) })),
    ...lists.map((one): Command => ({ id: `list ${one.name}`, name: printable(one.name), ...(one.off ? { also: t("words.off") } : {}), kind: t("palette.list"), icon: "lists", doing: go("lists") })),
  ];
}

/** All that one may go to or do. */
export function commands(ways: Ways, known: KnownThings): Command[] {
  return [...views(ways), ...doings(ways), ...ownViews(), ...things(known)].filter(({ role }) => role === undefined || covers(ways.role, role));
}

/** What can be asked with whatever was typed. */
function asking(typed: string): Command[] {
  return [
    { id: "ask why", name: t("palette.why", { name: typed }), kind: t("palette.ask"), icon: "why", doing: go("why", { target: typed }) },
    { id: "ask log", name: t("palette.requests", { name: typed }), kind: t("palette.ask"), icon: "log", doing: go("log", { filter: typed }) },
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
