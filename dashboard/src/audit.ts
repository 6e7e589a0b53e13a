// What the audit log says, in words: "paused protection for 10 minutes". What was sent may be
// anything at all; only what is as expected is put into words.

import { EVERY_HOST } from "./by-hand";
import { plural, printable } from "./format";
import { ROLE_TEXT, ROLES } from "./roles";
import type { AuditEntry } from "./user-model";

type Body = Readonly<Record<string, unknown>>;

/** What is done, what was done, and to what. */
type Told = [base: string, past: string, what: string];

const text = (value: unknown): string => (typeof value === "string" ? printable(value) : "");
const named = (what: string, value: unknown): string => (text(value) === "" ? `a ${what}` : `the ${what} ${text(value)}`);
const part = (body: Body, key: string): Body => {
  const value = body[key];
  return typeof value === "object" && value !== null ? (value as Body) : {};
};

/** "5 minutes", "1 hour". */
function howLong(seconds: unknown): string {
  if (typeof seconds !== "number" || seconds <= 0) return "";
  const [n, unit] = seconds % 86_400 === 0 ? [seconds / 86_400, "day"] : seconds % 3600 === 0 ? [seconds / 3600, "hour"] : [Math.round(seconds / 60), "minute"];
  return n === 0 ? ` for ${plural(seconds, "second")}` : ` for ${plural(n, unit)}`;
}

function whom(body: Body): string {
  if (text(body["client"])) return ` for ${text(body["client"])}`;
  if (text(body["profile"])) return ` for the profile ${text(body["profile"])}`;
  return "";
}

/** "ads.example for 192.168.1.7 for 1 hour". */
function byHand(body: Body): string {
  const host = body["host"] === EVERY_HOST ? "everything" : text(body["host"]) || "a name";
  const minutes = body["minutes"];
  const long = minutes === "always" ? " for good" : typeof minutes === "number" ? howLong(minutes * 60) : "";
  return `${host}${whom(body)}${long}`;
}

function roleName(value: unknown): string {
  const role = ROLES.find((one) => one === value);
  return role ? ROLE_TEXT[role].name.toLowerCase() : text(value);
}

function userChange(body: Body): Told {
  const name = text(body["name"]) || "a user";
  if (body["role"] !== undefined) return ["make", "made", `${name} ${roleName(body["role"])}`];
  if (body["password"] !== undefined) return ["set", "set", `the password of ${name} anew`];
  if (body["totp"] === "off") return ["switch off", "switched off", `the two-step sign-in of ${name}`];
  return ["change", "changed", `the user ${name}`];
}

function madeOrChanged(what: string, body: Body): Told {
  const is = named(what, part(body, what)["name"]);
  return body["was"] === null ? ["make", "made", is] : ["change", "changed", is];
}

const STORED: Readonly<Record<string, string>> = { url: "of", prefix: "of URLs that begin with", host: "of the host", tag: "with the tag" };

function stored(body: Body): string {
  const what = STORED[text(body["what"])];
  return what && text(body["value"]) ? `what is stored ${what} ${text(body["value"])}` : "all that is stored";
}

/** What single sign-on writes down: going to the provider, and coming back. */
const SIGN_ONS: ReadonlySet<string> = new Set(["GET /login/oidc", "GET /login/oidc/callback"]);

/** As whom somebody tried to sign in. */
function signIn({ kind, who, action }: AuditEntry): string {
  if (SIGN_ONS.has(action)) return kind === "nobody" && who !== "" ? `by single sign-on as ${printable(who)}` : "by single sign-on";
  if (kind !== "nobody") return "";
  return who === "admin.token" ? "with a token" : `as ${printable(who)}`;
}

