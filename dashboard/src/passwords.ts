// Passwords and codes: how long a password is, a made-up one, and how secrets are written for typing.

import { t } from "./i18n";

export const PASSWORD_MIN = 10;
/** The meter is full at this length. */
export const PASSWORD_FULL = 20;

/** Letters and digits that are not taken for one another; 31, so that none comes oftener. */
const LETTERS = "abcdefghjkmnpqrstuvwxyz23456789";
const GROUPS = 4;
const GROUP_LENGTH = 5;

/** What to say of a password, by its length alone: what is guessed first, nobody knows. */
export function lengthText(password: string): string {
  const length = [...password].length;
  if (length === 0) return t("password.least", { count: PASSWORD_MIN });
  if (length < PASSWORD_MIN) return t("password.toGo", { count: PASSWORD_MIN - length });
  if (length < 14) return t("password.enough");
  return length < PASSWORD_FULL ? t("password.good") : t("password.veryGood");
}

/** A password of twenty letters and digits, in groups: 99 bits. */
export function madePassword(fill: (bytes: Uint8Array<ArrayBuffer>) => Uint8Array = (bytes) => crypto.getRandomValues(bytes)): string {
  const wanted = GROUPS * GROUP_LENGTH;
  let letters = "";
  while (letters.length < wanted) {
    for (const byte of fill(new Uint8Array(wanted))) {
      // What is beyond the last whole round would make some letters oftener than others.
      if (byte < 256 - (256 % LETTERS.length) && letters.length < wanted) letters += LETTERS.charAt(byte % LETTERS.length);
    }
  }
  return grouped(letters, GROUP_LENGTH, "-");
}

/** "JBSWY3DPEHPK" → "JBSW Y3DP EHPK". */
export function grouped(text: string, size = 4, between = " "): string {
  return (text.match(new RegExp(`.{1,${size}}`, "g")) ?? []).join(between);
}

/** What was typed as a code, as the API has it: without blanks, and in small letters. */
export function codeOf(typed: string): string {
  const code = typed.trim().toLowerCase();
  return /^[\d\s]+$/.test(code) ? code.replace(/\s/g, "") : code.replace(/\s+/g, "-");
}

/** The recovery codes as a file to keep. */
export function codesFile(name: string, host: string, codes: readonly string[], at: Date): string {
  return [
    t("password.codesOf", { name, host }),
    t("password.codesMade", { day: at.toISOString().slice(0, 10) }),
    "",
    ...codes,
    "",
  ].join("\n");
}
