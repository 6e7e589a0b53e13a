// One list: what it holds, how it is kept, which lines were skipped.

import type { ComponentChildren } from "preact";
import { asSentence, moment, printable } from "../format";
import { t } from "../i18n";
import type { List } from "../model";
import { routeHash } from "../route";
import { today } from "../state";
import { Icon } from "./icons";
import { Sentence } from "./sentence";

/** Where a list comes from: a file, a URL, the binary, or the configuration itself. */
function placeText(from: string): string {
  if (from === "rules") return t("lists.inConfiguration");
  return from.startsWith("builtin ") ? t("lists.builtIn") : printable(from);
}

/** `children` are buttons. */
export function ListEntry({ list, children }: { list: List; children?: ComponentChildren }) {
  const kept = list.subscription;
  const next = kept?.next_at ? t("lists.nextTry", { at: moment(kept.next_at, today.value) }) : "";
  const changed = list.changed_at ? t("lists.unchangedSince", { at: moment(list.changed_at, today.value) }) : "";
  const when = [changed, next].filter((it) => it !== "").join(", ");
  return (
    <li class={list.off ? "entry entry-off" : "entry"}>
      <div class="entry-main">
        <span class="entry-name">
          {list.name}
          {list.kind === "allow" && <span class="tag">{t("lists.allows")}</span>}
          {list.off && <span class="tag tag-land">{t("lists.off")}</span>}
          {kept && kept.failures > 0 && (
            <span class="tag tag-land">{t(kept.fetched_at ? "lists.notRenewed" : "lists.neverFetched")}</span>
          )}
        </span>
        <span class="entry-figure">{t("lists.rules", { count: list.rules_names + list.rules_urls })}</span>
      </div>
      <div class="entry-sub" title={when}>
        <BlockedLately list={list} />
        <span class="entry-from">{placeText(list.from)}</span>
        {list.lines > 0 && <span>{list.syntax}</span>}
        {list.rules_urls > 0 && <span>{t("lists.aboutUrls", { count: list.rules_urls })}</span>}
        {kept?.is_fetching && <span>{t("lists.beingFetched")}</span>}
        {kept?.fetched_at && <span>{t("lists.fetchedAt", { at: moment(kept.fetched_at, today.value) })}</span>}
        {list.unfit && !kept && <span>{printable(asSentence(list.unfit))}</span>}
      </div>
      {kept?.failure && (
        <p class="entry-sub">
          {t("lists.triesFailed", { count: kept.failures, why: printable(kept.failure) })}
        </p>
      )}
      {list.skipped > 0 && <SkippedLines list={list} />}
      {children && <div class="entry-buttons">{children}</div>}
    </li>
  );
}

/** What it blocked this week, with the way to those requests. */
function BlockedLately({ list }: { list: List }) {
  const blocked = list.blocked_7d ?? null;
  if (blocked === null || list.kind === "allow") return null;
  if (blocked === 0) return <span>{t("lists.blockedNothing")}</span>;
  return (
    <span class="entry-week">
      <a href={routeHash("log", { list: list.name, action: "block" })}>{t("lists.blockedWeek", { count: blocked })}</a>
    </span>
  );
}

/** Lines that are no rules here, by reason, and the first of them. */
export function SkippedLines({ list }: { list: List }) {
  return (
    <details class="skipped">
      <summary>
        <Icon name="chevron" />
        {t("lists.skipped", { count: list.skipped })}
      </summary>
      <ul class="reasons">
        {list.skipped_by_reason.map((one) => (
          <li key={one.reason}>
            <Sentence of="lists.skippedFor" values={{ count: one.count, reason: printable(one.reason) }} />
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
      {list.skipped > list.skipped_lines.length && <p class="quiet">{t("lists.firstSkipped")}</p>}
    </details>
  );
}
