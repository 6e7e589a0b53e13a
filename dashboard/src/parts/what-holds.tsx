// What holds for a profile at all hours: its lists, its groups, and how what is not listed and
// what is blocked are treated.

import type { BlockStyle, Otherwise, Profiles } from "../client-model";
import type { ProfileDraft } from "../drafts";
import { printable } from "../format";
import { t } from "../i18n";
import { Checks } from "./checks";
import { Choice } from "./choice";
import { Icon } from "./icons";
import { Panel } from "./panel";
import { ListChecks } from "./schedule-editor";
import { TAGS } from "../tags";

const STYLES: readonly BlockStyle[] = ["pixel", "nodata", "nxdomain", "null", "refused"];
const OTHERWISE: readonly Otherwise[] = ["pass", "block"];

interface WhatHoldsProps {
  draft: ProfileDraft;
  known: Profiles;
  onChange: (part: Partial<ProfileDraft>) => void;
}

export function WhatHolds({ draft, known, onChange }: WhatHoldsProps) {
  const inherited = draft.groups.length > 0 ? t("profile.ofItsGroups") : t("profile.asEverybody");
  const everybody = known.default.lists ?? known.lists.map((list) => list.name);
  return (
    <Panel id="holds-title" title={t("profile.holds")}>
      <div class="edit-fields">
        <div class="field">
          <span class="field-name" aria-hidden="true">
            {t("profile.lists")}
          </span>
          <Choice
            label={t("profile.lists")}
            name="profile-lists"
            options={[
              { value: "inherited", text: inherited },
              { value: "chosen", text: t("profile.chosen") },
            ]}
            value={draft.lists === null ? "inherited" : "chosen"}
            onChoose={(value) => onChange({ lists: value === "chosen" ? everybody : null })}
          />
        </div>
        {draft.lists !== null && (
          <ListChecks legend={t("profile.theseLists")} lists={known.lists} chosen={draft.lists} onChange={(lists) => onChange({ lists })} />
        )}
        {(known.groups.length > 0 || draft.groups.length > 0) && (
          <Checks
            legend={t("profile.groups")}
            options={known.groups.map((group) => ({ value: group.name, text: printable(group.name) }))}
            chosen={draft.groups}
            onChange={(groups) => onChange({ groups })}
          />
        )}
        <Treatment draft={draft} known={known} onChange={onChange} />
        <Tags tags={draft.tags} onChange={(tags) => onChange({ tags })} />
      </div>
    </Panel>
  );
}

function Treatment({ draft, known, onChange }: WhatHoldsProps) {
  return (
    <>
      <label class="field">
        <span class="field-name">{t("profile.unlistedNames")}</span>
        <select
          class="input"
          value={draft.otherwise ?? ""}
          onChange={(event) => onChange({ otherwise: (event.currentTarget.value || null) as Otherwise | null })}
        >
          <option value="">{known.default.otherwise === "block" ? t("profile.asEverybodyBlock") : t("profile.asEverybodyPass")}</option>
          {OTHERWISE.map((value) => (
            <option key={value} value={value}>
              {t(`profile.otherwise.${value}`)}
            </option>
          ))}
        </select>
      </label>
      <label class="field">
        <span class="field-name">{t("profile.answer")}</span>
        <select
          class="input"
          value={draft.blocked ?? ""}
          onChange={(event) => onChange({ blocked: (event.currentTarget.value || null) as BlockStyle | null })}
        >
          <option value="">{t("profile.asForEverybody")}</option>
          {STYLES.map((value) => (
            <option key={value} value={value}>
              {t(`profile.styles.${value}`)}
            </option>
          ))}
        </select>
      </label>
    </>
  );
}

function Tags({ tags, onChange }: { tags: string[]; onChange: (tags: string[]) => void }) {
  return (
    <details class="skipped">
      <summary>
        <Icon name="chevron" />
        {tags.length > 0 ? t("profile.kindsAre", { tags: tags.map(printable).join(", ") }) : t("profile.kinds")}
      </summary>
      <Checks
        legend={t("profile.ctag")}
        options={[...TAGS, ...tags.filter((tag) => !TAGS.includes(tag))].map((value) => ({ value, text: printable(value) }))}
        chosen={tags}
        onChange={onChange}
      />
    </details>
  );
}
