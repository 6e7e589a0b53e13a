// A newer version is told on the overview, with the page to read, to those who can install it.

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { Edge } from "./edge";
import { open, SCREENS, startBrowser } from "./pages";

test.each(SCREENS)("the overview says that there is a newer version (%s)", async (_, screen) => {
  const releases = createServer((_asked, answer) => answer.end('{ "tag_name": "v999.0.0", "html_url": "https://git.example/releases/999" }'));
  await new Promise<void>((bound) => releases.listen(0, "127.0.0.1", bound));
  const browser = await startBrowser();
  const edge = await Edge.start(`admin: { listen: "127.0.0.1:0" }\nupdates: { releases: "http://127.0.0.1:${(releases.address() as AddressInfo).port}/" }\n`);
  const page = await open(browser, edge, screen, "overview");
  await page.getByText(/Tidegate 999\.0\.0 is there; .* runs here\./).waitFor();
  const link = page.getByRole("link", { name: "What is new" });
  expect([await link.getAttribute("href"), await link.getAttribute("rel")]).toEqual(["https://git.example/releases/999", "noopener noreferrer"]);
  await browser.close();
  await edge.stop();
  releases.close();
});
