// One list: what it holds, how it is kept, which lines were skipped.

import type { ComponentChildren } from "preact";
import { asSentence, count, moment, plural, printable } from "../format";
import type { List } from "../model";
import { today } from "../state";
import { Icon } from "./icons";

/** Where a list comes from: a file, a URL, the binary, or the configuration itself. */
function placeText(from: string): string {
  if (from === "rules") return "in the configuration";
  return from.startsWith("builtin ") ? "built in" : printable(from);
}

/** `children` are buttons. */
export function ListEntry({ list, children }: { list: List; children?: ComponentChildren }) {
  const kept = list.subscription;
  const next = kept?.next_at ? `next try ${moment(kept.next_at, today.value)}` : "";
  const changed = list.changed_at ? `unchanged since ${moment(list.changed_at, today.value)}` : "";
  const when = [changed, next].filter((it) => it !== "").join(", ");
  return (
    <li class={list.off ? "entry entry-off" : "entry"}>
      <div class="entry-main">
        <span class="entry-name">
          {list.name}
          {list.kind === "allow" && <span class="tag">allows</span>}
          {list.off && <span class="tag tag-land">off</span>}
          {kept && kept.failures > 0 && (
            <span class="tag tag-land">{kept.fetched_at ? "not renewed" : "never fetched"}</span>
          )}
        </span>
        <span class="entry-figure">{plural(list.rules_names + list.rules_urls, "rule")}</span>
      </div>
      <div class="entry-sub" title={when}>
        <span class="entry-from">{placeText(list.from)}</span>
        {list.lines > 0 && <span>{list.syntax}</span>}
        {list.rules_urls > 0 && <span>{count(list.rules_urls)} about URLs</span>}
        {kept?.is_fetching && <span>being fetched …</span>}
        {kept?.fetched_at && <span>fetched {moment(kept.fetched_at, today.value)}</span>}
        {list.unfit && !kept && <span>{printable(asSentence(list.unfit))}</span>}
      </div>
      {kept?.failure && (
        <p class="entry-sub">
          {plural(kept.failures, "try", "tries")} failed: {printable(kept.failure)}
        </p>
      )}
      {list.skipped > 0 && <SkippedLines list={list} />}
      {children && <div class="entry-buttons">{children}</div>}
    </li>
  );
}

/** Lines that are no rules here, by reason, and the first of them. */
export function SkippedLines({ list }: { list: List }) {
  return (
    <details class="skipped">
      <summary>
        <Icon name="chevron" />
        {plural(list.skipped, "line")} skipped
      </summary>
      <ul class="reasons">
        {list.skipped_by_reason.map((one) => (
          <li key={one.reason}>
            <b>{count(one.count)}</b> {one.reason}
          </li>
        ))}
      </ul>
      <ol class="lines">
        {list.skipped_lines.map((one) => (
          <li key={`${one.file ?? ""}:${one.line}`} title={one.file ? `${one.file}: ${one.reason}` : one.reason}>
            <span class="line-number">{one.line}</span>
            <code>{printable(one.text)}</code>
          </li>
        ))}
      </ol>
      {list.skipped > list.skipped_lines.length && <p class="quiet">The first of them are shown.</p>}
    </details>
  );
}
