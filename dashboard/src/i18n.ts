// The words of the dashboard: every text that people read is a message of src/messages, found by its key.
// Pure but for the words of another language than English, which are loaded when they are first wanted.

import { createInstance, type FormatterModule, type ParseKeys } from "i18next";
import { count, language, type Language } from "./language";
import en from "./messages/en.json";

declare module "i18next" {
  interface CustomTypeOptions {
    resources: { translation: typeof en };
  }
}

/** The key of a message; one of several forms goes by the key that they share. */
export type MessageKey = ParseKeys;

/** What stands in a message's places; `count` also chooses among its forms. */
export type MessageValues = Readonly<Record<string, string | number>>;

const LOADS: Record<Exclude<Language, "en">, () => Promise<{ default: object }>> = {
  de: () => import("./messages/de.json"),
};

/** Numbers in a message are written as the language writes them. */
const numbers: FormatterModule = {
  type: "formatter",
  init: () => undefined,
  add: () => undefined,
  addCached: () => undefined,
  format: (value: unknown) => (typeof value === "number" ? count(value) : String(value)),
};

const messages = createInstance();
void messages.use(numbers).init({
  lng: "en",
  fallbackLng: "en",
  initAsync: false,
  resources: { en: { translation: en } },
  // Preact escapes what it shows.
  interpolation: { escapeValue: false, alwaysFormat: true },
});

/** The message of a key in the language that is spoken. What reads it is drawn anew when that changes. */
export function t(key: MessageKey, values: MessageValues = {}): string {
  // Values are data: what looks like a reference to another message in them is none.
  return messages.t(key, { ...values, lng: language.value, nest: false });
}

let wanted: Language = "en";

/** Speaks another language from now on; fails where its words do not come, and all stays as it is. */
export async function speak(next: Language): Promise<void> {
  wanted = next;
  if (next !== "en" && !messages.hasResourceBundle(next, "translation")) {
    const words = await LOADS[next]();
    messages.addResourceBundle(next, "translation", words.default);
  }
  // Meanwhile another one may have been chosen.
  if (wanted === next) language.value = next;
}
