// Made-up users, sessions, tokens and an audit log for the mock. Roles hold, codes are real ones
// (RFC 6238), and what is done is kept until it is stopped. Every password is "low-tide-2026".

import { createHmac, randomBytes } from "node:crypto";
import { dice } from "./data.mjs";

// MOCK=empty: no users, only the token. MOCK=many: many, some with names that somebody hostile chose.
const MODE = process.env.MOCK ?? "";
export const TOKEN = "harbour";
const PASSWORD = "low-tide-2026";
const ROLES = ["viewer", "operator", "administrator"];
const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const DAY = 86_400_000;
const ago = (ms) => new Date(Date.now() - ms).toISOString();

const AGENTS = [
  "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0",
  "Mozilla/5.0 (iPhone; CPU iPhone OS 19_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/19.1 Mobile/15E148 Safari/604.1",
  "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36 Edg/142.0.0.0",
  "<script>alert(1)</script> \u202eelbarongi curl/8.9",
];

const user = (name, role, more = {}) =>
  ({ name, role, totp: false, secret: null, codes: [], password: PASSWORD, created: ago(90 * DAY), last_seen: ago(3_600_000), single_sign_on: false, ...more });
let users = MODE === "empty" ? [] : [
  user("anna", "administrator", { totp: true, secret: "JBSWY3DPEHPK3PXP", codes: ["k7f3-9xqm-2hvt"], last_seen: ago(40_000) }),
  user("ben", "operator", { last_seen: ago(5 * 3_600_000), created: ago(41 * DAY) }),
  user("mia", "viewer", { last_seen: null, created: ago(2 * DAY) }),
  user("jo@example.com", "operator", { single_sign_on: true, password: null, last_seen: ago(3 * DAY) }),
  ...(MODE === "many" ? Array.from({ length: 24 }, (_, n) => user(`${"somebody-with-a-name-that-does-not-end.".repeat(n % 3)}user.${n}@example.com`.slice(0, 64), ROLES[n % 3], { last_seen: n % 4 ? ago(n * DAY) : null })) : []),
];

let sessions = users.flatMap((one, n) => (one.last_seen === null ? [] : [
  { id: `s${n}`, user: one.name, role: one.role, began: ago((n + 2) * DAY), seen: one.last_seen, until: ago(-(28 - n) * DAY), client: `192.168.1.${24 + n}`, agent: AGENTS[n % 4] },
]));
if (MODE !== "empty") sessions.push({ id: "phone", user: "anna", role: "administrator", began: ago(9 * DAY), seen: ago(7_200_000), until: ago(-21 * DAY), client: "fd00::1c2:9bff:fe40:77a1", agent: AGENTS[1] });
let tokens = MODE === "empty" ? [] : [
  { id: "t1", name: "prometheus", scope: "metrics", owner: "anna", created: ago(60 * DAY), expires: null, last_used: ago(15_000), text: "tg_mock_prometheus" },
  { id: "t2", name: "home-automation", scope: "operator", owner: "ben", created: ago(12 * DAY), expires: ago(-78 * DAY), last_used: ago(4 * 3_600_000), text: "tg_mock_home" },
  { id: "t3", name: "old script", scope: "viewer", owner: null, created: ago(200 * DAY), expires: ago(-2 * DAY), last_used: null, text: "tg_mock_script" },
];

const log = [];
const note = (who, kind, role, client, action, body, status = 200, error = null, at = new Date().toISOString()) =>
  log.push({ n: log.length + 1, at, who, kind, role, client, action, body, status, error });
