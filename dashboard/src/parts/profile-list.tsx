// The profiles and the groups, each with what holds for it in a line.

import type { ComponentChildren } from "preact";
import type { Group, Profile, Profiles } from "../client-model";
import { plural, printable } from "../format";
import { routeHash } from "../route";
import { may } from "../state";
import { Icon } from "./icons";
import { Panel } from "./panel";

/** "no list", "starter, ads". */
function named(lists: readonly string[]): string {
  return lists.length === 0 ? "no list" : lists.map(printable).join(", ");
}

function listsText({ lists, groups }: Pick<Profile, "lists" | "groups">): string {
  if (lists !== null) return named(lists);
  return groups.length > 0 ? "the lists of its groups" : "lists as everybody";
}

function NewLink({ what }: { what: "profile" | "group" }) {
  if (!may("operator")) return null;
  return (
    <a class="button" href={routeHash("clients", { new: what })}>
      <Icon name="plus" />
      New {what}
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
        {props.fixed && <span>set in the configuration's file</span>}
      </div>
    </li>
  );
}

function profileFacts(profile: Profile): string[] {
  const { match, groups, schedule, otherwise } = profile;
  return [
    match.length === 1 ? printable(match[0] ?? "") : `${plural(match.length, "device or network", "devices or networks")}`,
    listsText(profile),
    ...(groups.length > 0 ? [`${groups.length === 1 ? "group" : "groups"} ${groups.map(printable).join(", ")}`] : []),
    ...(schedule.length > 0 ? [plural(schedule.length, "schedule")] : []),
    ...(otherwise === "block" ? ["only what is listed passes"] : []),
  ];
}

export function ProfileList({ known }: { known: Profiles }) {
  const { lists, otherwise } = known.default;
  return (
    <Panel id="profiles-title" title="Profiles" aside={<NewLink what="profile" />}>
      <ul class="entries">
        <Entry
          name="Everybody else"
          fixed={false}
          facts={[lists === null ? "all lists" : named(lists), ...(otherwise === "block" ? ["only what is listed passes"] : [])]}
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
    ...(group.schedule.length > 0 ? [plural(group.schedule.length, "schedule")] : []),
    users === 0 ? "in no profile" : `in ${plural(users, "profile")}`,
  ];
}

export function GroupList({ known }: { known: Profiles }) {
  return (
    <Panel id="groups-title" title="Groups" aside={<NewLink what="group" />}>
      {known.groups.length === 0 && <p class="quiet">Lists and hours that several profiles share.</p>}
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
