// The page view: what one visit of a site loaded at one device, door by door over time, what was kept
// away and by which rule, and what it tried to send.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { api } from "../api";
import { bytes, count, micros, moment, percent, printable, share, span } from "../format";
import { t } from "../i18n";
import { RANGES, type Range } from "../model";
import { Choice } from "../parts/choice";
import { Figure } from "../parts/figure";
import { Empty, Notice } from "../parts/notice";
import { Panel } from "../parts/panel";
import { Sentence } from "../parts/sentence";
import { SentBodies } from "../parts/sent-bodies";
import { Waterfall } from "../parts/waterfall";
import { usePolled } from "../poll";
import { routeHash } from "../route";
import { amend, go, route, today } from "../state";
import type { PageVisits, Visit, VisitHost, VisitLine } from "../visit-model";
import { keptAway, visitLength } from "../waterfall";

const VISITS_EVERY_MS = 60_000;

interface Asked {
  client: string;
  site: string;
  at: string;
  range: Range;
}

function asked(): Asked {
  const { words } = route.value;
  const at = words["at"] ?? "";
  return {
    client: words["client"] ?? "",
    site: words["site"] ?? "",
    at: /^\d{1,16}$/.test(at) ? at : "",
    range: RANGES.find((one) => one === words["range"]) ?? "24h",
  };
}

export function PageView() {
  const question = asked();
  const isWhole = question.client !== "" && question.site !== "";
  return (
    <>
      <div class="view-head">
        <h1 class="page-title">
          {isWhole ? (
            <Sentence of="page.titleOf" values={{ site: <span class="page-site">{printable(question.site)}</span> }} />
          ) : (
            t("page.title")
          )}
        </h1>
        {isWhole && (
          <Choice<Range>
            label={t("ranges.title")}
            name="page-range"
            options={RANGES.map((value) => ({ value, text: t(`ranges.${value}`) }))}
            value={question.range}
            onChoose={(range) => amend({ client: question.client, site: question.site, range })}
          />
        )}
      </div>
      {isWhole ? <Answer key={JSON.stringify(question)} question={question} /> : <Question question={question} />}
    </>
  );
}

/** Where the address does not say whose visit of what. */
function Question({ question }: { question: Asked }) {
  const client = useSignal(question.client);
  const site = useSignal(question.site);
  const clients = useSignal<string[]>([]);
  useEffect(() => {
    // Without suggestions one types.
    api.clients("7d").then(
      (known) => {
        clients.value = known.clients.map((one) => one.client);
      },
      () => undefined,
    );
  }, [clients]);
  const submit = (event: Event): void => {
    event.preventDefault();
    go("page", { client: client.value.trim(), site: site.value.trim() });
  };
  return (
    <>
      <form class="question page-question panel" onSubmit={submit}>
        <label class="field">
          <span class="field-name">{t("page.site")}</span>
          <input class="input input-mono" type="text" inputMode="url" required autocapitalize="none" autocomplete="off" spellcheck={false} placeholder="news.example" value={site.value} onInput={(event) => { site.value = event.currentTarget.value; }} />
        </label>
        <label class="field">
          <span class="field-name">{t("page.client")}</span>
          <input class="input input-mono" type="text" list="page-clients" required autocapitalize="none" autocomplete="off" spellcheck={false} placeholder="192.168.1.7" value={client.value} onInput={(event) => { client.value = event.currentTarget.value; }} />
          <datalist id="page-clients">
            {clients.value.map((one) => (
              <option key={one} value={one}>
                {one}
              </option>
            ))}
          </datalist>
        </label>
        <button type="submit" class="button button-main">
          {t("page.show")}
        </button>
      </form>
      <Empty title={t("page.ask")}>{t("page.askHint")}</Empty>
    </>
  );
}

function Answer({ question }: { question: Asked }) {
  const found = usePolled("page", VISITS_EVERY_MS, (signal) => api.pages({ ...question }, signal));
  const { data, fault } = found;
  return (
    <>
      {fault && <Notice tone="fault" fault={fault} />}
      {data && <Visits visits={data} question={question} />}
      {data && !data.visit && (
        <section class="panel hero" aria-label={t("page.visit")}>
          <Empty title={t("page.none")}>{t("page.noneHint")}</Empty>
        </section>
      )}
      {data?.visit && <Shown page={data} visit={data.visit} />}
      {!data && !fault && <div class="hero-wait" />}
    </>
  );
}

