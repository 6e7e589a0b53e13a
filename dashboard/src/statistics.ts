// Which statistics the words of an address ask for, and the words back. Pure.

import { DIMENSIONS, SPANS, type Dimension, type StatisticsWords } from "./statistics-model";


/** The range is a day if none is named; of several filters the first counts, since Tidegate keeps no other. */
export function readWords(words: Readonly<Record<string, string>>): StatisticsWords {
  const range = SPANS.find((known) => known === words["range"]) ?? "day";
  const by = DIMENSIONS.find((known) => (words[known] ?? "") !== "");
  return { range, only: by ? { by, key: words[by] ?? "" } : null };
}

export function wordsOf({ range, only }: StatisticsWords): Record<string, string> {
  return { range, ...(only ? { [only.by]: only.key } : {}) };
}

/** The address of a file of the series, or of a ranking. */
export function fileHref(asked: StatisticsWords, format: "csv" | "jsonl", by?: Dimension): string {
  const query = new URLSearchParams({ ...wordsOf(asked), ...(by ? { by } : {}), format });
  return `api/statistics?${query.toString()}`;
}
