import { expect, it, vi } from "vitest";

vi.mock("../src/messages/de.json", () => {
  throw new Error("the server has another build now");
});

const { speak, t } = await import("../src/i18n");
const { language } = await import("../src/language");

it("where the words of a language do not come, what is shown stays as it is", async () => {
  await expect(speak("de")).rejects.toThrow();
  expect(language.value).toBe("en");
  expect(t("nav.overview")).toBe("Overview");
});
