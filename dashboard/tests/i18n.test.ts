import { afterEach, describe, expect, it } from "vitest";
import { count, micros, moment, percent, short, span, stepName } from "../src/format";
import { speak, t } from "../src/i18n";
import { language, languageOf } from "../src/language";

afterEach(() => speak("en"));

describe("a message", () => {
  it("takes the form that its number wants, with the number as the language writes it", async () => {
    expect([1, 6].map((n) => t("units.stepHours", { count: n }))).toEqual(["hour", "6 hours"]);
    expect(t("units.days", { count: 1234 })).toBe("1,234 d");
    await speak("de");
    expect(t("units.days", { count: 1234 })).toBe("1.234 Tage");
    expect([60, 600, 3600, 21_600, 86_400].map(stepName)).toEqual(["Minute", "10 Minuten", "Stunde", "6 Stunden", "Tag"]);
  });

  it("never reads what is put into it", () => {
    for (const name of ["{{count}}", "$t(nav.log)", "<b>&amp;</b>", "{{- name}} $& $1", "ads.example/ß"]) expect(t("account.menu", { name })).toBe(`Account: ${name}`);
  });
});

describe("German", () => {
  it("writes numbers, shares and times in its own way", async () => {
    const at = new Date(2026, 10, 21, 9, 5, 7);
    await speak("de");
    expect(language.value).toBe("de");
    expect([count(184_203), short(1500), percent(0.173), percent(0.00001), micros(1400)]).toEqual(["184.203", "1,5k", "17,3 %", "< 0,1 %", "1,4 ms"]);
    expect([720, 86_400, 187_200].map(span)).toEqual(["12 min", "1 Tag", "2 Tage 4 h"]);
    expect(moment(at.toISOString(), "")).toBe("21. Nov. 09:05:07");
  });

  it("stays away where another language was chosen meanwhile", async () => {
    const german = speak("de");
    await Promise.all([german, speak("en")]);
    expect(language.value).toBe("en");
  });
});

it("what the browser asks for is spoken, else English", () => {
  expect(languageOf(["fr-FR", "de-AT", "en"])).toBe("de");
  expect(languageOf(["en-US", "de"])).toBe("en");
  expect([languageOf(["fr"]), languageOf([])]).toEqual(["en", "en"]);
});