if (MODE !== "empty") {
  const old = [
    ["anna", "POST /api/users", { name: "mia", role: "viewer", password: "[redacted]" }],
    ["ben", "POST /api/pause", { seconds: 600 }], ["ben", "POST /api/resume", {}],
    ["mia", "POST /api/pause", { seconds: 3600 }, 403, "this needs the role operator"],
    ["nobody:anna", "POST /login", null, 401, "the name or the password is wrong"],
    ["anna", "POST /api/allow", { host: "shop.example", minutes: 60, client: "192.168.1.7", profile: null }],
    ["anna", "POST /api/block", { host: "*", minutes: "always", client: null, profile: "kids" }],
    ["home-automation", "POST /api/block", { host: "game.example", minutes: 120, client: null, profile: "kids" }],
    ["ben", "PUT /api/profiles", { revision: "5b1c", was: "kids", profile: { name: "kids", match: ["192.168.2.0/24"], lists: ["starter"] } }],
    ["anna", "POST /api/lists", { name: "easylist", url: "https://easylist.to/easylist/easylist.txt", kind: "block" }],
    ["anna", "POST /api/tokens", { name: "prometheus", scope: "metrics", days: null }],
    ["anna", "POST /api/users/change", { name: "ben", role: "operator" }],
    ["admin.token", "POST /api/reload", {}, 422, "the configuration was not taken; the old one goes on"],
    ["ben", "POST /api/stores/purge", { what: "host", value: "deb.example", door: "proxy" }],
    ["anna", "PUT /api/config/value", { path: "dns.cache", value: "<img src=x onerror=alert(1)> \u202egnp.exe" }],
  ];
  for (let n = 0; n < 130; n++) {
    const [by, action, body, status, error] = old[n % old.length];
    const who = by.replace("nobody:", "");
    const kind = by !== who ? "nobody" : users.some((one) => one.name === who) ? "user" : "token";
    const role = kind === "nobody" ? null : users.find((one) => one.name === who)?.role ?? (kind === "token" ? "administrator" : null);
    note(who, kind, role, `192.168.1.${20 + (n % 9)}`, action, body, status ?? 200, error ?? null, ago((130 - n) * 47 * 60_000));
  }
}

/** The code of a secret at a time (RFC 6238: SHA-1, 30 seconds, 6 digits). */
function codeAt(secret, ms) {
  const bits = [...secret].map((letter) => ALPHABET.indexOf(letter).toString(2).padStart(5, "0")).join("");
  const key = Buffer.from(bits.match(/.{8}/g).map((byte) => Number.parseInt(byte, 2)));
  const step = Buffer.alloc(8);
  step.writeBigUInt64BE(BigInt(Math.floor(ms / 30_000)));
  const sum = createHmac("sha1", key).update(step).digest();
  return String((sum.readUInt32BE(sum[19] & 15) & 0x7fffffff) % 1_000_000).padStart(6, "0");
}
const isCode = (secret, code) => [-30_000, 0, 30_000].some((off) => codeAt(secret, Date.now() + off) === code);

/** Something that looks like a QR code. */
function qr(text) {
  const random = dice([...text].reduce((sum, letter) => sum * 31 + letter.charCodeAt(0), 7) | 0);
  const finder = (x, y) => [[3, 3], [33, 3], [3, 33]].some(([a, b]) => x >= a - 1 && x < a + 8 && y >= b - 1 && y < b + 8);
  let path = "";
  for (let y = 3; y < 40; y++) for (let x = 3; x < 40; x++) if (!finder(x, y) && random() > 0.5) path += `M${x} ${y}h1v1h-1z`;
  for (const [x, y] of [[3, 3], [33, 3], [3, 33]]) path += `M${x} ${y}h7v7h-7zM${x + 1} ${y + 1}v5h5v-5zM${x + 2} ${y + 2}h3v3h-3z`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 43 43" shape-rendering="crispEdges"><path fill="#fff" d="M0 0h43v43H0z"/><path fill="#000" fill-rule="evenodd" d="${path}"/></svg>`;
}

const refused = (code, error, remedy, more = {}) => [code, { error, remedy, ...more }];
const short = (password) => String(password ?? "").length < 10;
const SHORT = refused(400, "the password is too short", "take at least 10 characters");

const cookieOf = (request) => /tidegate=([\w-]+)/.exec(request.headers.cookie ?? "")?.[1];
const sessionOf = (request) => sessions.find((one) => one.id === cookieOf(request));
const clientOf = (request) => request.socket?.remoteAddress ?? "127.0.0.1";

/** Who asks; null for nobody. */
export function callerOf(request) {
  const bearer = /^Bearer (.+)$/.exec(request.headers.authorization ?? "")?.[1];
  const token = tokens.find((one) => one.text === bearer);
  if (token) return { name: token.name, kind: "token", role: token.scope };
  const session = sessionOf(request);
  if (!session) return null;
  const known = users.find((one) => one.name === session.user);
  return { name: session.user ?? "admin.token", kind: known ? "user" : "token", role: session.role, user: known, session };
}

/** The role that a call needs, as the real one has it. */
function needed(action) {
  if (/^\w+ \/api\/(me|sessions|tokens|sign-in)/.test(action) || action.startsWith("GET ") || action === "POST /api/rules/check") return /\/api\/(users|audit)/.test(action) ? "administrator" : "viewer";
  return /\/api\/(users|config|settings)/.test(action) ? "administrator" : "operator";
}

