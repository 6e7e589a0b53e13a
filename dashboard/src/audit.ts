// What the audit log says, in words: "paused protection for 10 minutes". What was sent may be
// anything at all; only what is as expected is put into words.

import { EVERY_HOST } from "./by-hand";
import { printable } from "./format";
import { t, type MessageKey, type MessageValues } from "./i18n";
import { ROLES, roleWithin } from "./roles";
import type { AuditEntry } from "./user-model";

type Body = Readonly<Record<string, unknown>>;

type DoneKey = Extract<MessageKey, `audit.done.${string}`>;
/** A deed, which was done or only tried: there is a message for both. */
type Act = DoneKey extends `audit.done.${infer Name}` ? Name : never;

/** What was done, and what stands in its message. */
type Told = [act: Act, values?: MessageValues];

/** What has a name. */
type Thing = "list" | "profile" | "group" | "user" | "token";

const text = (value: unknown): string => (typeof value === "string" ? printable(value) : "");
const named = (what: Thing, value: unknown): string => (text(value) === "" ? t(`audit.some.${what}`) : t(`audit.named.${what}`, { name: text(value) }));
const part = (body: Body, key: string): Body => {
  const value = body[key];
  return typeof value === "object" && value !== null ? (value as Body) : {};
};

/** "for 5 minutes", "for 1 hour". */
function howLong(seconds: unknown): string {
  if (typeof seconds !== "number" || seconds <= 0) return "";
  if (seconds % 86_400 === 0) return t("audit.forDays", { count: seconds / 86_400 });
  if (seconds % 3600 === 0) return t("audit.forHours", { count: seconds / 3600 });
  const minutes = Math.round(seconds / 60);
  return minutes === 0 ? t("audit.forSeconds", { count: seconds }) : t("audit.forMinutes", { count: minutes });
}

function whom(body: Body): string {
  if (text(body["client"])) return t("audit.forClient", { client: text(body["client"]) });
  if (text(body["profile"])) return t("audit.forProfile", { profile: text(body["profile"]) });
  return "";
}

/** "ads.example for 192.168.1.7 for 1 hour". */
function byHand(body: Body): string {
  const host = body["host"] === EVERY_HOST ? t("audit.everything") : text(body["host"]) || t("audit.aName");
  const minutes = body["minutes"];
  const long = minutes === "always" ? t("audit.forGood") : typeof minutes === "number" ? howLong(minutes * 60) : "";
  return [host, whom(body), long].filter((piece) => piece !== "").join(" ");
}

function roleText(value: unknown): string {
  const role = ROLES.find((one) => one === value);
  return role ? roleWithin(role) : text(value);
}

function paused(body: Body): Told {
  const long = howLong(body["seconds"]);
  return ["pause", { long: long === "" ? "" : ` ${long}` }];
}

function userAdded(body: Body): Told {
  const user = named("user", body["name"]);
  return ["add", { what: text(body["role"]) ? t("audit.userAs", { user, role: roleText(body["role"]) }) : user }];
}

function userChange(body: Body): Told {
  const name = text(body["name"]) || t("audit.some.user");
  if (body["role"] !== undefined) return ["makeRole", { name, role: roleText(body["role"]) }];
  if (body["password"] !== undefined) return ["set", { what: t("audit.passwordOf", { name }) }];
  if (body["totp"] === "off") return ["switchOff", { what: t("audit.twoStepOf", { name }) }];
  return ["change", { what: named("user", body["name"]) }];
}

function madeOrChanged(what: "profile" | "group", body: Body): Told {
  return [body["was"] === null ? "make" : "change", { what: named(what, part(body, what)["name"]) }];
}

const STORED = { url: "audit.storedUrl", prefix: "audit.storedPrefix", host: "audit.storedHost", tag: "audit.storedTag" } as const;

function purged(body: Body): Told {
  const what = text(body["what"]);
  const value = text(body["value"]);
  return Object.hasOwn(STORED, what) && value !== "" ? ["purge", { what: t(STORED[what as keyof typeof STORED], { value }) }] : ["purgeAll"];
}

/** What single sign-on writes down: going to the provider, and coming back. */
const SIGN_ONS: ReadonlySet<string> = new Set(["GET /login/oidc", "GET /login/oidc/callback"]);

