// Statistics over a day, a week, a month, a year or all there is: over time, and by client, list, door
// and upstream, each of which can be looked at alone. The address says what is looked at.

import { useMemo } from "preact/hooks";
import { api } from "../api";
import { clientName } from "../clients";
import { doorName } from "../doors";
import { bytes, count, micros, percent, printable, share } from "../format";
import { t } from "../i18n";
import { Chart } from "../parts/chart";
import { Choice } from "../parts/choice";
import { Figure } from "../parts/figure";
import { FiguresTable } from "../parts/figures-table";
import { Icon } from "../parts/icons";
import { Empty, Notice } from "../parts/notice";
import { RankingPanel } from "../parts/ranking";
import { Sentence } from "../parts/sentence";
import { usePolled } from "../poll";
import { routeHash } from "../route";
import { meanTime, spansOfPoints } from "../spans";
import { amend, route } from "../state";
import { fileHref, readWords, wordsOf } from "../statistics";
import { SPANS, type Dimension, type Statistics, type StatisticsWords } from "../statistics-model";
import { clockOf, knownZone } from "../zone-time";

const STATISTICS_EVERY_MS = 15_000;
const NAMES_EVERY_MS = 120_000;


/** The names of clients that were seen this week; those of others are their addresses. */
function useClientNames(): (client: string) => string {
  const known = usePolled("names of clients", NAMES_EVERY_MS, async (signal) => {
    const [clients, profiles] = await Promise.all([api.clients("7d", signal), api.profiles(signal)]);
    return new Map(clients.clients.map((client) => [client.client, clientName(client, profiles.profiles)]));
  });
  return (client) => known.data?.get(client) ?? printable(client);
}

export function StatisticsView() {
  const asked = readWords(route.value.words);
  const key = JSON.stringify(asked);
  const found = usePolled(`statistics ${key}`, STATISTICS_EVERY_MS, (signal) => api.statistics(asked, signal));
  const named = useClientNames();
  const name = (by: Dimension, text: string): string => (by === "client" ? named(text) : by === "door" ? doorName(text) : printable(text));
  const { data } = found;
  const young = data !== null && data.begins === null;
  return (
    <>
      <div class="view-head">
        <h1>{t("nav.statistics")}</h1>
        <Choice
          label={t("ranges.title")}
          name="statistics-range"
          options={SPANS.map((value) => ({
            value,
            text: t(`statistics.spans.${value}`),
            off: data !== null && value !== asked.range && !data.offered.includes(value),
          }))}
          value={asked.range}
          onChoose={(range) => amend(wordsOf({ ...asked, range }))}
        />
      </div>
      {found.fault && found.fault.kind === "refused" && <Notice tone="fault" fault={found.fault} />}
      {asked.only && <Only asked={asked} name={name} />}
      <section class="panel hero" aria-label={t("chart.title")}>
        {!data && <div class="hero-wait" />}
        {young && (
          <Empty title={t("statistics.nothing")}>
            {t("statistics.nothingText")}{" "}
            <a href={routeHash("setup")}>{t("overview.setUp")}</a>
          </Empty>
        )}
        {data && !young && <OverTime data={data} asked={asked} />}
      </section>
      {data && !young && (
        <div class="rankings">
          {data.rankings.map((ranking) => (
            <RankingPanel
              key={ranking.by}
              ranking={ranking}
              chosen={asked.only?.by === ranking.by ? asked.only.key : null}
              name={(text) => name(ranking.by, text)}
              href={(text) => routeHash("statistics", wordsOf({ ...asked, only: text === null ? null : { by: ranking.by, key: text } }))}
              file={fileHref(asked, "csv", ranking.by)}
            />
          ))}
        </div>
      )}
      {data && !young && <p class="panel-note">{keptText(data)}</p>}
    </>
  );
}

/** What the series is about, if not all, and the way back to all. */
function Only({ asked, name }: { asked: StatisticsWords; name: (by: Dimension, key: string) => string }) {
  const { only } = asked;
  if (!only) return null;
  return (
    <p class="only">
      <Sentence of={`statistics.only.${only.by}`} values={{ name: <b>{name(only.by, only.key)}</b> }} parts={{ quiet: (content) => <span class="quiet">{content}</span> }} />
      <a class="button button-bare" href={routeHash("statistics", wordsOf({ ...asked, only: null }))}>
        <Icon name="close" /> {t("words.showAll")}
      </a>
    </p>
  );
}

function OverTime({ data, asked }: { data: Statistics; asked: StatisticsWords }) {
  const spans = useMemo(() => spansOfPoints(data.points), [data]);
  const zone = knownZone(data.zone);
  const clock = useMemo(() => clockOf(zone), [zone]);
  const { total } = data;
  const requests = total.passed + total.blocked;
  const mean = meanTime(total);
  const upstream = asked.only?.by === "upstream";
  return (
    <>
      <dl class="figures">
        <Figure name={upstream ? t("statistics.sent") : t("words.requests")} value={count(requests)} />
        {upstream ? (
          <Figure name={t("statistics.failed")} value={count(total.failed)} tone="figure-block">
            {percent(share(total.failed, requests))}
          </Figure>
        ) : (
          <Figure name={t("words.blocked")} value={count(total.blocked)} tone="figure-block">
            {percent(share(total.blocked, requests))}
          </Figure>
        )}
        <Figure name={t("words.fromCache")} value={upstream ? "–" : percent(share(total.cached, requests))} />
        <Figure name={t("statistics.data")} value={upstream ? "–" : bytes(total.bytes)} />
        <Figure name={t("statistics.mean")} value={mean === null ? "–" : micros(mean)} />
      </dl>
      {spans.length === 0 || requests === 0 ? (
        <Empty title={t("statistics.noRequest")}>{t("statistics.noRequestText")}</Empty>
      ) : spans.length < 2 ? (
        <Empty title={t("statistics.oneStep")}>{t(`statistics.from.${data.step}`)}</Empty>
      ) : (
        <>
          <Chart spans={spans} step={data.step} stepName={t(`statistics.step.${data.step}`)} zone={zone} />
          <div class="chart-foot">
            <FiguresTable spans={spans} step={data.step} clock={clock} />
            <div class="chart-files">
              <a class="button button-bare" href={fileHref(asked, "csv")} download>
                <Icon name="download" /> {t("words.csv")}
              </a>
              <a class="button button-bare" href={fileHref(asked, "jsonl")} download>
                <Icon name="download" /> {t("words.jsonLines")}
              </a>
            </div>
          </div>
        </>
      )}
    </>
  );
}

function keptText(data: Statistics): string {
  if (data.begins === null) return "";
  const zone = data.zone === "local" ? t("statistics.machineZone") : data.zone;
  return t("statistics.kept", { day: clockOf(knownZone(data.zone)).show("date", new Date(data.begins)), zone });
}
