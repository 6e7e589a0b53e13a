// Finding by a few letters: every letter that was typed comes in the text, in that order. A text is
// better the closer together they stand, and the more often they begin a word.

export interface Found {
  score: number;
  /** Where the letters stand. */
  at: number[];
}

const AT_WORD = 8;
const AFTER_LAST = 5;
const AT_START = 4;

const isWordStart = (text: string, at: number): boolean => at === 0 || /[\s./:_@-]/.test(text.charAt(at - 1));

/** How well `typed` is found in `text`; null if it is not. */
export function fuzzy(typed: string, text: string): Found | null {
  const wanted = typed.toLowerCase().replace(/\s+/g, "");
  const there = text.toLowerCase();
  if (wanted === "") return { score: 0, at: [] };
  // Some letters have other lengths in small: then places would be off.
  if (there.length !== text.length) return null;
  const whole = there.indexOf(typed.trim().toLowerCase());
  if (whole >= 0) return wholeFound(there, whole, typed.trim().length);
  const first = there.indexOf(wanted.charAt(0));
  // Most texts have not all letters in that order, and need no more work.
  if (first < 0 || !scattered(wanted, there, first, nextPlace)) return null;
  let best: Found | null = null;
  const bestPlace = byWords(there);
  for (let from = first; from >= 0; from = there.indexOf(wanted.charAt(0), from + 1)) {
    for (const place of [bestPlace, nextPlace]) {
      const found = scattered(wanted, there, from, place);
      if (found && (best === null || found.score > best.score)) best = found;
    }
  }
  return best;
}

/** All letters in a row beat any that are strewn. */
function wholeFound(text: string, from: number, length: number): Found {
  const at = Array.from({ length }, (_, n) => from + n);
  const start = (isWordStart(text, from) ? AT_WORD * 2 : 0) + (from === 0 ? AT_START * 2 : 0);
  return { score: length * (AT_WORD + AFTER_LAST) + start - text.length / 100, at };
}

/** Where a letter is taken from; -1 where it is not there any more. */
type Place = (text: string, letter: string, from: number) => number;

function scattered(wanted: string, text: string, from: number, take: Place): Found | null {
  const at: number[] = [];
  let score = 0;
  let next = from;
  for (const letter of wanted) {
    const place = take(text, letter, next);
    if (place < 0) return null;
    const last = at.at(-1);
    if (isWordStart(text, place)) score += AT_WORD;
    if (place === 0) score += AT_START;
    if (last !== undefined) score += place === last + 1 ? AFTER_LAST : -Math.min(place - last, 8) / 2;
    at.push(place);
    next = place + 1;
  }
  return { score: score - text.length / 100, at };
}

const nextPlace: Place = (text, letter, from) => text.indexOf(letter, from);

/** The very next place if the letter stands there, else where it begins a word, else any. */
function byWords(words: string): Place {
  const starts = new Map<string, number[]>();
  for (let place = 0; place < words.length; place++) {
    if (!isWordStart(words, place)) continue;
    const letter = words.charAt(place);
    const known = starts.get(letter);
    if (known) known.push(place);
    else starts.set(letter, [place]);
  }
  return (text, letter, from) => {
    const any = nextPlace(text, letter, from);
    if (any <= from) return any;
    return atLeast(starts.get(letter) ?? [], any) ?? any;
  };
}

/** The first of ascending numbers that is no less. */
function atLeast(numbers: number[], least: number): number | undefined {
  let [low, high] = [0, numbers.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((numbers[middle] ?? 0) < least) low = middle + 1;
    else high = middle;
  }
  return numbers[low];
}