export function denied(caller, action) {
  const role = needed(action);
  if (ROLES.indexOf(caller.role) >= ROLES.indexOf(role)) return null;
  return refused(403, `this needs the role ${role}`, `ask an administrator; your role is ${caller.role}`);
}

const SECRETS = new Set(["token", "password", "new_password", "code"]);

/** Keeps what was done. Reading is not kept. */
export function noteCall(request, caller, action, body, code, answer) {
  if (action.startsWith("GET ") || action === "POST /api/rules/check") return;
  const shown = body && Object.fromEntries(Object.entries(body).map(([key, value]) => [key, SECRETS.has(key) && value !== undefined ? "[redacted]" : value]));
  note(caller?.name ?? body?.user ?? "admin.token", caller?.kind ?? "nobody", caller?.role ?? null, clientOf(request), action, action === "POST /login" ? null : shown, code, code >= 400 ? answer?.error ?? null : null);
}

function begin(request, known) {
  const one = { id: randomBytes(8).toString("hex"), user: known?.name ?? null, role: known?.role ?? "administrator", began: ago(0), seen: ago(0), until: ago(-30 * DAY), client: clientOf(request), agent: (request.headers["user-agent"] ?? "").slice(0, 200) };
  sessions.push(one);
  if (known) known.last_seen = one.seen;
  return one;
}

/** Signs in: `[status, answer, headers]`. */
export function login(request, sent) {
  const answered = (one) => {
    const caller = { name: one.user ?? "admin.token", kind: one.user ? "user" : "token", role: one.role };
    noteCall(request, caller, "POST /login", sent, 204, null);
    return [204, null, { "set-cookie": `tidegate=${one.id}; HttpOnly; SameSite=Strict; Path=/` }];
  };
  const wrong = (answer) => {
    noteCall(request, null, "POST /login", sent, answer[0], answer[1]);
    return answer;
  };
  if (sent.token !== undefined) {
    if (sent.token === TOKEN) return answered(begin(request, null));
    return wrong(refused(401, "this is not the token", "copy the whole line of `admin.token` again: each state folder has a token of its own"));
  }
  const known = users.find((one) => one.name === sent.user);
  if (sent.password === "too-often") return wrong(refused(429, "too many attempts", "wait a minute, then try again"));
  if (!known?.password || known.password !== sent.password) return wrong(refused(401, "the name or the password is wrong", "type both again; an administrator can set another password"));
  if (known.totp) {
    if (!sent.code) return wrong(refused(401, "the code is missing", "send the code of the authenticator", { needs: "code" }));
    if (known.codes.includes(sent.code)) known.codes = known.codes.filter((code) => code !== sent.code);
    else if (!isCode(known.secret, sent.code)) return wrong(refused(401, "this code is wrong, or was used already", "take the one that the authenticator shows now", { needs: "code" }));
  }
  return answered(begin(request, known));
}

export function logout(request) {
  noteCall(request, callerOf(request), "POST /logout", null, 204, null);
  sessions = sessions.filter((one) => one.id !== cookieOf(request));
  return [204, null];
}

export const signInOffer = () => ({ users: users.length > 0, single_sign_on: MODE === "empty" ? null : { name: "Example Ltd", path: "/login/oidc" } });

export const userCount = () => users.length;

const shownUser = ({ secret: _secret, codes: _codes, password: _password, ...one }) => ({ ...one, sessions: sessions.filter((known) => known.user === one.name).length });

function changeUser(caller, sent) {
  const known = users.find((one) => one.name === sent.name);
  if (!known) return refused(404, "there is no such user", "read the users again");
  if (sent.password !== undefined && short(sent.password)) return SHORT;
  const last = known.role === "administrator" && users.filter((one) => one.role === "administrator").length === 1;
  if (last && sent.role !== undefined && sent.role !== "administrator") return refused(409, "that is the last administrator", "make somebody else one first");
  if (sent.role !== undefined) known.role = sent.role;
  if (sent.password !== undefined) known.password = sent.password;
  if (sent.totp === "off") Object.assign(known, { totp: false, secret: null, codes: [] });
  if (sent.role !== undefined || sent.password !== undefined) sessions = sessions.filter((one) => one.user !== sent.name || one === caller.session);
  return [204, null];
}

function addUser(sent) {
  if (!/^[\w.@-]{1,64}$/.test(sent.name ?? "")) return refused(400, "that is no name for a user", "take 1 to 64 letters, digits or . _ - @");
  if (short(sent.password)) return SHORT;
  if (users.some((one) => one.name === sent.name)) return refused(409, `there is a user ${sent.name} already`, "take another name");
  users.push(user(sent.name, sent.role, { password: sent.password, created: ago(0), last_seen: null }));
  return [204, null];
}

