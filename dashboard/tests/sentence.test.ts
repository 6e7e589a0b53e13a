import { h, type ComponentChildren, type VNode } from "preact";
import { expect, it } from "vitest";
import { Sentence, type SentenceProps } from "../src/parts/sentence";

/** An element as a line of markup: what a browser would be given. */
function written(node: ComponentChildren): string {
  if (node === null || node === undefined || typeof node === "boolean") return "";
  if (Array.isArray(node)) return node.map(written).join("");
  if (typeof node !== "object") return String(node).replaceAll("<", "&lt;");
  const { type, props } = node as VNode<{ children?: ComponentChildren; href?: string }>;
  if (typeof type !== "string") return written(props.children);
  return `<${type}${props.href === undefined ? "" : ` href=${props.href}`}>${written(props.children)}</${type}>`;
}

const said = (props: SentenceProps): string => written(Sentence(props) as VNode);

it("a sentence has its elements where the message has its tags", () => {
  expect(said({ of: "login.tokenByRun" })).toBe("<code>tidegate run</code> prints an address with the token in it. Opening that address signs you in.");
  const link = (content: ComponentChildren): VNode => h("a", { href: "#/configuration" }, content);
  expect(said({ of: "config.changedIn", values: { setting: h("code", null, "dns.blocked"), file: "dns.yaml", line: "12" }, parts: { link } })).toBe(
    "<code>dns.blocked</code> is changed in <a href=#/configuration>dns.yaml, line 12</a>, and not in force yet.",
  );
});

it("a value is never taken for a tag or a place", () => {
  for (const name of ["<strong>x</strong>", "</strong>", "{{name}}", "\uE0000\uE001"]) {
    expect(said({ of: "addUser.added", values: { name } })).toBe(`<strong>${name.replaceAll("<", "&lt;")} is added.</strong>`);
  }
});

it("numbers choose the form, and are written by the language", () => {
  expect(said({ of: "ownRules.blocked", values: { line: "3", rule: h("code", null, "||a^"), count: 1234 } })).toBe("Line 3, <code>||a^</code>: 1,234 requests blocked");
  expect(said({ of: "ownRules.blocked", values: { line: "3", rule: "||a^", count: 1 } })).toBe("Line 3, ||a^: 1 request blocked");
});
