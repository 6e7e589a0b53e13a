import { useSignal } from "@preact/signals";
import { api, faultOf, type Fault } from "../api";
import { asSentence, count, moment, plural, printable } from "../format";
import type { List, Reloaded } from "../model";
import { refreshStatus, today } from "../state";
import { Icon } from "./icons";
import { Empty, Notice } from "./notice";
import { Panel } from "./panel";

/** The lists in force, and the button that reads them anew. */
export function Lists({ lists, onReloaded }: { lists: List[] | null; onReloaded: () => void }) {
  const busy = useSignal(false);
  const done = useSignal<Reloaded | null>(null);
  const fault = useSignal<Fault | null>(null);
  const reload = async (): Promise<void> => {
    busy.value = true;
    try {
      done.value = await api.reload();
      fault.value = null;
      onReloaded();
      await refreshStatus();
    } catch (thrown) {
      done.value = null;
      fault.value = faultOf(thrown);
    }
    busy.value = false;
  };
  return (
    <Panel
      id="lists-title"
      title="Lists"
      aside={
        <button type="button" class="button" disabled={busy.value} onClick={() => void reload()}>
          <Icon name="reload" />
          {busy.value ? "Reading …" : "Reload"}
        </button>
      }
    >
      {fault.value && <Notice tone="fault" fault={fault.value} />}
      {done.value && (
        <Notice tone="good">
          <p>
            Reloaded: {plural(done.value.lists, "list")} with {plural(done.value.rules, "rule")} in{" "}
            {count(done.value.took_ms)} ms.
          </p>
          {done.value.warnings.length > 0 && (
            <ul class="complaints">
              {done.value.warnings.map((warning) => (
                <li key={warning}>{warning}</li>
              ))}
            </ul>
          )}
        </Notice>
      )}
      {lists?.length === 0 && (
        <Empty title="No list, so nothing is blocked">
          Add one under <code>policy.lists</code>, for example <code>{"{ name: starter, builtin: starter }"}</code>, and
          reload.
        </Empty>
      )}
      {lists && lists.length > 0 && (
        <ul class="entries">
          {lists.map((list) => (
            <ListEntry key={list.name} list={list} />
          ))}
        </ul>
      )}
    </Panel>
  );
}

/** Where a list comes from: a file, a URL, the binary, or the configuration itself. */
function placeText(from: string): string {
  if (from === "rules") return "in the configuration";
  return from.startsWith("builtin ") ? "built in" : printable(from);
}

function ListEntry({ list }: { list: List }) {
  const kept = list.subscription;
  const next = kept?.next_at ? `next try ${moment(kept.next_at, today.value)}` : "";
  const changed = list.changed_at ? `unchanged since ${moment(list.changed_at, today.value)}` : "";
  const when = [changed, next].filter((it) => it !== "").join(", ");
  return (
    <li class="entry">
      <div class="entry-main">
        <span class="entry-name">
          {list.name}
          {list.kind === "allow" && <span class="tag">allows</span>}
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
      {list.skipped > 0 && (
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
              <li
                key={`${one.file ?? ""}:${one.line}`}
                title={one.file ? `${one.file}: ${one.reason}` : one.reason}
              >
                <span class="line-number">{one.line}</span>
                <code>{printable(one.text)}</code>
              </li>
            ))}
          </ol>
          {list.skipped > list.skipped_lines.length && <p class="quiet">The first of them are shown.</p>}
        </details>
      )}
    </li>
  );
}