/** Which device, and the visits to choose from, the newest first. */
function Visits({ visits: { client, visits, visit }, question }: { visits: PageVisits; question: Asked }) {
  const here = visits.findIndex((one) => one.at === visit?.at);
  const show = (one: VisitLine | undefined): void => {
    if (one) amend({ client: question.client, site: question.site, range: question.range, at: String(Date.parse(one.at)) });
  };
  return (
    <div class="page-visits">
      <p class="page-who">
        <Sentence
          of="page.by"
          values={{
            client: (
              <a href={routeHash("clients", { client })}>
                <code>{printable(client)}</code>
              </a>
            ),
          }}
        />
      </p>
      {visits.length > 0 && (
        <div class="page-choose">
          <button type="button" class="button" disabled={here < 0 || here >= visits.length - 1} onClick={() => show(visits[here + 1])}>
            {t("page.earlier")}
          </button>
          <label>
            <span class="unseen">{t("page.visit")}</span>
            <select class="input" value={visit?.at ?? ""} onChange={(event) => show(visits.find((one) => one.at === event.currentTarget.value))}>
              {visits.map((one) => (
                <option key={one.at} value={one.at}>
                  {t("page.visitLine", { at: moment(one.at, today.value), requests: t("page.requests", { count: one.requests }), kept: t("page.keptAway", { count: one.blocked }) })}
                </option>
              ))}
            </select>
          </label>
          <button type="button" class="button" disabled={here <= 0} onClick={() => show(visits[here - 1])}>
            {t("page.later")}
          </button>
        </div>
      )}
    </div>
  );
}

const MINUTE_MS = 60_000;

/** A visit's length, in the unit that reads best. */
const lasted = (ms: number): string => (ms < MINUTE_MS ? micros(ms * 1000) : span(ms / 1000));

function Shown({ page, visit }: { page: PageVisits; visit: Visit }) {
  const kept = keptAway(visit);
  return (
    <>
      <section class="panel" aria-label={t("page.visit")}>
        <dl class="figures page-figures">
          <Figure name={t("page.figure.requests")} value={count(visit.requests)} />
          <Figure name={t("page.figure.kept")} value={count(visit.blocked)} tone="figure-block">
            {percent(share(visit.blocked, visit.requests))}
          </Figure>
          <Figure name={t("page.figure.hosts")} value={count(visit.hosts.length)} />
          <Figure name={t("page.figure.bytes")} value={bytes(visit.bytes)} />
          <Figure name={t("page.figure.took")} value={lasted(visitLength(visit))} />
        </dl>
        <Waterfall visit={visit} client={page.client} />
        {visit.more > 0 && <p class="panel-note">{t("page.more", { count: visit.more })}</p>}
        <p class="panel-note">{t(page.by_referer ? "page.byReferer" : "page.byTime")}</p>
      </section>
      <div class="columns columns-2 page-columns">
        <KeptAway kept={kept} client={page.client} />
        <Panel id="sent-title" title={t("page.sent")}>
          <SentBodies bodies={visit.sent} />
        </Panel>
      </div>
    </>
  );
}

function KeptAway({ kept, client }: { kept: VisitHost[]; client: string }) {
  return (
    <Panel id="kept-title" title={t("page.kept")}>
      {kept.length === 0 && <Empty title={t("page.nothingKept")} />}
      <ul class="entries">
        {kept.map((host) => (
          <li class="entry" key={host.host}>
            <div class="entry-main">
              <span class="entry-name">
                <a href={routeHash("why", { target: host.host, client })}>{printable(host.host)}</a>
              </span>
              <span class="entry-figure">{t("page.requests", { count: host.blocked })}</span>
            </div>
            <div class="entry-sub">
              {host.rule ? (
                <>
                  <code class="rule kept-rule">{printable(host.rule.text)}</code>
                  <span>{t("page.ruleAt", { list: printable(host.rule.list), line: String(host.rule.line) })}</span>
                </>
              ) : (
                <span>{t("page.noRule")}</span>
              )}
            </div>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
