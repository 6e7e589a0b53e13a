// The audit log: what was changed, by whom, from where; newest first, older ones on demand.

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { api, faultOf, type Fault } from "../api";
import { auditText, auditWho, bodyLines, hasFailed } from "../audit";
import { asSentence, clock, day, moment, printable } from "../format";
import { t } from "../i18n";
import { usePolled } from "../poll";
import { ROLES, roleWithin } from "../roles";
import { amend, route, today } from "../state";
import type { AuditEntry } from "../user-model";
import { Icon } from "./icons";
import { Empty, Notice } from "./notice";
import { SearchField } from "./search-field";
import { Sentence } from "./sentence";

const NEWEST_EVERY_MS = 5_000;

export function AuditLog() {
  const filter = route.value.words["filter"] ?? "";
  return (
    <>
      <Filter filter={filter} />
      <Entries key={filter} filter={filter} />
    </>
  );
}

function Filter({ filter }: { filter: string }) {
  return (
    <search class="filters audit-filters">
      <SearchField
        label={t("audit.filter")}
        value={filter}
        onFind={(text) => amend({ show: "audit", filter: text })}
      />
    </search>
  );
}

interface Older {
  entries: AuditEntry[];
  /** Where still older ones go on. */
  next: number | null;
}

function Entries({ filter }: { filter: string }) {
  const newest = usePolled(`audit ${filter}`, NEWEST_EVERY_MS, (signal) => api.audit(filter, null, signal));
  const older = useSignal<Older | null>(null);
  const busy = useSignal(false);
  const fault = useSignal<Fault | null>(null);
  const page = newest.data;
  const next = older.value ? older.value.next : (page?.older ?? null);
  const more = async (): Promise<void> => {
    if (next === null || !page) return;
    busy.value = true;
    try {
      // What the newest page shows now would else scroll out of it, and be missing between the two.
      const kept = older.value ? older.value.entries : page.entries;
      const told = await api.audit(filter, next);
      older.value = { entries: [...kept, ...told.entries], next: told.older };
      fault.value = null;
    } catch (thrown) {
      fault.value = faultOf(thrown);
    }
    busy.value = false;
  };
  if (!page) return newest.fault ? <Notice tone="fault" fault={newest.fault} /> : null;
  const top = older.value?.entries[0]?.n ?? -1;
  const entries = older.value ? [...page.entries.filter((one) => one.n > top), ...older.value.entries] : page.entries;
  return (
    <>
      {newest.fault && newest.fault.kind === "refused" && <Notice tone="fault" fault={newest.fault} />}
      {(page.lost ?? 0) > 0 && (
        <Notice tone="land">
          <p>{t("audit.lost", { count: page.lost ?? 0 })}</p>
        </Notice>
      )}
      {entries.length === 0 ? (
        <Empty title={filter === "" ? t("audit.nothingYet") : t("audit.nothingFits")} />
      ) : (
        <section class="panel audit" aria-label={t("people.parts.audit")}>
          <ol>
            {entries.map((entry, n) => (
              <Entry key={entry.n} entry={entry} before={entries[n - 1]} />
            ))}
          </ol>
        </section>
      )}
      <div class="log-end">
        {fault.value && <Notice tone="fault" fault={fault.value} />}
        {next !== null && (
          <button type="button" class="button" disabled={busy.value} onClick={() => void more()}>
            {busy.value ? t("words.lookingBack") : t("words.older")}
          </button>
        )}
        {next === null && entries.length > 0 && <p class="quiet">{t("words.logBegins")}</p>}
      </div>
    </>
  );
}

function dayOf(iso: string): string {
  const at = new Date(iso);
  return at.toDateString() === today.value ? t("words.today") : day(at);
}

/** Roles that this page does not know are told as they are called. */
function asText(role: string, kind: AuditEntry["kind"]): string {
  const known = ROLES.find((one) => one === role);
  const name = known ? roleWithin(known) : printable(role);
  return kind === "token" ? t("audit.byToken", { role: name }) : name;
}

function Entry({ entry, before }: { entry: AuditEntry; before: AuditEntry | undefined }) {
  const failed = hasFailed(entry);
  const date = dayOf(entry.at);
  const lines = bodyLines(entry.body);
  return (
    <>
      {(!before || dayOf(before.at) !== date) && <li class="audit-day">{date}</li>}
      <li>
        <details class={failed ? "audit-entry audit-failed" : "audit-entry"}>
          <summary>
            <time class="audit-time" dateTime={entry.at}>
              {clock(new Date(entry.at))}
            </time>
            <span class="audit-text">
              <b>{auditWho(entry)}</b> {auditText(entry)}
              {failed && <span class="tag tag-land">{t("audit.failed")}</span>}
            </span>
            <Icon name="chevron" />
          </summary>
          <div class="audit-more">
            {entry.error !== null && <p>{asSentence(printable(entry.error))}</p>}
            <dl class="facts">
              <Fact name={t("audit.when")}>{moment(entry.at, today.value)}</Fact>
              <Fact name={t("audit.from")}>
                <code>{printable(entry.client)}</code>
              </Fact>
              {entry.role !== null && <Fact name={t("audit.as")}>{asText(entry.role, entry.kind)}</Fact>}
              <Fact name={t("audit.call")}>
                <Sentence of="audit.answered" values={{ call: <code>{printable(entry.action)}</code>, status: String(entry.status) }} />
              </Fact>
            </dl>
            {lines && <pre class="audit-body">{lines.join("\n")}</pre>}
          </div>
        </details>
      </li>
    </>
  );
}

function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
