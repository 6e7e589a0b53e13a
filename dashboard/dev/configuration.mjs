// The configuration's files for the mock: two texts in memory, judged by a few rules that are easy to
// break, and a history of what was applied.

import { readFileSync } from "node:fs";

const MAIN = "/etc/tidegate/tidegate.yaml";
const DNS = "/etc/tidegate/conf.d/dns.yaml";
const TEXTS = {
  [MAIN]: `# The edge of the house. Secrets stand in files of their own.
include: ["conf.d/*.yaml"]

policy:
  lists:
    - { name: ads, url: "https://lists.example/ads.txt", refresh: 1d }
    - { name: mine, rules: ["||tracker.example^"] }
  default: { otherwise: pass }

gateway:
  listen: ["https://192.168.1.2:443"]
  pools:
    app: { servers: ["http://10.0.0.5:8080", "http://10.0.0.6:8080"] }
    photos: { servers: ["http://10.0.0.9:2342"] }
  routes:
    - { host: app.example.net, pool: app }
    - { host: photos.example.net, path: "/*", pool: photos }

admin: { listen: "127.0.0.1:9053", config_edits: on }
`,
  [DNS]: `dns:
  listen: ["udp://192.168.1.2:53", "tcp://192.168.1.2:53"]
  # Two, in case one is down.
  upstreams:
    - tls://1.1.1.1      # near
    - https://dns.quad9.net/dns-query
  strategy: race
  blocked: nodata
  local:
    - "nas.lan A 192.168.1.5"       # the shelf
    - "printer.lan A 192.168.1.9"
    - "||home.example.net^ A 192.168.1.2"
`,
};
const READ_ONLY = process.env.MOCK === "open";
const WHY_NOT = "commands may not change the configuration's file";
const REMEDY = "write `config_edits: on` below `admin` and restart, or change the file in an editor and reload";

const texts = { ...TEXTS };
const changes = [
  { number: 2, at: ago(3), who: "ann", from: "192.168.1.20", why: "the shelf has a new address", path: DNS, before: TEXTS[DNS].replace("192.168.1.5", "192.168.1.4") },
  { number: 1, at: ago(71), who: "outside", from: null, why: "", path: MAIN, before: TEXTS[MAIN].replace("    photos: { servers: [\"http://10.0.0.9:2342\"] }\n", "") },
];

function ago(hours) {
  return new Date(Date.now() - hours * 3_600_000).toISOString();
}

function revision(text) {
  let sum = 7;
  for (const letter of text) sum = (sum * 31 + letter.codePointAt(0)) % 4_294_967_291;
  return sum.toString(16);
}

function files() {
  const fixed = READ_ONLY ? WHY_NOT : null;
  const remedy = READ_ONLY ? REMEDY : null;
  const file = (path) => ({ path, kind: path === MAIN ? "main" : "included", text: texts[path], revision: revision(texts[path]), changed: false, fixed, remedy });
  return { files: Object.keys(texts).map(file), fixed, remedy };
}

/** Lines whose key is not known, or that have a tab. */
function complaints(all) {
  const known = /^(?:include|policy|lists|default|gateway|listen|pools|app|photos|routes|admin|dns|upstreams|strategy|blocked|local|timeout|user|ledger|keep|cache|size|name|url|address)$/;
  return Object.entries(all).flatMap(([file, text]) =>
    text.split("\n").flatMap((line, at) => {
      const key = /^(\s*(?:- )?)([A-Za-z_]\w*):(\s|$)/.exec(line);
      if (!key || known.test(key[2])) return [];
      return [{ file, line: at + 1, column: key[1].length + 1, path: key[2], message: "unknown key", remedy: null }];
    }),
  );
}

function checked(sent) {
  const all = { ...texts, ...Object.fromEntries(sent.map(({ path, text }) => [path, text])) };
  const found = complaints(all);
  const differs = sent.filter(({ path, text }) => texts[path] !== text);
  const differences = differs.map(({ path }) => ({ path: path === DNS ? "dns.upstreams" : "policy", before: null, after: null, takes: "reload",
    text: path === DNS ? 'dns.upstreams: changes from ["tls://1.1.1.1","https://dns.quad9.net/dns-query"] to ["tls://9.9.9.9","https://dns.quad9.net/dns-query"]' : "policy.lists[game]: is added: {\"name\":\"game\"}" }));
  return { complaints: found, warnings: [], differences: found.length > 0 ? [] : differences, asks: [], lists_read: false };
}

