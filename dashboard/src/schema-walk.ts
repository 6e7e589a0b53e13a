// Where in a configuration one is, told from the lines above, and what the schema has there. It
// reads no YAML: what is typed is mostly none yet, and indentation is enough for keys and lists.

import type { Schema } from "./config-model";

/** A key, or an item of a list. */
export type Step = string | typeof ITEM;
export const ITEM = Symbol("item");

/** What can be written at a place. */
export interface Offer {
  text: string;
  /** First sentences of the manual. */
  info: string;
  kind: "key" | "value";
}

interface Line {
  indent: number;
  /** Columns of the dashes before the key. */
  dashes: number[];
  key: string | null;
  /** What stands behind the colon, or in an item. */
  rest: string;
}

/** Reads one line; null for one without anything. */
function readLine(text: string): Line | null {
  let at = 0;
  const dashes: number[] = [];
  for (;;) {
    while (text[at] === " ") at += 1;
    if (text[at] !== "-" || (text[at + 1] !== " " && text[at + 1] !== undefined)) break;
    dashes.push(at);
    at += 1;
  }
  const content = text.slice(at);
  if (content.startsWith("#") || (content === "" && dashes.length === 0)) return null;
  const key = /^(?:"([^"]*)"|'([^']*)'|([^\s:#{[][^:#]*?))\s*:(?=\s|$)/.exec(content);
  const name = key ? (key[1] ?? key[2] ?? key[3] ?? null) : null;
  return { indent: at, dashes, key: name, rest: key ? content.slice(key[0].length).trim() : content };
}

/** The way to the lines that are indented by less than `column`, seen from line `at` upwards. */
export function pathAbove(lines: readonly string[], at: number, column: number): Step[] {
  const path: Step[] = [];
  let below = column;
  for (let n = at - 1; n >= 0 && below > 0; n -= 1) {
    const line = readLine(lines[n] ?? "");
    if (!line) continue;
    const start = line.dashes[0] ?? line.indent;
    if (line.key !== null && line.indent < below && line.rest.replace(/\s*#.*$/, "") === "") {
      path.unshift(line.key);
      below = line.indent;
    }
    for (const dash of line.dashes.toReversed()) {
      if (dash < below) {
        path.unshift(ITEM);
        below = dash;
      }
    }
    // A list may stand as far left as its key.
    if (path[0] === ITEM && below === start) {
      const owner = ownerOfList(lines, n, below);
      if (owner) {
        path.unshift(owner.key);
        below = owner.indent;
        n = owner.line;
      }
    }
  }
  return path;
}

/** The key of a list whose dashes stand in the same column. */
function ownerOfList(lines: readonly string[], at: number, column: number): { key: string; indent: number; line: number } | null {
  for (let n = at - 1; n >= 0; n -= 1) {
    const line = readLine(lines[n] ?? "");
    if (!line) continue;
    const start = line.dashes[0] ?? line.indent;
    if (start > column || (start === column && line.dashes.length > 0)) continue;
    return line.indent === column && line.dashes.length === 0 && line.key !== null ? { key: line.key, indent: line.indent, line: n } : null;
  }
  return null;
}

/** Where the cursor is: the way to the section, the key on the line if it is behind one, and the word. */
export interface Place {
  path: Step[];
  word: string;
  /** Keys that the section has already. */
  taken: string[];
}

/** The place of a cursor in a text. */
export function placeAt(lines: readonly string[], at: number, column: number): Place {
  const whole = lines[at] ?? "";
  const before = whole.slice(0, column);
  const line = readLine(before);
  const bare = /^[\s-]*/.exec(before)?.[0] ?? "";
  const indent = line?.indent ?? bare.length;
  const own: Step[] = [];
  let start = indent;
  for (const dash of (line?.dashes ?? []).toReversed()) {
    own.unshift(ITEM);
    start = dash;
  }
  const above = pathAbove(lines, at, start);
  if (own.length > 0 && above.at(-1) !== ITEM) {
    const owner = ownerOfList(lines, at, start);
    if (owner) above.push(owner.key);
  }
  const path = [...above, ...own];
  if (line?.key != null) return { path: [...path, line.key], word: line.rest, taken: [] };
  return { path, word: line?.rest ?? "", taken: siblings(lines, at, indent) };
}

/** Keys of the same section, above and below. */
function siblings(lines: readonly string[], at: number, indent: number): string[] {
  const found: string[] = [];
  for (const step of [-1, 1]) {
    // Above the dash of an item there is another item.
    if (step === -1 && (readLine(`${lines[at] ?? ""}x`)?.dashes.length ?? 0) > 0) continue;
    for (let n = at + step; n >= 0 && n < lines.length; n += step) {
      const line = readLine(lines[n] ?? "");
      if (!line || line.indent > indent) continue;
      if (line.indent < indent || (step === 1 && line.dashes.length > 0)) break;
      if (line.key !== null) found.push(line.key);
      if (line.dashes.length > 0) break;
    }
  }
  return found;
}

/** A schema without references: everything that may stand there. */
function variants(root: Schema, schema: Schema, depth = 0): Schema[] {
  if (depth > 12) return [];
  const found: Schema[] = [];
  const target = schema.$ref?.startsWith("#/$defs/") ? root.$defs?.[schema.$ref.slice(8)] : undefined;
  if (target) found.push(...variants(root, target, depth + 1));
  for (const one of [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])]) {
    found.push(...variants(root, one, depth + 1));
  }
  return [schema, ...found];
}

/** Everything that the schema has at a path. */
export function schemasAt(root: Schema, path: readonly Step[]): Schema[] {
  let now = variants(root, root);
  for (const step of path) {
    const next = now.flatMap((schema) => {
      if (step === ITEM) return schema.items ? [schema.items] : [];
      const named = schema.properties?.[step];
      if (named) return [named];
      return typeof schema.additionalProperties === "object" ? [schema.additionalProperties] : [];
    });
    now = next.flatMap((schema) => variants(root, schema));
  }
  return now;
}

/** The manual's words about a place. */
export function wordsAt(root: Schema, path: readonly Step[]): string | null {
  return schemasAt(root, path).find((schema) => schema.description)?.description ?? null;
}

/** The keys that fit at a place, or the values. */
export function offersAt(root: Schema, place: Place): Offer[] {
  const here = schemasAt(root, place.path);
  const offers = new Map<string, Offer>();
  const add = (text: string, kind: Offer["kind"], info: string): void => {
    if (!offers.has(text)) offers.set(text, { text, kind, info });
  };
  const isValue = typeof place.path.at(-1) === "string" && place.taken.length === 0 && place.path.length > 0;
  for (const schema of here) {
    for (const [key, below] of Object.entries(schema.properties ?? {})) {
      if (!place.taken.includes(key)) add(key, "key", below.description ?? wordsOf(root, below));
    }
    for (const value of [...(schema.enum ?? []), ...(schema.const === undefined ? [] : [schema.const]), ...(schema.examples ?? [])]) {
      if (typeof value !== "object") add(String(value), "value", schema.description ?? "");
    }
    if (isValue && [schema.type].flat().includes("boolean")) {
      add("true", "value", "");
      add("false", "value", "");
    }
  }
  return [...offers.values()];
}

function wordsOf(root: Schema, schema: Schema): string {
  return variants(root, schema).find((one) => one.description)?.description ?? "";
}