/** As whom somebody tried to sign in. */
function signIn({ kind, who, action }: AuditEntry): Told {
  const as = { who: printable(who) };
  if (SIGN_ONS.has(action)) return kind === "nobody" && who !== "" ? ["signInSsoAs", as] : ["signInSso"];
  if (kind !== "nobody") return ["signIn"];
  return who === "admin.token" ? ["signInToken"] : ["signInAs", as];
}

const WORDS: Readonly<Record<string, (body: Body, entry: AuditEntry) => Told>> = {
  "POST /login": (_, entry) => signIn(entry),
  "GET /login/oidc": (_, entry) => signIn(entry),
  "GET /login/oidc/callback": (_, entry) => signIn(entry),
  "POST /allow": (body) => [body["act"] === "end" ? "unallowPage" : "allowPage", { what: byHand(body) }],
  "POST /logout": () => ["signOut"],
  "POST /api/pause": paused,
  "POST /api/resume": () => ["resume"],
  "POST /api/reload": () => ["reload"],
  "POST /api/allow": (body) => ["allow", { what: byHand(body) }],
  "POST /api/block": (body) => ["block", { what: byHand(body) }],
  "POST /api/revoke": (body) => ["unallow", { what: byHand(body) }],
  "POST /api/unblock": (body) => ["unblock", { what: byHand(body) }],
  "POST /api/lists": (body) => ["add", { what: named("list", body["name"]) }],
  "POST /api/lists/remove": (body) => ["remove", { what: named("list", body["name"]) }],
  "POST /api/lists/switch": (body) => [body["on"] === true ? "switchOn" : "switchOff", { what: named("list", body["name"]) }],
  "POST /api/lists/update": (body) => ["fetch", { what: text(body["list"]) ? t("audit.listAnew", { name: text(body["list"]) }) : t("audit.listsAnew") }],
  "PUT /api/rules": () => ["write", { what: t("audit.ownRules") }],
  "PUT /api/profiles": (body) => madeOrChanged("profile", body),
  "POST /api/profiles/remove": (body) => ["remove", { what: named("profile", body["name"]) }],
  "PUT /api/groups": (body) => madeOrChanged("group", body),
  "POST /api/groups/remove": (body) => ["remove", { what: named("group", body["name"]) }],
  "POST /api/stores/purge": purged,
  "POST /api/users": userAdded,
  "POST /api/users/change": userChange,
  "POST /api/users/remove": (body) => ["remove", { what: named("user", body["name"]) }],
  "POST /api/me/password": () => ["change", { what: t("audit.ownPassword") }],
  "POST /api/me/totp": () => ["beginTwoStep"],
  "POST /api/me/totp/confirm": () => ["switchOn", { what: t("audit.twoStep") }],
  "POST /api/me/totp/remove": () => ["switchOff", { what: t("audit.twoStep") }],
  "POST /api/sessions/end": (body) => ["end", { what: text(body["user"]) ? t("audit.sessionsOf", { name: text(body["user"]) }) : t("audit.aSession") }],
  "POST /api/tokens": (body) => ["make", { what: named("token", body["name"]) }],
  "POST /api/tokens/remove": () => ["remove", { what: t("audit.some.token") }],
};

export function hasFailed(entry: AuditEntry): boolean {
  return entry.status >= 400 || entry.error !== null;
}

/** Who did it. A name with which somebody tried to sign in is not who it was. */
export function auditWho(entry: AuditEntry): string {
  const who = printable(entry.who);
  return who === "" || (entry.kind === "nobody" && (entry.action === "POST /login" || SIGN_ONS.has(entry.action))) ? t("audit.somebody") : who;
}

/** What was done, as it follows who did it. */
export function auditText(entry: AuditEntry): string {
  const body = typeof entry.body === "object" && entry.body !== null ? (entry.body as Body) : {};
  const known = Object.hasOwn(WORDS, entry.action) ? WORDS[entry.action] : undefined;
  const [act, values]: Told = known ? known(body, entry) : ["other", { path: printable(entry.action) }];
  return t(hasFailed(entry) ? `audit.tried.${act}` : `audit.done.${act}`, values);
}

/** What was sent as lines of JSON; null where nothing was. */
export function bodyLines(body: unknown): string[] | null {
  if (body === null || body === undefined) return null;
  if (typeof body === "object" && Object.keys(body).length === 0) return null;
  return JSON.stringify(body, null, 2).split("\n").map(printable);
}