/** A scalar or a list of the mock's own texts; nothing else is looked for. */
function found(all, path) {
  const [section, key] = path.split(".");
  const file = new RegExp(`^${section}:`, "m").test(all[MAIN]) ? MAIN : DNS;
  const lines = all[file].split("\n");
  const at = lines.findIndex((line) => line.startsWith(`${section}:`));
  if (key === undefined) return { path, file, line: at + 1, value: at < 0 ? null : {} };
  const line = lines.findIndex((one, n) => n > at && one.startsWith(`  ${key}:`));
  if (at < 0 || line < 0) return { path, file, line: Math.max(at, 0) + 1, value: null };
  if (key === "pools") return { path, file, line: line + 1, value: { app: { servers: ["http://10.0.0.5:8080", "http://10.0.0.6:8080"] }, photos: { servers: ["http://10.0.0.9:2342"] } } };
  if (key === "routes") return { path, file, line: line + 1, value: [{ host: "app.example.net", pool: "app" }, { host: "photos.example.net", path: "/*", pool: "photos" }] };
  const rest = lines[line].slice(key.length + 3).trim();
  if (rest.startsWith("[")) return { path, file, line: line + 1, value: JSON.parse(rest) };
  if (rest !== "") return { path, file, line: line + 1, value: rest };
  const value = [];
  for (const one of lines.slice(line + 1)) {
    const item = /^\s+- (?:"([^"]*)"|(\S+))/.exec(one);
    if (!item) break;
    value.push(item[1] ?? item[2]);
  }
  return { path, file, line: line + 1, value };
}

/** Items of a block list and scalars are changed in their line. */
function edited({ files: sent, changes: wanted, read }) {
  const all = { ...texts, ...Object.fromEntries(sent.map(({ path, text }) => [path, text])) };
  const changed = wanted.map(({ path, value }) => {
    const [, base, item] = /^([\w.]+)(?:\[(\d+)\])?/.exec(path);
    const place = found(all, base);
    const lines = all[place.file].split("\n");
    const line = place.line - 1 + (item === undefined ? 0 : Number(item) + 1);
    if (item === undefined) lines[line] = lines[line].replace(/:.*/, `: ${value}`);
    else if (value === null) lines.splice(line, 1);
    else if (/^\s+- /.test(lines[line])) lines[line] = lines[line].replace(/- (?:"[^"]*"|\S+)/, () => `- ${value}`);
    else lines.splice(line, 0, `    - ${value}`);
    all[place.file] = lines.join("\n");
    return { path, file: place.file, line: line + 1, value };
  });
  const told = Object.keys(all).filter((path) => all[path] !== texts[path]);
  return { files: told.map((path) => ({ path, text: all[path], revision: "" })), changed, read: read.map((path) => found(all, path)) };
}

function apply({ files: sent, why }) {
  const stale = sent.filter(({ path, revision: was }) => was !== revision(texts[path]));
  if (stale.length > 0) {
    const changed = files().files.filter(({ path }) => stale.some((one) => one.path === path));
    return [409, { error: "a file was changed meanwhile; nothing was written", remedy: "join both changes, and send them with the revision that the file has now", changed }];
  }
  const number = (changes[0]?.number ?? 0) + 1;
  for (const { path, text } of sent) {
    changes.unshift({ number, at: ago(0), who: "token", from: "127.0.0.1", why, path, before: texts[path] });
    texts[path] = text;
  }
  return [200, { reload: { lists: 4, rules: 151_409, took_ms: 412, warnings: [] }, number, at_restart: [] }];
}

const shownChange = ({ path, before: _before, ...change }) => ({ ...change, files: [path] });

function details(number) {
  const at = changes.findIndex((one) => one.number === number);
  const change = changes[at];
  const later = changes.slice(0, at).findLast((one) => one.path === change.path);
  return { ...shownChange(change), texts: [{ path: change.path, before: change.before, after: later?.before ?? texts[change.path] }] };
}

/** The answer to a request below /api/configuration/, or null. */
export async function configuration(what, readBody) {
  const [, number, restore] = /history\/(\d+)(\/restore)?$/.exec(what) ?? [];
  if (number !== undefined) {
    if (restore === undefined) return [200, details(Number(number))];
    const change = changes.find((one) => one.number === Number(number));
    const file = { path: change.path, text: change.before, revision: revision(texts[change.path]) };
    return apply({ files: [file], why: `back to before change ${number}` });
  }
  switch (what) {
    case "GET /api/configuration/files": return [200, files()];
    case "GET /api/configuration/schema": return [200, schema()];
    case "GET /api/configuration/history": return [200, { changes: changes.map(shownChange), trouble: null }];
    case "POST /api/configuration/check": return [200, checked((await readBody()).files)];
    case "POST /api/configuration/edit": return [200, edited(await readBody())];
    case "POST /api/configuration/apply": return apply(await readBody());
    default: return null;
  }
}

/** The schema, if somebody has written it down (`tidegate schema > schema.json`), else a small one. */
function schema() {
  try {
    return JSON.parse(readFileSync(process.env.SCHEMA ?? "schema.json", "utf8"));
  } catch {
    const word = (value, description) => ({ const: value, description });
    return { type: "object", properties: {
      dns: { type: "object", description: "The policy DNS forwarder.", properties: {
        upstreams: { type: "array", description: "Whom to ask." },
        strategy: { oneOf: [word("race", "All are asked."), word("ordered", "The first that answers.")] },
        blocked: { oneOf: [word("auto", "As it fits."), word("nodata", "An empty answer."), word("nxdomain", "No such name.")] },
      } },
    } };
  }
}
