// What holds for a profile at all hours: its lists, its groups, and how what is not listed and
// what is blocked are treated.

import type { BlockStyle, Otherwise, Profiles } from "../client-model";
import type { ProfileDraft } from "../drafts";
import { printable } from "../format";
import { Checks } from "./checks";
import { Choice } from "./choice";
import { Icon } from "./icons";
import { Panel } from "./panel";
import { ListChecks } from "./schedule-editor";
import { TAGS } from "../tags";

export const BLOCKED_TEXT: Record<BlockStyle, string> = {
  pixel: "The address of the pixel door",
  nodata: "The name has no address (no data)",
  nxdomain: "There is no such name (NXDOMAIN)",
  null: "0.0.0.0 and ::",
  refused: "Refused",
};

const OTHERWISE_TEXT: Record<Otherwise, string> = { pass: "Pass", block: "Blocked: only what a list allows passes" };

interface WhatHoldsProps {
  draft: ProfileDraft;
  known: Profiles;
  onChange: (part: Partial<ProfileDraft>) => void;
}

export function WhatHolds({ draft, known, onChange }: WhatHoldsProps) {
  const inherited = draft.groups.length > 0 ? "Of its groups" : "As everybody";
  const everybody = known.default.lists ?? known.lists.map((list) => list.name);
  return (
    <Panel id="holds-title" title="What holds">
      <div class="edit-fields">
        <div class="field">
          <span class="field-name" aria-hidden="true">
            Lists
          </span>
          <Choice
            label="Lists"
            name="profile-lists"
            options={[
              { value: "inherited", text: inherited },
              { value: "chosen", text: "Chosen" },
            ]}
            value={draft.lists === null ? "inherited" : "chosen"}
            onChoose={(value) => onChange({ lists: value === "chosen" ? everybody : null })}
          />
        </div>
        {draft.lists !== null && (
          <ListChecks legend="These lists" lists={known.lists} chosen={draft.lists} onChange={(lists) => onChange({ lists })} />
        )}
        {(known.groups.length > 0 || draft.groups.length > 0) && (
          <Checks
            legend="Groups, with their lists and hours"
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
        <span class="field-name">Names that no list is about</span>
        <select
          class="input"
          value={draft.otherwise ?? ""}
          onChange={(event) => onChange({ otherwise: (event.currentTarget.value || null) as Otherwise | null })}
        >
          <option value="">As for everybody: {known.default.otherwise === "block" ? "blocked" : "pass"}</option>
          {Object.entries(OTHERWISE_TEXT).map(([value, text]) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
      </label>
      <label class="field">
        <span class="field-name">Answer for blocked names</span>
        <select
          class="input"
          value={draft.blocked ?? ""}
          onChange={(event) => onChange({ blocked: (event.currentTarget.value || null) as BlockStyle | null })}
        >
          <option value="">As for everybody</option>
          {Object.entries(BLOCKED_TEXT).map(([value, text]) => (
            <option key={value} value={value}>
              {text}
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
        Kinds of device{tags.length > 0 && `: ${tags.map(printable).join(", ")}`}
      </summary>
      <Checks
        legend="For rules of lists that say $ctag="
        options={[...TAGS, ...tags.filter((tag) => !TAGS.includes(tag))].map((value) => ({ value, text: printable(value) }))}
        chosen={tags}
        onChange={onChange}
      />
    </details>
  );
}
