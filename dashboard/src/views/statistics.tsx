// Statistics over a day, a week, a month, a year or all there is: over time, and by client, list, door
// and upstream, each of which can be looked at alone. The address says what is looked at.

import { useMemo } from "preact/hooks";
import { api } from "../api";
import { clientName } from "../clients";
import { DOOR_WORDS, type Door } from "../doors";
import { bytes, count, micros, percent, printable, share } from "../format";
import { Chart } from "../parts/chart";
import { Choice } from "../parts/choice";
import { Figure } from "../parts/figure";
import { FiguresTable } from "../parts/figures-table";
import { Icon } from "../parts/icons";
import { Empty, Notice } from "../parts/notice";
import { RankingPanel } from "../parts/ranking";
import { usePolled } from "../poll";
import { routeHash } from "../route";
import { meanTime, spansOfPoints } from "../spans";
import { amend, route } from "../state";
import { fileHref, readWords, SPAN_TEXT, wordsOf } from "../statistics";
import { SPANS, type Dimension, type Statistics, type StatisticsWords } from "../statistics-model";
import { clockOf, knownZone } from "../zone-time";

const STATISTICS_EVERY_MS = 15_000;
const NAMES_EVERY_MS = 120_000;

const ONLY_TEXT: Record<Dimension, string> = { client: "Client", list: "List", door: "Door", upstream: "Upstream" };

const doorName = (word: string): string => (word in DOOR_WORDS ? DOOR_WORDS[word as Door].name : printable(word));

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
        <h1>Statistics</h1>
        <Choice
          label="Range of time"
          name="statistics-range"
          options={SPANS.map((value) => ({
            value,
            text: SPAN_TEXT[value],
            off: data !== null && value !== asked.range && !data.offered.includes(value),
          }))}
          value={asked.range}
          onChoose={(range) => amend(wordsOf({ ...asked, range }))}
        />
      </div>
      {found.fault && found.fault.kind === "refused" && <Notice tone="fault" fault={found.fault} />}
      {asked.only && <Only asked={asked} name={name} />}
      <section class="panel hero" aria-label="Requests over time">
        {!data && <div class="hero-wait" />}
        {young && (
          <Empty title="Nothing is counted yet">
            Point a device at Tidegate: statistics begin with its first request, and stay when the log's rows are gone.{" "}
            <a href={routeHash("setup")}>Set up a device</a>
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
      <span class="quiet">{ONLY_TEXT[only.by]}</span> <b>{name(only.by, only.key)}</b> alone
      <a class="button button-bare" href={routeHash("statistics", wordsOf({ ...asked, only: null }))}>
        <Icon name="close" /> Show all
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
        <Figure name={upstream ? "Sent" : "Requests"} value={count(requests)} />
        {upstream ? (
          <Figure name="Failed" value={count(total.failed)} tone="figure-block">
            {percent(share(total.failed, requests))}
          </Figure>
        ) : (
          <Figure name="Blocked" value={count(total.blocked)} tone="figure-block">
            {percent(share(total.blocked, requests))}
          </Figure>
        )}
        <Figure name="From cache" value={upstream ? "–" : percent(share(total.cached, requests))} />
        <Figure name="Data" value={upstream ? "–" : bytes(total.bytes)} />
        <Figure name="Time, mean" value={mean === null ? "–" : micros(mean)} />
      </dl>
      {spans.length === 0 || requests === 0 ? (
        <Empty title="No request in this range">Take a longer one, or show all.</Empty>
      ) : spans.length < 2 ? (
        <Empty title="One step so far">Over time it shows from the next {data.step} on.</Empty>
      ) : (
        <>
          <Chart spans={spans} step={data.step} stepText={data.step} zone={zone} />
          <div class="chart-foot">
            <FiguresTable spans={spans} step={data.step} clock={clock} />
            <div class="chart-files">
              <a class="button button-bare" href={fileHref(asked, "csv")} download>
                <Icon name="download" /> CSV
              </a>
              <a class="button button-bare" href={fileHref(asked, "jsonl")} download>
                <Icon name="download" /> JSON lines
              </a>
            </div>
          </div>
        </>
      )}
    </>
  );
}

function keptText(data: Statistics): string {
  const since = data.begins ? `Counted since ${clockOf(knownZone(data.zone)).show("date", new Date(data.begins))}` : "";
  const zone = data.zone === "local" ? "the zone of Tidegate's machine" : data.zone;
  return `${since}; hours, days and months are those of ${zone}. Doors count every request; clients and lists are counted by rows of the log.`;
}
