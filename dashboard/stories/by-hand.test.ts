// A name is allowed or blocked from a row of the log, and the policy does so at once.

import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ADDRESS, Edge } from "./edge";
import { open, SCREENS, startBrowser } from "./pages";

const YAML = `
policy:
  lists: [{ name: mine, rules: ["||ads.example^"] }]
  clients: [{ name: kids, match: ["192.0.2.77"] }]
dns: { listen: ["udp://127.0.0.1:0"], upstreams: ["udp://UPSTREAM"], blocked: nxdomain }
ledger: { log: all }
admin: { listen: "127.0.0.1:0" }
`;

let edge: Edge;
let browser: Browser;

beforeAll(async () => {
  edge = await Edge.start(YAML);
  browser = await startBrowser();
});

afterAll(async () => {
  await browser.close();
  await edge.stop();
});

test.each(SCREENS)("a name is blocked from its row, and that is undone (%s)", async (_, screen) => {
  expect(await edge.lookUp("www.game.example")).toBe(ADDRESS);
  const page = await open(browser, edge, screen, "log?filter=www.game.example");
  await page.locator("tbody button").first().click();
  const form = page.getByRole("region", { name: "Block by hand" });
  await form.getByLabel("Name, with all below it").selectOption("game.example");
  await form.getByRole("radio", { name: "Everybody" }).check();
  await form.getByRole("button", { name: "Block" }).click();
  await page.getByText(/game\.example is blocked for everybody until \d\d:\d\d/).waitFor();
  expect(await edge.lookUp("www.game.example")).toBe("ENOTFOUND");
  await page.getByText("game.example is blocked by hand for a while").waitFor();
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByRole("region", { name: "Block by hand" }).waitFor();
  expect(await edge.lookUp("www.game.example")).toBe(ADDRESS);
  await page.context().close();
});

test.each(SCREENS)("a blocked name is allowed for one client until that is taken back (%s)", async (_, screen) => {
  expect(await edge.lookUp("ads.example")).toBe("ENOTFOUND");
  const page = await open(browser, edge, screen, "why?target=ads.example&client=127.0.0.1");
  const form = page.getByRole("region", { name: "Allow by hand" });
  await form.getByRole("radio", { name: "Always" }).check();
  await form.getByRole("button", { name: "Allow" }).click();
  await page.getByText("ads.example is allowed for 127.0.0.1 until you take that back.").waitFor();
  expect(await edge.lookUp("ads.example")).toBe(ADDRESS);
  await page.goto(`http://${edge.address("admin", "http")}/#/`);
  const panel = page.getByRole("region", { name: "Allowed and blocked by hand" });
  await panel.getByText("for 127.0.0.1").waitFor();
  await panel.getByRole("button", { name: "Block again" }).click();
  await panel.waitFor({ state: "detached" });
  expect(await edge.lookUp("ads.example")).toBe("ENOTFOUND");
  await page.context().close();
});
