// The configuration is changed by a form and as text, applied, gone back in, and joined with what
// somebody else has written meanwhile; comments stay, and names are answered as it says.

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Edge } from "./edge";
import { open, SCREENS, startBrowser } from "./pages";

const YAML = `# The house.
dns:
  listen: ["udp://127.0.0.1:0"]
  upstreams: # whom to ask
    - udp://UPSTREAM # at home
  timeout: 500ms
  blocked: nxdomain
  local:
    - "nas.lan A 192.0.2.7" # the shelf
gateway:
  listen: ["http://127.0.0.1:0"]
  pools:
    app: { servers: ["http://127.0.0.1:9"] } # rack 1
  routes:
    - { host: www.example.net, pool: app }
admin: { listen: "127.0.0.1:0", config_edits: on }
`;

let edge: Edge;
let browser: Browser;

function config(started: Edge): string {
  return join(started.folder, "tidegate.yaml");
}

beforeAll(async () => {
  edge = await Edge.start(YAML);
  await edge.giveConfiguration();
  browser = await startBrowser();
});

afterAll(async () => {
  await browser.close();
  await edge.stop();
});

/** Opens the view, and fails on anything that the page's policy refuses. */
async function configuration(screen: Parameters<typeof open>[2], words = ""): Promise<{ page: Page; refused: string[] }> {
  const page = await open(browser, edge, screen, "lists");
  const refused: string[] = [];
  page.on("console", (line) => {
    if (/Content Security Policy/i.test(line.text())) refused.push(line.text());
  });
  await page.goto(`http://${edge.address("admin", "http")}/#/configuration${words}`);
  return { page, refused };
}

async function applyWith(page: Page, why: string): Promise<void> {
  await page.getByRole("button", { name: "Review and apply" }).click();
  await page.getByLabel("Why, for the history").fill(why);
  await page.getByRole("button", { name: "Apply", exact: true }).click();
  await page.getByText(/Applied, and in force/).waitFor();
}

