// One group: lists and hours that several profiles share. Those of the configuration's file are
// only shown.

import { api } from "../api";
import type { GroupSettings, Profiles } from "../client-model";
import { groupDraft, groupOf, type GroupDraft } from "../drafts";
import { printable } from "../format";
import { t } from "../i18n";
import { BackLink } from "../parts/back-link";
import { EditFoot, EditNotices, useEditing, type Editing, type EditKind } from "../parts/editing";
import { Empty, Notice } from "../parts/notice";
import { Panel } from "../parts/panel";
import { GroupFacts } from "../parts/profile-facts";
import { ReadOnly } from "../parts/read-only";
import { ListChecks, ScheduleEditor } from "../parts/schedule-editor";
import { may } from "../state";
import { routeHash } from "../route";

const GROUPS: EditKind<GroupSettings, GroupDraft> = {
  what: "group",
  empty: { name: "", lists: null, schedule: [] },
  find: (known, name) => known.groups.find((group) => group.name === name),
  draft: groupDraft,
  settings: groupOf,
  tried: (was, group) => ({ group: { revision: "", was, group } }),
  put: (revision, was, group) => api.putGroup({ revision, was, group }),
  remove: (revision, name) => api.removeGroup({ revision, name }),
};

export function GroupView({ name }: { name: string | null }) {
  const edit = useEditing(GROUPS, name);
  const [known, draft] = [edit.known.value, edit.draft.value];
  const fixed = known && (edit.isFixed.value || !may("operator")) ? known.groups.find((group) => group.name === name) : undefined;
  return (
    <>
      <BackLink />
      <div class="view-head">
        <h1 class="client-title">{name === null ? t("group.new") : t("group.title", { name: printable(name) })}</h1>
      </div>
      <ReadOnly needs="operator" can={t("group.can")} />
      {!known && edit.fault.value && <Notice tone="fault" fault={edit.fault.value} />}
      {known && edit.isMissing.value && <Empty title={t("group.missing")}>{t("group.missingText")}</Empty>}
      {known && fixed && (
        <div class="columns columns-2">
          <GroupFacts group={fixed} known={known} />
          <Users known={known} name={fixed.name} />
        </div>
      )}
      {known && draft && !fixed && may("operator") && !edit.isMissing.value && <Form edit={edit} known={known} draft={draft} name={name} />}
    </>
  );
}

interface FormProps {
  edit: Editing<GroupDraft>;
  known: Profiles;
  draft: GroupDraft;
  name: string | null;
}

function Form({ edit, known, draft, name }: FormProps) {
  return (
    <form class="edit" onSubmit={(event) => void edit.save(event)}>
      <div class="columns columns-2">
        <div class="stack">
          <Panel id="what-title" title={t("group.what")}>
            <div class="edit-fields">
              <label class="field">
                <span class="field-name">{t("words.name")}</span>
                <input
                  class="input"
                  type="text"
                  required
                  maxLength={100}
                  autocomplete="off"
                  value={draft.name}
                  onInput={(event) => edit.change({ name: event.currentTarget.value })}
                />
              </label>
              <ListChecks
                legend={t("group.lists")}
                lists={known.lists}
                chosen={draft.lists ?? []}
                onChange={(lists) => edit.change({ lists })}
              />
            </div>
          </Panel>
          {name !== null && <Users known={known} name={name} />}
        </div>
        <ScheduleEditor
          schedule={draft.schedule}
          lists={known.lists}
          besides={[]}
          zone={known.time_zone}
          onChange={(schedule) => edit.change({ schedule })}
        />
      </div>
      <EditNotices edit={edit} />
      <EditFoot edit={edit} name={name} warning={t("group.warning")} />
    </form>
  );
}

/** The profiles for which the group holds. */
function Users({ known, name }: { known: Profiles; name: string }) {
  const users = known.profiles.filter((profile) => profile.groups.includes(name));
  return (
    <Panel id="users-title" title={t("group.profiles")}>
      {users.length === 0 && <p class="quiet">{t("group.none")}</p>}
      <ul class="entries">
        {users.map((profile) => (
          <li class="entry" key={profile.name}>
            <span class="entry-name">
              <a href={routeHash("clients", { profile: profile.name })}>{printable(profile.name)}</a>
            </span>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
