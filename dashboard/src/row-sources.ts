// Where answers of the log came from, in a word or two.

import { printable } from "./format";
import { t } from "./i18n";

export const ROW_SOURCES = ["policy", "local", "cache", "stale", "upstream", "origin", "file", "tunnel", "refused", "failed"] as const;

/** The name of a source; what is not known is shown as it was told. */
export function sourceName(source: string): string {
  const known = ROW_SOURCES.find((one) => one === source);
  return known === undefined ? printable(source) : t(`log.source.${known}`);
}