test.each(SCREENS)("a form changes a setting where it is written, and it can be rolled back (%s)", async (_, screen) => {
  const { page, refused } = await configuration(screen);
  const before = await readFile(config(edge), "utf8");
  await page.getByLabel("Value 1", { exact: true }).fill("192.0.2.8");
  await page.getByLabel("Value 1", { exact: true }).press("Enter");
  await page.getByRole("link", { name: "tidegate.yaml, line 9" }).waitFor();
  await page.getByLabel("Whom the DNS door asks: another upstream").fill("udp://192.0.2.53");
  await page.getByRole("button", { name: "Add upstream to Whom the DNS door asks" }).click();
  await page.getByLabel("Whom the DNS door asks: upstream 2").waitFor();
  await page.getByLabel("Servers of app: another server").fill("http://127.0.0.1:10");
  await page.getByLabel("Servers of app: another server").press("Enter");
  await page.getByLabel("Servers of app: server 2").waitFor();
  await page.getByLabel("Host of another route").fill("app.example.net");
  await page.getByRole("button", { name: "Add the route" }).click();
  await page.getByLabel("Pool of route 2").waitFor();
  expect(await readFile(config(edge), "utf8")).toBe(before);
  await page.getByRole("button", { name: "Review and apply" }).click();
  await page.getByText(/dns\.local: changes from .*192\.0\.2\.7.* to .*192\.0\.2\.8/).waitFor();
  await page.locator(".cm-changedLine:visible, .cm-insertedLine:visible").first().waitFor();
  await page.getByLabel("Why, for the history").fill("the shelf has moved");
  await page.getByRole("button", { name: "Apply", exact: true }).click();
  await page.getByText(/Applied, and in force/).waitFor();
  expect(await edge.lookUp("nas.lan")).toBe("192.0.2.8");
  const after = await readFile(config(edge), "utf8");
  expect(after).toContain('    - "nas.lan A 192.0.2.8" # the shelf\n');
  expect(after).toContain('servers: ["http://127.0.0.1:9", http://127.0.0.1:10] } # rack 1\n');
  expect(after).toContain("    - { host: app.example.net, pool: app }\n");
  expect(after).toMatch(/# at home\n {4}- udp:\/\/192\.0\.2\.53\n/);

  await page.getByRole("radio", { name: "History" }).check();
  await page.getByRole("button", { name: /the shelf has moved/ }).first().click();
  await page.getByRole("button", { name: "Roll back" }).click();
  await page.getByRole("button", { name: "Roll back" }).waitFor({ state: "detached" });
  await page.getByRole("button", { name: /back to before change/ }).first().waitFor();
  // An earlier screen has gone back too: the history says it already.
  await expect.poll(() => edge.lookUp("nas.lan")).toBe("192.0.2.7");
  expect(await readFile(config(edge), "utf8")).toBe(before);
  expect(refused).toEqual([]);
  await page.context().close();
});

test("what is wrong with a form's change is told beside it, and leads to the line", async () => {
  const { page } = await configuration({});
  await page.getByLabel("DNS: address 1").fill("udp://nowhere");
  await page.getByLabel("DNS: address 1").press("Enter");
  await page.getByRole("button", { name: /tidegate\.yaml, line 3 .*dns\.listen/ }).click();
  await page.locator(".cm-lintRange-error").waitFor();
  await page.getByRole("button", { name: "Discard" }).click();
  await page.context().close();
});

test.each(SCREENS)("a mistake in the text is marked at its line, and completion offers the key (%s)", async (_, screen) => {
  const { page, refused } = await configuration(screen, "?tab=files");
  const before = await readFile(config(edge), "utf8");
  const text = page.getByRole("textbox", { name: /^Text of/ });
  await text.getByText("timeout").click();
  await page.keyboard.press("End");
  await page.keyboard.type("\nblokked: auto");
  await page.getByRole("button", { name: /^line 7/ }).waitFor();
  await page.locator(".cm-lintRange-error", { hasText: "blokked" }).waitFor();
  expect(await page.getByRole("button", { name: "Review and apply" }).isDisabled()).toBe(true);
  await page.keyboard.press("Control+Shift+K");
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("End");
  await page.keyboard.type("\nblocked_t");
  await page.locator(".cm-completionLabel", { hasText: "blocked_ttl" }).click();
  await text.getByText("blocked_ttl:").waitFor();
  await page.keyboard.type("7s");
  await page.getByText("nothing is wrong").waitFor();
  await page.keyboard.press("Control+s");
  await page.getByLabel("Why, for the history").waitFor();
  await page.getByText(/dns\.blocked_ttl: changes from 10s to 7s/).waitFor();
  await page.getByRole("button", { name: "Go on editing" }).click();
  await page.getByRole("button", { name: "Discard" }).click();
  await page.getByRole("button", { name: "Discard" }).waitFor({ state: "detached" });
  expect(await readFile(config(edge), "utf8")).toBe(before);
  expect(refused).toEqual([]);
  await page.context().close();
});

test.each(SCREENS)("what somebody else has written meanwhile is joined (%s)", async (_, screen) => {
  const { page } = await configuration(screen);
  const before = await readFile(config(edge), "utf8");
  await page.getByLabel("What the DNS door answers").selectOption("nodata");
  await page.getByText("is changed in").waitFor();
  const theirs = before.replace("# The house.", "# The house on the hill.");
  await writeFile(config(edge), theirs);
  await page.getByRole("button", { name: "Review and apply" }).click();
  await page.getByRole("button", { name: "Apply", exact: true }).click();
  await page.getByRole("heading", { name: "Changed meanwhile" }).waitFor();
  expect(await readFile(config(edge), "utf8")).toBe(theirs);
  const mine = page.getByRole("textbox", { name: /^Your text/ });
  await mine.getByText("# The house.").click();
  await page.keyboard.press("End");
  await page.keyboard.type(" And mine.");
  await page.getByRole("button", { name: "Go on with my text" }).click();
  await page.getByRole("button", { name: "Apply", exact: true }).click();
  await page.getByText(/Applied, and in force/).waitFor();
  const joined = await readFile(config(edge), "utf8");
  expect(joined).toContain("# The house. And mine.");
  expect(joined).toContain("blocked: nodata");
  await page.context().close();
  await writeFile(config(edge), before);
  await edge.giveConfiguration();
});

test("a configuration that takes no changes is shown, with how that is changed", async () => {
  const fixed = await Edge.start(YAML.replace("config_edits: on", "config_edits: off"));
  const page = await open(browser, fixed, {}, "configuration");
  await page.getByText(/Read only\..*config_edits: on/).first().waitFor();
  expect(await page.getByLabel("Value 1", { exact: true }).isDisabled()).toBe(true);
  await page.getByRole("radio", { name: "Files" }).check();
  const text = page.getByRole("textbox", { name: /^Text of/ });
  await text.getByText("# the shelf").waitFor();
  expect(await text.getAttribute("contenteditable")).toBe("false");
  await page.context().close();
  await fixed.stop();
});

test("a reason is asked for, and everything is reached by the keyboard", async () => {
  const { page } = await configuration({});
  await page.getByLabel("What the DNS door answers").selectOption("null");
  await page.getByText("is changed in").waitFor();
  const review = page.getByRole("button", { name: "Review and apply" });
  await expect.poll(() => review.isEnabled()).toBe(true);
  await review.focus();
  await page.keyboard.press("Enter");
  await expect.poll(() => page.getByLabel("Why, for the history").evaluate((field) => field === document.activeElement)).toBe(true);
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Go on editing" }).click();
  await applyWith(page, "null for a while");
  await page.getByRole("radio", { name: "History" }).check();
  await page.getByRole("button", { name: /null for a while.*with the token, from 127\.0\.0\.1/ }).waitFor();
  await page.context().close();
});

test.each(SCREENS)("what a draft would have done with what was asked is told before it is applied (%s)", async (_, screen) => {
  await edge.lookUp("shop.example");
  const { page, refused } = await configuration(screen, "?tab=files");
  const before = await readFile(config(edge), "utf8");
  await page.getByRole("textbox", { name: /^Text of/ }).click();
  await page.keyboard.press("ControlOrMeta+End");
  await page.keyboard.insertText('policy: { lists: [{ name: shops, rules: ["||shop.example^"] }] }\n');
  await page.getByRole("button", { name: "Review and apply" }).click();
  await page.getByRole("button", { name: "Try it" }).click();
  const found = page.getByLabel("What it would change");
  await found.getByText(/of the last week \d+ more would have been blocked/).waitFor();
  await found.getByText("shop.example", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Go on editing" }).click();
  await page.getByRole("button", { name: "Discard" }).click();
  expect(await readFile(config(edge), "utf8")).toBe(before);
  expect(refused).toEqual([]);
  await page.context().close();
});
