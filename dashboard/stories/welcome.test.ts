// The first steps: ports and who holds them, what would be written, the first user, and this device
// asking. What was written has to be kept within a minute.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { FirstRun } from "../src/first-run-model";
import { Edge } from "./edge";
import { open, SCREENS, startBrowser } from "./pages";

const YAML = `
# The house.
policy: { lists: [{ name: mine, rules: ["||ads.example^"] }] }
pixel: { listen: ["http://127.0.0.1:0", "https://127.0.0.1:0"] }
dns: { listen: ["udp://127.0.0.1:0"], upstreams: ["udp://UPSTREAM"], blocked: nxdomain }
ledger: { log: all }
admin: { listen: "127.0.0.1:0", config_edits: on }
`;

let edge: Edge;
let browser: Browser;

beforeAll(async () => {
  edge = await Edge.start(YAML);
  await edge.giveConfiguration();
  browser = await startBrowser();
});

afterAll(async () => {
  await browser.close();
  await edge.stop();
});

test.each(SCREENS)("the steps lead from the address to what would be written (%s)", async (_, screen) => {
  const page = await open(browser, edge, screen, "welcome?step=address");
  await page.getByRole("heading", { name: "Where is Tidegate reached?" }).waitFor();
  await page.getByRole("radio", { name: /127\.0\.0\.1/ }).check();
  await page.getByText("Only programs on this machine reach this address.").waitFor();
  await page.getByText(/^53\/UDP for DNS$/).waitFor();
  await page.getByRole("link", { name: "Next: Resolvers" }).click();
  await page.getByRole("heading", { name: "Whom shall it ask?" }).waitFor();
  // Who goes on with the keyboard reads on at the heading.
  expect(await page.evaluate(() => document.activeElement?.id)).toBe("welcome-step-title");
  await page.getByRole("link", { name: "Next: Lists" }).click();
  await page.getByRole("link", { name: "Next: Put it in force" }).click();
  await page.getByText("127.0.0.1", { exact: true }).waitFor();
  const wide = await page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth);
  expect(wide).toBe(false);
  await page.context().close();
});

test("this device is watched until it asks", async () => {
  const page = await open(browser, edge, {}, "welcome?step=device");
  await page.getByText("Waiting for this device to ask …").waitFor();
  await edge.lookUp("www.example");
  await page.getByText("It asks: ads are gone on this device").waitFor();
  await page.getByText(/127\.0\.0\.1 asked at \d\d:\d\d:\d\d\./).waitFor();
  await page.context().close();
});

test.each([
  { ignores: true, says: "This browser trusts it: an image over HTTPS came." },
  { ignores: false, says: "This browser does not trust it yet. This looks again every few seconds." },
])("whether the browser trusts the authority is seen by an image ($says)", async ({ ignores, says }) => {
  const page = await open(browser, edge, { ignoreHTTPSErrors: ignores }, "welcome?step=certificate");
  await page.getByRole("status").getByText(says).waitFor();
  await page.context().close();
});

test("what waits counts down on the overview, and is kept there", async () => {
  const page = await open(browser, edge, {}, "setup");
  let isKept = false;
  await page.route("**/api/first-run", async (asked) => {
    const known = (await (await asked.fetch()).json()) as FirstRun;
    const waiting = isKept ? null : { until: new Date(Date.now() + 42_000).toISOString() };
    await asked.fulfill({ json: { ...known, waiting } });
  });
  await page.route("**/api/first-run/confirm", (asked) => {
    isKept = asked.request().method() === "POST";
    return asked.fulfill({ status: 204 });
  });
  await page.goto(`http://${edge.address("admin", "http")}/#/`);
  const notice = page.getByRole("alertdialog", { name: "Does everything still work?" });
  await notice.getByText(/^0:[34]\d$/).waitFor();
  await notice.getByRole("button", { name: "Keep it" }).click();
  await notice.waitFor({ state: "detached" });
  expect(isKept).toBe(true);
  await page.context().close();
});

test("what was chosen is written with its comments kept, and stays once somebody keeps it", async () => {
  const page = await open(browser, edge, {}, "welcome?step=address");
  await page.getByRole("radio", { name: /127\.0\.0\.1/ }).check();
  // The other doors want ports that not everybody may have.
  await page.getByRole("checkbox", { name: /^DNS/ }).uncheck();
  await page.getByRole("checkbox", { name: /^Pixel/ }).uncheck();
  await page.getByRole("checkbox", { name: /^Proxy/ }).check();
  await page.getByText("All of them are free, or Tidegate's already.").waitFor();
  await page.getByRole("navigation", { name: "Steps" }).getByRole("link", { name: "Put it in force" }).click();
  await page.getByRole("button", { name: "Write it, and use it" }).click();
  const notice = page.getByRole("alertdialog", { name: "Does everything still work?" });
  await notice.getByRole("button", { name: "Keep it" }).click();
  await notice.waitFor({ state: "detached" });
  const text = await readFile(join(edge.folder, "tidegate.yaml"), "utf8");
  expect(text).toContain("# The house.");
  expect(text).toContain("127.0.0.1:3128");
  await page.getByRole("navigation", { name: "Steps" }).getByRole("link", { name: /Put it in force.*\(done\)/ }).waitFor();
  await page.context().close();
});

test("the first user is added, and the step is done", async () => {
  const page = await open(browser, edge, {}, "welcome?step=user");
  await page.getByRole("textbox", { name: "Name" }).fill("anna");
  await page.getByRole("button", { name: "Make one up" }).click();
  await page.getByRole("button", { name: "Add", exact: true }).click();
  await page.getByText("anna is added.").waitFor();
  await page.getByRole("navigation", { name: "Steps" }).getByRole("link", { name: /First user.*\(done\)/ }).waitFor();
  await page.context().close();
});
