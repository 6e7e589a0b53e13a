// One client: what it did, what holds for it for now, and its profile.

import { useSignal } from "@preact/signals";
import { api } from "../api";
import { clientName, EVERYBODY } from "../clients";
import type { Client, ClientActivity, Profiles } from "../client-model";
import { count, moment, percent, printable, share } from "../format";
import { t } from "../i18n";
import { holdsOf, namesHeld, type ByHandLists } from "../holds";
import { BackLink } from "../parts/back-link";
import { ClientTags, ProfileLink } from "../parts/client-table";
import { ClientNames } from "../parts/client-names";
import { Figure } from "../parts/figure";
import { HoldPanel } from "../parts/hold";
import { Empty, Notice } from "../parts/notice";
import { Overrides } from "../parts/overrides";
import { Panel } from "../parts/panel";
import { PutInProfile } from "../parts/put-in-profile";
import { RangeChoice } from "../parts/range-choice";
import { SeriesChart } from "../parts/series-chart";
import { entriesFor, WeekGrid } from "../parts/week-grid";
import { usePolled } from "../poll";
import { routeHash } from "../route";
import { range, today } from "../state";

const CLIENT_EVERY_MS = 5_000;

interface Known extends ByHandLists {
  /** Null where it did not ask in this range. */
  client: Client | null;
  activity: ClientActivity;
  profiles: Profiles;
}

export function ClientView({ address }: { address: string }) {
  const chosen = range.value;
  const asked = usePolled(`client ${address} ${chosen}`, CLIENT_EVERY_MS, async (signal): Promise<Known> => {
    const [clients, activity, profiles, { allows }, { blocks }] = await Promise.all([
      api.clients(chosen, signal),
      api.activity(address, chosen, signal),
      api.profiles(signal),
      api.allows(signal),
      api.blocks(signal),
    ]);
    const client = clients.clients.find((one) => one.client === address) ?? null;
    return { client, activity, profiles, allows, blocks };
  });
  const client = asked.data?.client ?? null;
  const name = client && asked.data ? clientName(client, asked.data.profiles.profiles) : printable(address);
  return (
    <>
      <BackLink />
      <div class="view-head">
        <h1 class="client-title">
          {name}
          {client && <ClientTags client={client} />}
        </h1>
        <RangeChoice />
      </div>
      {asked.fault && asked.fault.kind === "refused" && <Notice tone="fault" fault={asked.fault} />}
      {asked.data && <About address={address} known={asked.data} onChanged={asked.refresh} />}
    </>
  );
}

function About({ address, known, onChanged }: { address: string; known: Known; onChanged: () => void }) {
  const { client, activity, profiles } = known;
  const who = { client: address, profile: null };
  const names = namesHeld(known, who);
  const above = client ? holdsOf(known, { client: null, profile: client.profile }) : [];
  return (
    <>
      <section class="panel hero" aria-label={t("client.overTime")}>
        {client ? (
          <>
            <Figures client={client} />
            <SeriesChart series={{ ...activity, range: range.value }} until={new Date()} />
          </>
        ) : (
          <Empty title={t("client.noRequest")}>{t("client.noRequestHint")}</Empty>
        )}
      </section>
      <div class="columns columns-2">
        <div class="stack">
          <HoldPanel who={who} holds={holdsOf(known, who)} above={above} onChanged={onChanged} />
          {client && <ItsProfile client={client} known={profiles} onChanged={onChanged} />}
          {names.allows.length + names.blocks.length > 0 && <Overrides {...names} onChanged={onChanged} />}
          <Facts address={address} client={client} />
        </div>
        <div class="stack">
          <ClientNames title={t("client.mostBlocked")} names={activity.blocked} client={address} action="block" empty={t("client.nothingBlocked")} />
          <ClientNames title={t("client.mostAsked")} names={activity.names} client={address} action="pass" empty={t("client.nothingAsked")} />
        </div>
      </div>
    </>
  );
}

function Figures({ client }: { client: Client }) {
  return (
    <dl class="figures figures-3">
      <Figure name={t("client.requests")} value={count(client.requests)} />
      <Figure name={t("client.blocked")} value={count(client.blocked)} tone="figure-block">
        {percent(share(client.blocked, client.requests))}
      </Figure>
      <Figure name={t("client.lastSeen")} value={moment(client.last_at, today.value)} />
    </dl>
  );
}

function Facts({ address, client }: { address: string; client: Client | null }) {
  return (
    <Panel
      id="facts-title"
      title={t("client.device")}
      aside={
        <a class="button" href={routeHash("log", { client: address })}>
          {t("client.itsRequests")}
        </a>
      }
    >
      <dl class="facts">
        <div>
          <dt>{t("client.address")}</dt>
          <dd>
            <code>{printable(address)}</code>
          </dd>
        </div>
        {client?.mac && (
          <div>
            <dt>{t("client.mac")}</dt>
            <dd>
              <code>{printable(client.mac)}</code>
              {client.mac_random && <span class="quiet"> {t("client.madeUp")}</span>}
              {client.maker && <span class="quiet"> {printable(client.maker)}</span>}
            </dd>
          </div>
        )}
        {client?.name && (
          <div>
            <dt>{t("client.name")}</dt>
            <dd>
              {printable(client.name)}
              {client.name_source && <span class="quiet"> {t(`client.nameFrom.${client.name_source}`)}</span>}
            </dd>
          </div>
        )}
        {client && (
          <div>
            <dt>{t("client.trust")}</dt>
            <dd>{t(`client.trustIs.${client.trust}`)}</dd>
          </div>
        )}
        {client && (
          <div>
            <dt>{t("client.firstInRange")}</dt>
            <dd>{moment(client.first_at, today.value)}</dd>
          </div>
        )}
      </dl>
    </Panel>
  );
}

/** Its profile, the hours of that, and a way into another one. */
function ItsProfile({ client, known, onChanged }: { client: Client; known: Profiles; onChanged: () => void }) {
  const wanted = useSignal<string | null>(null);
  const profile = known.profiles.find((one) => one.name === client.profile);
  const painted = profile ? entriesFor(profile, known.groups) : [];
  return (
    <Panel id="its-profile-title" title={t("client.profile")}>
      <p class="its-profile">
        <ProfileLink name={client.profile} />
        {profile && !profile.made_here && <span class="tag">{t("client.setInFile")}</span>}
      </p>
      {wanted.value !== null && wanted.value !== client.profile && (
        <Notice tone="land">
          <p>
            {t("client.namedButEarlier", { wanted: printable(wanted.value), held: printable(client.profile) })}
          </p>
        </Notice>
      )}
      {wanted.value !== null && wanted.value === client.profile && (
        <Notice tone="good">
          <p>{client.profile === EVERYBODY ? t("client.asEverybody") : t("client.isIn", { profile: printable(client.profile) })}</p>
        </Notice>
      )}
      {painted.length > 0 && <WeekGrid painted={painted} zone={known.time_zone} />}
      <PutInProfile
        client={client}
        known={known}
        onDone={(name) => {
          wanted.value = name;
          onChanged();
        }}
      />
    </Panel>
  );
}