function own(caller, action, sent) {
  const { user: known } = caller;
  if (!known) return refused(409, "you are not signed in as a user", "sign in with a user name");
  const isRight = sent.password === known.password;
  const WRONG = refused(403, "the password is not right", "type your present password");
  switch (action) {
    case "POST /api/me/password":
      if (!isRight) return WRONG;
      if (short(sent.new_password)) return SHORT;
      known.password = sent.new_password;
      sessions = sessions.filter((one) => one.user !== known.name || one === caller.session);
      return [204, null];
    case "POST /api/me/totp": {
      if (!isRight) return WRONG;
      known.secret = [...randomBytes(32)].map((byte) => ALPHABET[byte % 32]).join("");
      const uri = `otpauth://totp/Tidegate:${known.name}?secret=${known.secret}&issuer=Tidegate`;
      return [200, { secret: known.secret, uri, qr_svg: qr(uri) }];
    }
    case "POST /api/me/totp/confirm":
      if (!known.secret || !isCode(known.secret, sent.code)) return refused(403, "the code is not right", "take the one that the authenticator shows now");
      known.totp = true;
      known.codes = Array.from({ length: 8 }, () => randomBytes(9).toString("base64url").toLowerCase().replaceAll(/[^a-z0-9]/g, "x").slice(0, 12).replace(/(.{4})(.{4})(.{4})/, "$1-$2-$3"));
      return [200, { recovery_codes: known.codes }];
    case "POST /api/me/totp/remove":
      if (!isRight) return WRONG;
      Object.assign(known, { totp: false, secret: null, codes: [] });
      return [204, null];
    default: return null;
  }
}

function audit(words) {
  const before = Number(words.get("before") ?? log.length + 1);
  const limit = Number(words.get("limit") ?? 60);
  const wanted = (words.get("filter") ?? "").toLowerCase();
  const fits = log.filter((one) => one.n < before && JSON.stringify(one).toLowerCase().includes(wanted)).toReversed();
  const entries = fits.slice(0, limit);
  return { entries, older: fits.length > limit ? entries.at(-1).n : null, lost: MODE === "many" ? 3 : 0 };
}

function makeToken(caller, { name, scope, days }) {
  if (!name) return refused(400, "the token has no name", "give it one");
  const one = { id: randomBytes(4).toString("hex"), name, scope, owner: caller.user?.name ?? null, created: ago(0), expires: days === null ? null : ago(-days * DAY), last_used: null, text: `tg_${randomBytes(24).toString("base64url")}` };
  tokens.push(one);
  return [200, { id: one.id, token: one.text }];
}

function endSessions(caller, { id, user: name }) {
  sessions = sessions.filter((one) => (name === undefined ? one.id !== id : one.user !== name || one === caller.session));
  return [204, null];
}

/** What is about users, sessions, tokens and the audit log; null if it is something else. */
export function answerUsers(caller, action, sent, words) {
  const all = caller.role === "administrator";
  const ownName = caller.user?.name ?? null;
  switch (action) {
    case "GET /api/me": return [200, { name: caller.name, kind: caller.kind, role: caller.role, totp: caller.user?.totp ?? false, has_password: Boolean(caller.user?.password) }];
    case "GET /api/users": return [200, { users: users.map(shownUser) }];
    case "POST /api/users": return addUser(sent);
    case "POST /api/users/change": return changeUser(caller, sent);
    case "POST /api/users/remove":
      users = users.filter((one) => one.name !== sent.name);
      sessions = sessions.filter((one) => one.user !== sent.name);
      return [204, null];
    case "GET /api/sessions": return [200, { sessions: sessions.filter((one) => all || one.user === ownName).map((one) => Object.assign({}, one, { own: one === caller.session })) }];
    case "POST /api/sessions/end": return endSessions(caller, sent);
    case "GET /api/tokens": return [200, { tokens: tokens.filter((one) => all || one.owner === ownName).map(({ text: _text, ...one }) => one) }];
    case "POST /api/tokens": return makeToken(caller, sent);
    case "POST /api/tokens/remove": tokens = tokens.filter((one) => one.id !== sent.id); return [204, null];
    case "GET /api/audit": return [200, audit(words)];
    default: return action.startsWith("POST /api/me/") ? own(caller, action, sent) : null;
  }
}
