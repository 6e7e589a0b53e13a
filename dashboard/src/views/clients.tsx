// The clients: who asked, and the profiles and groups that say what holds for them. A word of the
// address leads to the page of one of them.

import { useEffect } from "preact/hooks";
import { api } from "../api";
import { found, SEARCH_FROM, sorted, SORTS, type Sort } from "../clients";
import type { Clients, Profiles } from "../client-model";
import { printable } from "../format";
import { t } from "../i18n";
import { ClientTable } from "../parts/client-table";
import { Empty, Notice } from "../parts/notice";
import { GroupList, ProfileList } from "../parts/profile-list";
import { RangeChoice } from "../parts/range-choice";
import { SearchField } from "../parts/search-field";
import { Sentence } from "../parts/sentence";
import { usePolled } from "../poll";
import { routeHash } from "../route";
import { amend, range, route, told } from "../state";
import { ClientView } from "./client";
import { GroupView } from "./group";
import { ProfileView } from "./profile";

const CLIENTS_EVERY_MS = 5_000;
const TYPING_MS = 150;

export function ClientsView() {
  const { words } = route.value;
  if (words["client"]) return <ClientView key={words["client"]} address={words["client"]} />;
  if (words["profile"]) return <ProfileView key={words["profile"]} name={words["profile"]} />;
  if (words["group"]) return <GroupView key={words["group"]} name={words["group"]} />;
  if (words["new"] === "profile") return <ProfileView key="new" name={null} />;
  if (words["new"] === "group") return <GroupView key="new" name={null} />;
  return <All />;
}

function All() {
  const chosen = range.value;
  const asked = usePolled(`clients ${chosen}`, CLIENTS_EVERY_MS, async (signal) => {
    const [clients, profiles] = await Promise.all([api.clients(chosen, signal), api.profiles(signal)]);
    return { clients, profiles };
  });
  useEffect(
    () => () => {
      told.value = null;
    },
    [],
  );
  return (
    <>
      <div class="view-head">
        <h1>{t("clients.title")}</h1>
        <RangeChoice />
      </div>
      {asked.fault && asked.fault.kind === "refused" && <Notice tone="fault" fault={asked.fault} />}
      {told.value && (
        <Notice tone="good">
          <p>{printable(told.value)}</p>
        </Notice>
      )}
      {asked.data && (
        <>
          <Seen seen={asked.data.clients} known={asked.data.profiles} />
          <div class="columns columns-2">
            <ProfileList known={asked.data.profiles} />
            <GroupList known={asked.data.profiles} />
          </div>
        </>
      )}
    </>
  );
}

function Seen({ seen, known }: { seen: Clients; known: Profiles }) {
  const { words } = route.value;
  const find = words["find"] ?? "";
  const sort = SORTS.find((one) => one === words["sort"]) ?? "requests";
  const { profiles } = known;
  const shown = sorted(found(seen.clients, find, profiles), sort, profiles);
  if (seen.clients.length === 0) {
    return (
      <section class="panel hero" aria-label={t("clients.title")}>
        <Empty title={t("clients.noneInRange")}>
          <Sentence of="clients.noneHint" parts={{ link: (content) => <a href={routeHash("setup")}>{content}</a> }} />
        </Empty>
      </section>
    );
  }
  return (
    <>
      <Order find={find} sort={sort} isLong={seen.clients.length >= SEARCH_FROM || find !== ""} />
      {shown.length === 0 ? (
        <Empty title={t("clients.noneFits")}>
          <button type="button" class="button" onClick={() => amend({ sort })}>
            {t("clients.showAll")}
          </button>
        </Empty>
      ) : (
        <section class="panel panel-flush" aria-label={t("clients.title")}>
          <ClientTable clients={shown} profiles={profiles} />
        </section>
      )}
      {seen.more > 0 && <p class="log-end quiet">{t("clients.more", { count: seen.more })}</p>}
    </>
  );
}

interface OrderProps {
  find: string;
  sort: Sort;
  /** There are so many that one wants to search. */
  isLong: boolean;
}

function Order({ find, sort, isLong }: OrderProps) {
  return (
    <search class={isLong ? "filters client-filters" : "filters client-filters client-filters-few"}>
      {isLong && (
        <SearchField
          label={t("clients.find")}
          value={find}
          settles={TYPING_MS}
          onFind={(text) => amend({ find: text, sort })}
        />
      )}
      <label>
        <span class="unseen">{t("clients.order")}</span>
        <select class="input" value={sort} onChange={(event) => amend({ find, sort: event.currentTarget.value })}>
          {SORTS.map((one) => (
            <option key={one} value={one}>
              {t(`clients.sort.${one}`)}
            </option>
          ))}
        </select>
      </label>
    </search>
  );
}
