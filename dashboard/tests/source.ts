// The dashboard's own source as the tests of its words read it: parsed, not guessed at.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseSync } from "vite";

export interface SourceNode {
  type: string;
  [field: string]: unknown;
}

export interface SourceFile {
  /** Below src, with `/`. */
  name: string;
  root: SourceNode;
}

const SRC = join(import.meta.dirname, "../src");

export const parsed = (name: string, text: string): SourceFile => ({ name, root: parseSync(name, text).program as unknown as SourceNode });

const names = readdirSync(SRC, { recursive: true, encoding: "utf8" })
  .map((name) => name.replaceAll("\\", "/"))
  .toSorted();

export const styles = names.filter((name) => name.endsWith(".css")).map((name) => ({ name, text: readFileSync(join(SRC, name), "utf8") }));

export const sources: SourceFile[] = names
  .filter((name) => /\.tsx?$/.test(name))
  .map((name) => parsed(name, readFileSync(join(SRC, name), "utf8")));

function isNode(value: unknown): value is SourceNode {
  return typeof value === "object" && value !== null && typeof (value as SourceNode).type === "string";
}

/** Calls `see` for a node and all below it, with what they stand in; where it says false, not below. */
export function walk(node: SourceNode, see: (node: SourceNode, within: readonly SourceNode[]) => boolean | void, within: readonly SourceNode[] = []): void {
  if (see(node, within) === false) return;
  const inner = [...within, node];
  for (const value of Object.values(node)) {
    for (const child of Array.isArray(value) ? value : [value]) if (isNode(child)) walk(child, see, inner);
  }
}

/** The text of a string, or of a template with `*` for what is put in; null for other nodes. */
export function textOf(node: SourceNode): string | null {
  if (node.type === "Literal" && typeof node["value"] === "string") return node["value"];
  if (node.type === "TemplateLiteral") return (node["quasis"] as { value: { cooked: string } }[]).map(({ value }) => value.cooked).join("*");
  return null;
}
