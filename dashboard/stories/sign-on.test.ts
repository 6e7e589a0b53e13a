// Somebody signs in with a provider that others keep, may do what the groups there say, and signs out.

import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Edge } from "./edge";
import { SCREENS, startBrowser } from "./pages";
import { freePort } from "./ports";
import { Provider } from "./provider";

let edge: Edge;
let provider: Provider;
let browser: Browser;

beforeAll(async () => {
  provider = await Provider.start({ name: "anna", groups: ["staff"] });
  // The provider must know where to send people back to before it starts.
  const port = await freePort();
  edge = await Edge.start(`
dns: { listen: ["udp://127.0.0.1:0"], upstreams: ["udp://UPSTREAM"] }
admin:
  listen: "127.0.0.1:${port}"
  single_sign_on:
    name: Example Ltd
    issuer: "${provider.issuer}"
    client_id: tidegate
    client_secret: hush-hush-hush
    public_url: http://localhost:${port}
    roles: { operator: [staff], administrator: [root] }
`);
  browser = await startBrowser();
});

afterAll(async () => {
  await browser.close();
  await edge.stop();
  await provider.stop();
});

test.each(SCREENS)("a provider lets somebody in, with the rights of the groups there (%s)", async (_, screen) => {
  const context = await browser.newContext(screen);
  const page = await context.newPage();
  const refused: string[] = [];
  page.on("console", (line) => {
    if (/Content Security Policy/i.test(line.text())) refused.push(line.text());
  });
  const base = `http://localhost:${edge.address("admin", "http").split(":")[1]}`;
  await page.goto(base);
  await page.getByRole("link", { name: "Sign in with Example Ltd" }).click();
  await page.getByRole("link", { name: "I am anna" }).click();
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  expect(page.url().startsWith(base)).toBe(true);
  const me = await page.request.get(`${base}/api/me`);
  expect(await me.json()).toMatchObject({ name: "anna", role: "operator" });
  // Operators see no configuration.
  expect(await page.getByRole("link", { name: "Configuration" }).count()).toBe(0);
  await page.getByRole("button", { name: /^Account/ }).click();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("link", { name: "Sign in with Example Ltd" }).waitFor();
  expect((await page.request.get(`${base}/api/me`)).status()).toBe(401);
  expect(refused).toEqual([]);
  await context.close();
});

test("an answer that this browser did not ask for signs nobody in, and says so", async () => {
  const context = await browser.newContext();
  const page = await context.newPage();
  const base = `http://localhost:${edge.address("admin", "http").split(":")[1]}`;
  await page.goto(`${base}/login/oidc/callback?code=stolen&state=foreign`);
  await page.getByRole("alert").waitFor();
  expect((await page.request.get(`${base}/api/me`)).status()).toBe(401);
  await context.close();
});
