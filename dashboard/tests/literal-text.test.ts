import { expect, it } from "vitest";
import { parsed, sources, styles, textOf, walk, type SourceFile, type SourceNode } from "./source";

/** Names of things that are the same in every language. */
const NAMES = new Set([
  "Tidegate", "English", "Deutsch",
  "AdGuard DNS filter", "EasyList", "EasyPrivacy", "StevenBlack hosts", "Peter Lowe's list",
  "Chrome", "Edge", "Firefox", "Opera", "Safari", "Samsung Internet", "Vivaldi",
  "Android", "ChromeOS", "FreeBSD", "Linux", "Windows",
]);

/** Attributes and calls whose strings nobody reads. */
const UNREAD_ATTRIBUTES = new Set(["class", "d", "id", "points", "viewBox", "aria-keyshortcuts", "aria-labelledby", "aria-describedby", "aria-controls", "autocomplete", "href", "key", "of", "rel"]);
const UNREAD_CALLS = new Set(["t", "usePolled", "querySelector", "querySelectorAll", "closest", "matchMedia", "setAttribute", "addEventListener"]);

/** Fields whose strings nobody reads: ids, keys of the keyboard, and what a canvas draws with. */
const UNREAD_FIELDS = new Set(["id", "key", "font"]);

/** Two words, or one that begins like a sentence. */
const isText = (text: string): boolean => /^\s*\p{Lu}\p{Ll}+|\p{L}\p{Ll}+[,;:.!?]? [\p{L}*]/u.test(text) && !/var\(--|^\{/.test(text);

const isWritten = (children: SourceNode[]): boolean => children.every(({ type }) => type === "JSXText");

function isUnread(node: SourceNode): boolean {
  switch (node.type) {
    case "ImportDeclaration":
    case "ExportNamedDeclaration":
      return node["source"] !== null && node["source"] !== undefined;
    case "JSXAttribute":
      return UNREAD_ATTRIBUTES.has(String((node["name"] as SourceNode)["name"]));
    case "JSXElement":
      // Code is what one types, the same everywhere.
      return ((node["openingElement"] as SourceNode)["name"] as SourceNode)["name"] === "code" && isWritten(node["children"] as SourceNode[]);
    case "Property":
      return UNREAD_FIELDS.has(String((node["key"] as SourceNode)["name"]));
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
    if (text !== null && !NAMES.has(text.trim()) && (node.type === "JSXText" ? /\p{L}/u.test(text) : isText(text))) found.push(text.trim());
    return true;
  });
  return found;
}

const texts = new Map(sources.map((file) => [file.name, literalTexts(file)]));

it("every text that is read is a message", () => {
  const found = [...texts].filter(([, literal]) => literal.length > 0);
  expect(Object.fromEntries(found)).toEqual({});
});

// They take them from an attribute: `content: attr(data-name)`.
it("no style has words of its own", () => {
  const found = styles.filter(({ text }) => /content:\s*"[^"\n]*\p{L}/u.test(text)).map(({ name }) => name);
  expect(found).toEqual([]);
});

it("text is found where it can stand, and what nobody reads is none", () => {
  const source = `const NAMES = { id: "all names", text: "All names" };
    export const a = (n) => <p class="one two" title="Two words">is {n ? "Big" : "of it"} <code>dns.local</code> {t("a.b")} {n === "Enter"} {\`up to \${n}\`}</p>;`;
  expect(literalTexts(parsed("sample.tsx", source))).toEqual(["All names", "Two words", "is", "Big", "of it", "up to *"]);
});
