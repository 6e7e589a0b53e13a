// The profiles and the groups, each with what holds for it in a line.

import type { ComponentChildren } from "preact";
import type { Group, Profile, Profiles } from "../client-model";
import { printable } from "../format";
import { t } from "../i18n";
import { routeHash } from "../route";
import { may } from "../state";
import { Icon } from "./icons";
import { Panel } from "./panel";

/** t("profiles.noList"), "starter, ads". */
function named(lists: readonly string[]): string {
  return lists.length === 0 ? t("profiles.noList") : lists.map(printable).join(", ");
}

function listsText({ lists, groups }: Pick<Profile, "lists" | "groups">): string {
  if (lists !== null) return named(lists);
  return groups.length > 0 ? t("profiles.ofGroups") : t("profiles.asEverybody");
}

function NewLink({ what }: { what: "profile" | "group" }) {
  if (!may("operator")) return null;
  return (
    <a class="button" href={routeHash("clients", { new: what })}>
      <Icon name="plus" />
      {t(`${what}.new`)}
    </a>
  );
}

function Entry(props: { name: ComponentChildren; fixed: boolean; facts: string[] }) {
  return (
    <li class="entry">
      <div class="entry-main">
        <span class="entry-name">{props.name}</span>
      </div>
      <div class="entry-sub">
        {props.facts.map((fact) => (
          <span key={fact}>{fact}</span>
        ))}
        {props.fixed && <span>{t("profiles.inFile")}</span>}
      </div>
    </li>
  );
}

function profileFacts(profile: Profile): string[] {
  const { match, groups, schedule, otherwise } = profile;
  return [
    match.length === 1 ? printable(match[0] ?? "") : t("profiles.devices", { count: match.length }),
    listsText(profile),
    ...(groups.length > 0 ? [t("profiles.groups", { count: groups.length, names: groups.map(printable).join(", ") })] : []),
    ...(schedule.length > 0 ? [t("profiles.schedules", { count: schedule.length })] : []),
    ...(otherwise === "block" ? [t("profiles.onlyListed")] : []),
  ];
}

export function ProfileList({ known }: { known: Profiles }) {
  const { lists, otherwise } = known.default;
  return (
    <Panel id="profiles-title" title={t("profiles.title")} aside={<NewLink what="profile" />}>
      <ul class="entries">
        <Entry
          name={t("profiles.everybodyElse")}
          fixed={false}
          facts={[lists === null ? t("profiles.allLists") : named(lists), ...(otherwise === "block" ? [t("profiles.onlyListed")] : [])]}
        />
        {known.profiles.map((profile) => (
          <Entry
            key={profile.name}
            name={<a href={routeHash("clients", { profile: profile.name })}>{printable(profile.name)}</a>}
            fixed={!profile.made_here}
            facts={profileFacts(profile)}
          />
        ))}
      </ul>
    </Panel>
  );
}

function groupFacts(group: Group, known: Profiles): string[] {
  const users = known.profiles.filter((profile) => profile.groups.includes(group.name)).length;
  return [
    ...(group.lists?.length ? [named(group.lists)] : []),
    ...(group.schedule.length > 0 ? [t("profiles.schedules", { count: group.schedule.length })] : []),
    users === 0 ? t("profiles.inNone") : t("profiles.inSome", { count: users }),
  ];
}

export function GroupList({ known }: { known: Profiles }) {
  return (
    <Panel id="groups-title" title={t("profiles.groupsTitle")} aside={<NewLink what="group" />}>
      {known.groups.length === 0 && <p class="quiet">{t("profiles.groupsText")}</p>}
      <ul class="entries">
        {known.groups.map((group) => (
          <Entry
            key={group.name}
            name={<a href={routeHash("clients", { group: group.name })}>{printable(group.name)}</a>}
            fixed={!group.made_here}
            facts={groupFacts(group, known)}
          />
        ))}
      </ul>
    </Panel>
  );
}