const WORDS: Readonly<Record<string, (body: Body, entry: AuditEntry) => Told>> = {
  "POST /login": (_, entry) => ["sign in", "signed in", signIn(entry)],
  "GET /login/oidc": (_, entry) => ["sign in", "signed in", signIn(entry)],
  "GET /login/oidc/callback": (_, entry) => ["sign in", "signed in", signIn(entry)],
  "POST /allow": (body) =>
    body["act"] === "end"
      ? ["take back", "took back", `that ${byHand(body)} is allowed, on the block page`]
      : ["allow", "allowed", `${byHand(body)}, on the block page`],
  "POST /logout": () => ["sign out", "signed out", ""],
  "POST /api/pause": (body) => ["pause", "paused", `protection${howLong(body["seconds"])}`],
  "POST /api/resume": () => ["resume", "resumed", "protection"],
  "POST /api/reload": () => ["reload", "reloaded", "configuration and lists"],
  "POST /api/allow": (body) => ["allow", "allowed", byHand(body)],
  "POST /api/block": (body) => ["block", "blocked", byHand(body)],
  "POST /api/revoke": (body) => ["take back", "took back", `that ${byHand(body)} is allowed`],
  "POST /api/unblock": (body) => ["take back", "took back", `that ${byHand(body)} is blocked`],
  "POST /api/lists": (body) => ["add", "added", named("list", body["name"])],
  "POST /api/lists/remove": (body) => ["remove", "removed", named("list", body["name"])],
  "POST /api/lists/switch": (body) => (body["on"] === true ? ["switch on", "switched on", named("list", body["name"])] : ["switch off", "switched off", named("list", body["name"])]),
  "POST /api/lists/update": (body) => ["fetch", "fetched", text(body["list"]) ? `the list ${text(body["list"])} anew` : "the lists anew"],
  "PUT /api/rules": () => ["write", "wrote", "the own rules"],
  "PUT /api/profiles": (body) => madeOrChanged("profile", body),
  "POST /api/profiles/remove": (body) => ["remove", "removed", named("profile", body["name"])],
  "PUT /api/groups": (body) => madeOrChanged("group", body),
  "POST /api/groups/remove": (body) => ["remove", "removed", named("group", body["name"])],
  "POST /api/stores/purge": (body) => ["purge", "purged", stored(body)],
  "POST /api/users": (body) => ["add", "added", `the user ${text(body["name"])}${text(body["role"]) ? ` as ${roleName(body["role"])}` : ""}`],
  "POST /api/users/change": userChange,
  "POST /api/users/remove": (body) => ["remove", "removed", named("user", body["name"])],
  "POST /api/me/password": () => ["change", "changed", "the own password"],
  "POST /api/me/totp": () => ["begin", "began", "to set up two-step sign-in"],
  "POST /api/me/totp/confirm": () => ["switch on", "switched on", "two-step sign-in"],
  "POST /api/me/totp/remove": () => ["switch off", "switched off", "two-step sign-in"],
  "POST /api/sessions/end": (body) => ["end", "ended", text(body["user"]) ? `all sessions of ${text(body["user"])}` : "a session"],
  "POST /api/tokens": (body) => ["make", "made", named("token", body["name"])],
  "POST /api/tokens/remove": () => ["remove", "removed", "a token"],
};

export function hasFailed(entry: AuditEntry): boolean {
  return entry.status >= 400 || entry.error !== null;
}

/** Who did it. A name with which somebody tried to sign in is not who it was. */
export function auditWho(entry: AuditEntry): string {
  const who = printable(entry.who);
  return who === "" || (entry.kind === "nobody" && (entry.action === "POST /login" || SIGN_ONS.has(entry.action))) ? "Somebody" : who;
}

/** What was done, as it follows who did it. */
export function auditText(entry: AuditEntry): string {
  const body = typeof entry.body === "object" && entry.body !== null ? (entry.body as Body) : {};
  const path = printable(entry.action);
  const words = Object.hasOwn(WORDS, entry.action) ? WORDS[entry.action]?.(body, entry) : undefined;
  if (!words) return hasFailed(entry) ? `tried ${path}` : `did ${path}`;
  const [base, past, what] = words;
  return (hasFailed(entry) ? `tried to ${base} ${what}` : `${past} ${what}`).trim();
}

/** What was sent as lines of JSON; null where nothing was. */
export function bodyLines(body: unknown): string[] | null {
  if (body === null || body === undefined) return null;
  if (typeof body === "object" && Object.keys(body).length === 0) return null;
  return JSON.stringify(body, null, 2).split("\n").map(printable);
}
