// A profile or a group as it is, where it cannot be changed: it is set in the configuration's file,
// or who looks at it may not.

import type { ComponentChildren } from "preact";
import type { Group, Profile, Profiles } from "../client-model";
import { printable } from "../format";
import { t } from "../i18n";
import { Notice } from "./notice";
import { Panel } from "./panel";
import { entriesFor, WeekGrid, type Painted } from "./week-grid";


function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

const words = (names: readonly string[]): string => names.map(printable).join(", ");

interface InFileProps {
  children: ComponentChildren;
  isInFile: boolean;
  painted: Painted[];
  known: Profiles;
}

function Facts({ children, isInFile, painted, known }: InFileProps) {
  return (
    <Panel id="fixed-title" title={t("profile.holds")}>
      {isInFile && (
        <Notice tone="land">
          <p>{t("profile.fixedText")}</p>
        </Notice>
      )}
      <dl class="facts">{children}</dl>
      {painted.length > 0 && <WeekGrid painted={painted} zone={known.time_zone} />}
    </Panel>
  );
}

export function ProfileFacts({ profile, known }: { profile: Profile; known: Profiles }) {
  const { match, lists, groups, tags, otherwise, blocked } = profile;
  const inherited = groups.length > 0 ? t("profile.thoseOfGroups") : t("profile.asEverybodyWithin");
  return (
    <Facts isInFile={!profile.made_here} painted={entriesFor(profile, known.groups)} known={known}>
      <Fact name={t("profile.devicesShort")}>
        {match.map((member) => (
          <code class="member" key={member}>
            {printable(member)}
          </code>
        ))}
      </Fact>
      <Fact name={t("profile.lists")}>{lists === null ? inherited : words(lists) || t("profile.none")}</Fact>
      {groups.length > 0 && <Fact name={t("profile.groupsShort")}>{words(groups)}</Fact>}
      {tags.length > 0 && <Fact name={t("profile.kinds")}>{words(tags)}</Fact>}
      {otherwise && <Fact name={t("profile.unlisted")}>{otherwise === "block" ? t("profile.unlistedBlocked") : t("profile.unlistedPasses")}</Fact>}
      {blocked && <Fact name={t("profile.blockedNames")}>{t(`profile.styles.${blocked}`)}</Fact>}
    </Facts>
  );
}

export function GroupFacts({ group, known }: { group: Group; known: Profiles }) {
  const painted = group.schedule.map((schedule) => ({ schedule, group: null }));
  return (
    <Facts isInFile={!group.made_here} painted={painted} known={known}>
      <Fact name={t("profile.lists")}>{words(group.lists ?? []) || t("profile.none")}</Fact>
    </Facts>
  );
}
