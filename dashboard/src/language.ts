// The languages of the dashboard, and which one is spoken now. Pure: it loads nothing.

import { signal } from "@preact/signals";

export const LANGUAGES = ["en", "de"] as const;
export type Language = (typeof LANGUAGES)[number];

/** What one chose: a language, or that which the browser asks for. */
export type LanguageChoice = "browser" | Language;

/** Each by its own name, so that it is found by who reads no other. */
export const LANGUAGE_NAMES: Record<Language, string> = { en: "English", de: "Deutsch" };

/** Whose numbers and dates go with the words. */
const LOCALES: Record<Language, string> = { en: "en-GB", de: "de-DE" };

/** The language of what is shown. It changes once the words of another one are there. */
export const language = signal<Language>("en");

export function isLanguage(text: string | null | undefined): text is Language {
  return (LANGUAGES as readonly unknown[]).includes(text);
}

/** The first of the browser's languages that the dashboard speaks; else English. */
export function languageOf(wanted: readonly string[]): Language {
  return wanted.map((tag) => tag.toLowerCase().split("-")[0]).find(isLanguage) ?? "en";
}

/** Something of `Intl` for the language that is spoken, made once for each. */
export function perLanguage<T>(make: (locale: string) => T): () => T {
  const made = new Map<Language, T>();
  return () => {
    const spoken = language.value;
    const one = made.get(spoken) ?? make(LOCALES[spoken]);
    made.set(spoken, one);
    return one;
  };
}

const whole = perLanguage((locale) => new Intl.NumberFormat(locale));

/** 184203 → "184,203". */
export function count(n: number): string {
  return whole().format(n);
}
