import { expect, it } from "vitest";
import { sources, textOf, walk, type SourceFile, type SourceNode } from "./source";

/** Files whose texts are not messages yet. It only gets shorter. */
const NOT_YET = [
  "agents.ts",
  "catalogue.ts",
  "commands.ts",
  "editor/editor.ts",
  "parts/chart.tsx",
  "parts/client-table.tsx",
  "parts/config-sites.tsx",
  "parts/header.tsx",
  "parts/list-entry.tsx",
  "parts/lists.tsx",
  "parts/own-rules.tsx",
  "parts/request-table.tsx",
  "views/client.tsx",
  "views/clients.tsx",
  "views/lists.tsx",
  "views/log.tsx",
  "views/login.tsx",
  "views/setup.tsx",
];

/** Names of things that are the same in every language. */
const NAMES = new Set(["English", "Deutsch"]);

/** Attributes and calls whose strings nobody reads. */
const UNREAD_ATTRIBUTES = new Set(["class", "d", "id", "points", "viewBox", "aria-keyshortcuts", "aria-labelledby", "aria-describedby", "aria-controls", "autocomplete", "href", "key", "of", "rel"]);
const UNREAD_CALLS = new Set(["t", "usePolled", "querySelector", "querySelectorAll", "closest", "matchMedia", "setAttribute", "addEventListener"]);

/** Two words, or one that begins like a sentence. */
const isText = (text: string): boolean => /^\s*\p{Lu}\p{Ll}+|\p{L}\p{Ll}+[,;:.!?]? [\p{L}*]/u.test(text);

function isUnread(node: SourceNode): boolean {
  switch (node.type) {
    case "ImportDeclaration":
    case "ExportNamedDeclaration":
      return node["source"] !== null && node["source"] !== undefined;
    case "JSXAttribute":
      return UNREAD_ATTRIBUTES.has(String((node["name"] as SourceNode)["name"]));
    case "CallExpression": {
      const callee = node["callee"] as SourceNode;
      return UNREAD_CALLS.has(String(callee["name"] ?? (callee["property"] as SourceNode | undefined)?.["name"]));
    }
    default:
      return node.type.startsWith("TS") && node.type !== "TSAsExpression" && node.type !== "TSSatisfiesExpression" && node.type !== "TSNonNullExpression";
  }
}

/** Keys, events and the like are compared with; what is compared is not shown. */
const isCompared = (parent: SourceNode | undefined, node: SourceNode): boolean =>
  (parent?.type === "BinaryExpression" && parent["operator"] !== "+") || (parent?.type === "SwitchCase" && parent["test"] === node) || (parent?.type === "Property" && parent["key"] === node);

function literalTexts({ root }: SourceFile): string[] {
  const found: string[] = [];
  walk(root, (node, within) => {
    if (isUnread(node)) return false;
    const text = node.type === "JSXText" ? String(node["value"]) : isCompared(within.at(-1), node) ? null : textOf(node);
    if (text !== null && (node.type === "JSXText" ? /\p{L}/u.test(text) : isText(text) && !NAMES.has(text))) found.push(text.trim());
    return true;
  });
  return found;
}

const texts = new Map(sources.map((file) => [file.name, literalTexts(file)]));

it("every text that is read is a message", () => {
  const found = [...texts].filter(([name, literal]) => literal.length > 0 && !NOT_YET.includes(name));
  expect(Object.fromEntries(found)).toEqual({});
});

it("what has none left is not excepted any more", () => {
  expect(NOT_YET.filter((name) => (texts.get(name) ?? []).length === 0)).toEqual([]);
});
