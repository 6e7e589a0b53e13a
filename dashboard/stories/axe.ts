// What axe (WCAG 2.2 A and AA, and its best practices) has to say of a page as it stands.

import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import type { AxeResults } from "axe-core";
import type { Page } from "playwright-core";

const script = readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Rules that the page breaks, each with the element. */
export async function faults(page: Page): Promise<string[]> {
  await page.evaluate(await script);
  const found = await page.evaluate(() => (window as unknown as { axe: { run: () => Promise<AxeResults> } }).axe.run());
  return found.violations.flatMap((fault) => fault.nodes.map((node) => `${fault.id}: ${node.html.slice(0, 160)} (${node.failureSummary ?? ""})`));
}
