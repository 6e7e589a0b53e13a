// Two machines that share one Redis: the dashboard of one asks both why a name is blocked, and for the
// newest rows of their request logs.

import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { faults } from "./axe";
import { Edge } from "./edge";
import { open, SCREENS, startBrowser } from "./pages";
import { Redis } from "./redis";

/** Rows are written in batches, and a machine answers four questions a second. */
const SOON = { timeout: 10_000, interval: 500 };

let redis: Redis;
let browser: Browser;
let harbour: Edge;
let pier: Edge;

const machine = (name: string, blocks: string): Promise<Edge> =>
  Edge.start(`
fleet:
  name: ${name}
  live: { url: "${redis.url}", secret: 0123456789abcdef0123456789abcdef, questions: true }
policy: { lists: [{ name: mine, rules: ["||${blocks}^"] }] }
dns: { listen: ["udp://127.0.0.1:0"], upstreams: ["udp://UPSTREAM"], blocked: nxdomain }
ledger: { log: all }
admin: { listen: "127.0.0.1:0" }
`);

beforeAll(async () => {
  redis = await Redis.start();
  [harbour, pier] = await Promise.all([machine("harbour", "nobody.example"), machine("pier", "shop.example")]);
  await vi.waitFor(async () => {
    expect(await harbour.command(["why", "shop.example", "--fleet"])).toMatch(/^pier .*blocked/m);
  }, SOON);
  browser = await startBrowser();
  await harbour.lookUp("www.shop.example");
  await pier.lookUp("www.shop.example");
  await pier.lookUp("fish.example");
});

afterAll(async () => {
  await browser.close();
  await Promise.all([harbour.stop(), pier.stop()]);
  await redis.stop();
});

/** Nothing is wider than the screen, and no rule of axe is broken. */
async function fits(page: Page): Promise<void> {
  expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
  expect(await faults(page)).toEqual([]);
}

test.each(SCREENS)("why a name is blocked at one machine and not at the other (%s)", async (_, screen) => {
  const page = await open(browser, harbour, screen, "why?target=www.shop.example");
  const answer = page.getByRole("region", { name: "Answer" });
  await answer.locator(".verdict-pass").waitFor();
  await page.getByRole("radio", { name: "Whole fleet" }).check();
  await answer.getByText("Blocked at 1 of 2 machines that answered").waitFor();
  const line = (name: string) => answer.getByRole("row", { name: new RegExp(`^${name}`) });
  await line("harbour").getByText("this one").waitFor();
  await line("harbour").getByText("Passed", { exact: true }).waitFor();
  await line("pier").getByText("Blocked", { exact: true }).waitFor();
  await line("pier").getByText("||shop.example^").waitFor();
  await line("pier").getByText("mine, line 1").waitFor();
  await fits(page);
  // Another name is asked of all again, and the address says so.
  await page.getByRole("textbox", { name: "Name or URL" }).fill("fish.example");
  await page.getByRole("button", { name: "Ask", exact: true }).click();
  await answer.getByText("Blocked at 0 of 2 machines that answered").waitFor();
  expect(page.url()).toContain("of=fleet");
  await page.context().close();
});

test.each(SCREENS)("rows of all machines stand in one log, and those of one alone (%s)", async (_, screen) => {
  const page = await open(browser, harbour, screen, "log");
  const whose = page.getByRole("combobox", { name: "Machine that is asked" });
  /** Machine and name of each row, sorted: some may have come in the same millisecond. All are asked again, as rows may come late. */
  const rows = async (): Promise<string[]> => {
    const answered = page.waitForResponse((response) => response.url().includes("api/fleet/requests"));
    await page.getByRole("button", { name: "Ask again" }).click();
    await (await answered).finished();
    const found = await page.locator("tbody tr").all();
    const texts = await Promise.all(found.map((row) => row.locator(".c-edge, .subject").allInnerTexts()));
    return texts.map((words) => words.join(" ")).toSorted();
  };
  await whose.selectOption("fleet");
  const ofPier = ["pier fish.example", "pier www.shop.example"];
  await expect.poll(rows, SOON).toEqual(["harbour www.shop.example", ...ofPier]);
  await fits(page);
  await whose.selectOption({ label: "pier" });
  await expect.poll(rows, SOON).toEqual(ofPier);
  expect(page.url()).toContain("of=edge%3Apier");
  // A row of another machine leads to the question why, put to all.
  await page.getByRole("link", { name: "www.shop.example" }).click();
  await page.getByText("Blocked at 1 of 2 machines that answered").waitFor();
  await page.context().close();
});
