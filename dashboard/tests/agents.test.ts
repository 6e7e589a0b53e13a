import { expect, test } from "vitest";
import { agentText } from "../src/agents";

test.each([
  ["Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0", "Firefox 145 on Linux"],
  ["Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36 Edg/142.0.0.0", "Edge 142 on Windows"],
  ["Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Safari/605.1.15", "Safari 18 on macOS"],
  ["Mozilla/5.0 (iPhone; CPU iPhone OS 19_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/19.1 Mobile/15E148 Safari/604.1", "Safari 19 on iPhone"],
  ["Mozilla/5.0 (Linux; Android 16; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Mobile Safari/537.36", "Chrome 142 on Android"],
  ["Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/142.0.0.0 Safari/537.36", "Chrome 142 on Linux"],
])("%s", (agent, text) => {
  expect(agentText(agent)).toBe(text);
});

test("what is not known is shown as it was sent, without what misleads the eye", () => {
  expect(agentText("curl/8.9")).toBe("curl/8.9");
  expect(agentText("")).toBe("Unknown program");
  expect(agentText("<b>\u202ex")).toBe("<b>\ufffdx");
  expect(agentText("x".repeat(200))).toHaveLength(80);
});
