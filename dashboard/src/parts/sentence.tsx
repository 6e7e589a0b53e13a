// A message with markup in it: links, code and the like stand within the sentence, which stays whole for
// who translates it.

import { Fragment, type ComponentChildren, type VNode } from "preact";
import { t, type MessageKey } from "../i18n";

export interface SentenceProps {
  of: MessageKey;
  /** What stands in `{{places}}`: text, a number, or an element. */
  values?: Readonly<Record<string, ComponentChildren>>;
  /** What becomes of `<tags>` and their content. `code`, `kbd`, `strong`, `b` and `em` need none. */
  parts?: Readonly<Record<string, (content: ComponentChildren) => VNode>>;
}

const PLAIN: NonNullable<SentenceProps["parts"]> = {
  code: (content) => <code>{content}</code>,
  strong: (content) => <strong>{content}</strong>,
  b: (content) => <b>{content}</b>,
  em: (content) => <em>{content}</em>,
  kbd: (content) => <kbd>{content}</kbd>,
};

/** Private characters of Unicode stand where a value will: what it says can never be taken for a tag. */
const PIECE = /<(\/?)([a-z]\w*)>|\uE000(\d+)\uE001/gi;

export function Sentence({ of, values = {}, parts = {} }: SentenceProps) {
  const things: ComponentChildren[] = [];
  const places: Record<string, string | number> = {};
  for (const [name, value] of Object.entries(values)) {
    // Numbers choose the form, and are written by the language.
    if (typeof value === "number") places[name] = value;
    else places[name] = `\uE000${things.push(value) - 1}\uE001`;
  }
  return <>{woven(t(of, places), things, { ...PLAIN, ...parts })}</>;
}

/** The text with its elements in place. Tags that do not match stay text: a test finds them. */
function woven(text: string, things: readonly ComponentChildren[], parts: NonNullable<SentenceProps["parts"]>): ComponentChildren[] {
  const open: { name: string; content: ComponentChildren[] }[] = [{ name: "", content: [] }];
  const put = (piece: ComponentChildren): void => {
    open.at(-1)?.content.push(piece);
  };
  let at = 0;
  for (const match of text.matchAll(PIECE)) {
    const [all, slash, name = "", thing] = match;
    if (match.index > at) put(text.slice(at, match.index));
    at = match.index + all.length;
    if (thing !== undefined) put(<Fragment key={`value ${thing}`}>{things[Number(thing)]}</Fragment>);
    else if (!slash && parts[name]) open.push({ name, content: [] });
    else if (slash && open.length > 1 && open.at(-1)?.name === name) {
      const { content } = open.pop() ?? { content: [] };
      put(<Fragment key={`tag ${match.index}`}>{parts[name]?.(content)}</Fragment>);
    } else put(all);
  }
  if (at < text.length) put(text.slice(at));
  return open.flatMap(({ content }) => content);
}
