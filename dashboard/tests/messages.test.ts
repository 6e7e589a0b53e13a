import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { LANGUAGES, type Language } from "../src/language";
import { sources, textOf, walk, type SourceNode } from "./source";

const FOLDER = join(import.meta.dirname, "../src/messages");

type Nested = { [key: string]: string | Nested };

function flat(nested: Nested, before = ""): [key: string, text: string][] {
  return Object.entries(nested).flatMap(([key, value]) => (typeof value === "string" ? [[before + key, value] as [string, string]] : flat(value, `${before}${key}.`)));
}

const messages = (language: Language): Map<string, string> => new Map(flat(JSON.parse(readFileSync(join(FOLDER, `${language}.json`), "utf8")) as Nested));
const english = messages("en");
const others = LANGUAGES.filter((language) => language !== "en");

const FORM = /_(zero|one|two|few|many|other)$/;
const isForm = (key: string): boolean => FORM.test(key);
/** A key as `t` takes it, without its form. */
const bare = (key: string): string => key.replace(FORM, "");
const places = (text: string): string[] => [...new Set([...text.matchAll(/\{\{(\w+)\}\}/g)].map(([, name = ""]) => name))].toSorted();
const tags = (text: string): string[] => [...text.matchAll(/<\/?[a-z]\w*>/gi)].map(([tag]) => tag).toSorted();
const bareKeys = new Set([...english.keys()].map(bare));

describe.each(LANGUAGES)("the messages in %s", (language) => {
  const known = messages(language);

  it("say something under every key, and have no more places than are filled", () => {
    const wrong = [...known].filter(([, text]) => text.trim() === "" || text !== text.trim() || /\{\{(?!\w+\}\})/.test(text) || text.includes("$t("));
    expect(wrong).toEqual([]);
  });

  it("have every form of their plural", () => {
    const { pluralCategories } = new Intl.PluralRules(language).resolvedOptions();
    const roots = new Set([...known.keys()].filter(isForm).map(bare));
    const missing = [...roots].flatMap((root) => pluralCategories.filter((form) => !known.has(`${root}_${form}`)).map((form) => `${root}_${form}`));
    const tooMany = [...known.keys()].filter((key) => isForm(key) && !pluralCategories.some((form) => key.endsWith(`_${form}`)));
    expect({ missing, tooMany }).toEqual({ missing: [], tooMany: [] });
  });

  it("close every tag that they open, in its order", () => {
    const unclosed = [...known].filter(([, text]) => {
      const open: string[] = [];
      for (const [, slash, name = ""] of text.matchAll(/<(\/?)([a-z]\w*)>/gi)) {
        if (!slash) open.push(name);
        else if (open.pop() !== name) return true;
      }
      return open.length > 0;
    });
    expect(unclosed).toEqual([]);
  });
});

describe.each(others)("the translation to %s", (language) => {
  const known = messages(language);

  it("has the keys of English, in the same order, and no other", () => {
    expect([...new Set([...known.keys()].map(bare))]).toEqual([...bareKeys]);
  });

  it("has the places and tags of the English message", () => {
    const wrong = [...known].flatMap(([key, text]) => {
      // Of a plural, the form that stands for every number says what there is.
      const from = english.get(key) ?? english.get(`${bare(key)}_other`) ?? "";
      const needed = isForm(key) && !key.endsWith("_other") ? places(from).filter((name) => name !== "count") : places(from);
      const there = places(text);
      const isRight = needed.every((name) => there.includes(name)) && there.every((name) => name === "count" || needed.includes(name)) && tags(text).join() === tags(from).join();
      return isRight ? [] : [{ key, from, text }];
    });
    expect(wrong).toEqual([]);
  });
});

it("there is a file for every language, and no other", () => {
  expect(readdirSync(FOLDER).toSorted()).toEqual(LANGUAGES.map((language) => `${language}.json`).toSorted());
});

describe("the source", () => {
  it("uses every message", () => {
    const whole = new Set<string>();
    const patterns: RegExp[] = [];
    for (const { root } of sources) {
      walk(root, (node) => {
        const text = textOf(node);
        if (text === null || !/^[a-z]\w*[.*]/i.test(text)) return;
        // A key that is put together begins with its view.
        if (text.includes("*") && !text.startsWith("*")) patterns.push(new RegExp(`^${text.replaceAll(".", "\\.").replaceAll("*", "\\w+")}$`));
        else whole.add(text);
      });
    }
    expect([...bareKeys].filter((key) => !whole.has(key) && !patterns.some((pattern) => pattern.test(key)))).toEqual([]);
  });

  it("fills every place of a message, and no other", () => {
    const wrong: string[] = [];
    for (const { name, root } of sources) {
      walk(root, (node) => {
        const used = messageUse(node);
        if (!used) return;
        const texts = [...english].filter(([key]) => bare(key) === used.key).map(([, text]) => text);
        const needed = new Set(texts.flatMap(places));
        const extra = used.values.filter((value) => value !== "count" && !needed.has(value));
        const missing = [...needed].filter((place) => !used.values.includes(place));
        if (extra.length + missing.length > 0) wrong.push(`${name}: ${used.key} lacks [${missing.join()}], has [${extra.join()}] too many`);
        const parts = new Set(texts.flatMap(tags).map((tag) => tag.replace(/[</>]/g, "")));
        const unmade = [...parts].filter((part) => !["code", "kbd", "strong", "b", "em"].includes(part) && !used.parts?.includes(part));
        if (unmade.length > 0 && used.parts !== null) wrong.push(`${name}: ${used.key} makes nothing of <${unmade.join(">, <")}>`);
        if (used.parts === null && parts.size > 0) wrong.push(`${name}: ${used.key} has tags: it wants a Sentence`);
      });
    }
    expect(wrong).toEqual([]);
  });
});

interface MessageUse {
  key: string;
  values: string[];
  /** Null where there can be no tags. */
  parts: string[] | null;
}

/** A call of `t` or a `Sentence` with a whole key and values that are written there. */
function messageUse(node: SourceNode): MessageUse | null {
  if (node.type === "CallExpression" && (node["callee"] as SourceNode)["name"] === "t") {
    const [first, second] = node["arguments"] as SourceNode[];
    const key = first?.type === "Literal" ? textOf(first) : null;
    const values = second === undefined ? [] : namesOf(second);
    return key === null || values === null ? null : { key, values, parts: null };
  }
  if (node.type !== "JSXOpeningElement" || (node["name"] as SourceNode)["name"] !== "Sentence") return null;
  const attributes = new Map((node["attributes"] as SourceNode[]).map((one) => [(one["name"] as SourceNode)["name"], one["value"] as SourceNode]));
  const of = attributes.get("of");
  const values = named(attributes.get("values"));
  const parts = named(attributes.get("parts"));
  return of?.type === "Literal" && values && parts ? { key: textOf(of) ?? "", values, parts } : null;
}

const named = (value: SourceNode | undefined): string[] | null => (value === undefined ? [] : namesOf(value["expression"] as SourceNode));

/** The names in an object that is written out; null for anything else. */
function namesOf(node: SourceNode): string[] | null {
  if (node.type !== "ObjectExpression") return null;
  const properties = node["properties"] as SourceNode[];
  return properties.every(({ type }) => type === "Property") ? properties.map((one) => String((one["key"] as SourceNode)["name"])) : null;
}
