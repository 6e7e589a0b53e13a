// Signals that a device goes around Tidegate, what each means, and where its platform switches that
// off. They are signals and no proof, and the words keep to that.

import { api } from "../api";
import { BYPASS_LIST, devicesOf, isListed, isMild, kindsOf } from "../bypass";
import { BYPASS_RANGES, type BypassRange, type SignalDevice } from "../bypass-model";
import { moment } from "../format";
import { t } from "../i18n";
import { useAct, type Act } from "../parts/act";
import { Choice } from "../parts/choice";
import { Notice } from "../parts/notice";
import { Panel } from "../parts/panel";
import { RadarSea } from "../parts/radar-sea";
import { Sentence } from "../parts/sentence";
import { SignalPanel } from "../parts/signal-panel";
import { usePolled } from "../poll";
import { routeHash } from "../route";
import { amend, may, route, today } from "../state";

const SIGNALS_EVERY_MS = 120_000;

/** What the systems ask first, and what Tidegate says. */
const CANARIES = [
  { name: "use-application-dns.net", who: "firefox" },
  { name: "mask.icloud.com", who: "relay" },
  { name: "mask-h2.icloud.com", who: "relay" },
  { name: "_dns.resolver.arpa", who: "designated" },
] as const;

export function BypassView() {
  const { words } = route.value;
  const chosen = BYPASS_RANGES.find((one) => one === words["range"]) ?? "24h";
  const asked = usePolled(`bypass ${chosen}`, SIGNALS_EVERY_MS, async (signal) => {
    const [bypass, { lists }] = await Promise.all([api.bypass(chosen, signal), api.lists(signal)]);
    return { bypass, hasList: lists.some((list) => list.subscription?.url === BYPASS_LIST.url && !list.off) };
  });
  const { data, fault } = asked;
  const devices = data ? devicesOf(data.bypass) : [];
  return (
    <>
      <div class="view-head">
        <h1>{t("bypass.title")}</h1>
        <Choice<BypassRange>
          label={t("ranges.title")}
          name="bypass-range"
          options={BYPASS_RANGES.map((value) => ({ value, text: t(`ranges.${value}`) }))}
          value={chosen}
          onChoose={(range) => amend({ range: range === "24h" ? "" : range })}
        />
      </div>
      {fault && fault.kind === "refused" && <Notice tone="fault" fault={fault} />}
      {data && devices.length === 0 && <Calm range={chosen} />}
      {data && devices.length > 0 && (
        <>
          <Summary devices={devices} />
          {!data.hasList && devices.some((device) => device.signals.some(({ kind }) => isListed(kind))) && <OfferList onAdded={asked.refresh} />}
          {devices.map((device) => (
            <SignalPanel key={device.client} device={device} />
          ))}
          {isShortened(data.bypass.since, chosen) && <p class="log-end quiet">{t("bypass.since", { at: moment(data.bypass.since, today.value) })}</p>}
          {data.bypass.more > 0 && <p class="log-end quiet">{t("bypass.more", { count: data.bypass.more })}</p>}
        </>
      )}
      {data && <Canaries />}
    </>
  );
}

const HOURS: Record<BypassRange, number> = { "24h": 24, "7d": 168, "30d": 720 };
/** A clock that is a little off tells nothing. */
const SLACK_MS = 3_600_000;

/** True if less was looked through than the range asks for. */
function isShortened(since: string, range: BypassRange): boolean {
  return Date.parse(since) > Date.now() - HOURS[range] * 3_600_000 + SLACK_MS;
}

/** Nothing to tell, told honestly. */
function Calm({ range }: { range: BypassRange }) {
  return (
    <section class="panel hero radar-calm" aria-labelledby="radar-calm">
      <RadarSea />
      <h2 id="radar-calm" class="radar-calm-title">
        {t("bypass.calm")}
      </h2>
      <p class="radar-calm-text">{t(`bypass.calmFor.${range}`)}</p>
      <p class="radar-calm-text quiet">{t("bypass.calmHonest")}</p>
    </section>
  );
}

function Summary({ devices }: { devices: SignalDevice[] }) {
  return (
    <section class="panel radar-sum" aria-label={t("bypass.summary")}>
      <p>{t("bypass.intro")}</p>
      <ul class="radar-kinds">
        {kindsOf(devices).map(({ kind, devices: some }) => (
          <li key={kind} class="radar-kind">
            <span class={isMild(kind) ? "dot dot-good" : "dot dot-bad"} aria-hidden="true" />
            <b>{t(`bypass.kind.${kind}`)}</b>
            <span class="quiet">{t("bypass.onDevices", { count: some })}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** A list about resolvers and tunnels, for all devices. */
function OfferList({ onAdded }: { onAdded: () => void }) {
  const { busy, fault, act }: Act = useAct();
  if (!may("operator")) return null;
  const add = async (): Promise<void> => {
    if (await act(() => api.addList(BYPASS_LIST))) onAdded();
  };
  return (
    <div class="panel radar-offer">
      <div>
        <h2>{t("bypass.offer")}</h2>
        <p class="quiet">
          <Sentence of="bypass.offerAbout" parts={{ link: (content) => <a href={routeHash("lists")}>{content}</a> }} />
        </p>
      </div>
      <button type="button" class="button" disabled={busy.value} onClick={() => void add()}>
        {t(busy.value ? "bypass.adding" : "bypass.add")}
      </button>
      {fault.value && <Notice tone="fault" fault={fault.value} />}
    </div>
  );
}

function Canaries() {
  return (
    <Panel id="canaries-title" title={t("bypass.canaries")}>
      <p class="canaries-intro">
        <Sentence of="bypass.canariesIntro" />
      </p>
      <dl class="canaries">
        {CANARIES.map(({ name, who }) => (
          <div key={name}>
            <dt>
              <code>{name}</code>
            </dt>
            <dd>{t(`bypass.canary.${who}`)}</dd>
          </div>
        ))}
      </dl>
    </Panel>
  );
}
