// One profile: who is in it, what holds for them, and at which hours. Those of the
// configuration's file are only shown.

import { useEffect } from "preact/hooks";
import { useSignal } from "@preact/signals";
import { api } from "../api";
import { clientName, memberOf, NEW_PROFILE } from "../clients";
import type { Client, Profile, Profiles, ProfileSettings } from "../client-model";
import { membersOf, profileDraft, profileOf, type ProfileDraft } from "../drafts";
import { printable } from "../format";
import { holdsOf } from "../holds";
import { t } from "../i18n";
import { BackLink } from "../parts/back-link";
import { EditFoot, EditNotices, useEditing, type Editing, type EditKind } from "../parts/editing";
import { HoldPanel } from "../parts/hold";
import { Empty, Notice } from "../parts/notice";
import { Panel } from "../parts/panel";
import { ProfileFacts } from "../parts/profile-facts";
import { ReadOnly } from "../parts/read-only";
import { ScheduleEditor } from "../parts/schedule-editor";
import { Sentence } from "../parts/sentence";
import { WhatHolds } from "../parts/what-holds";
import { entriesFor } from "../parts/week-grid";
import { usePolled } from "../poll";
import { may, range } from "../state";

const HOLDS_EVERY_MS = 10_000;

const PROFILES: EditKind<ProfileSettings, ProfileDraft> = {
  what: "profile",
  empty: NEW_PROFILE,
  find: (known, name) => known.profiles.find((profile) => profile.name === name),
  draft: profileDraft,
  settings: profileOf,
  tried: (was, profile) => ({ profile: { revision: "", was, profile } }),
  put: (revision, was, profile) => api.putProfile({ revision, was, profile }),
  remove: (revision, name) => api.removeProfile({ revision, name }),
};

export function ProfileView({ name }: { name: string | null }) {
  const edit = useEditing(PROFILES, name);
  const [known, draft] = [edit.known.value, edit.draft.value];
  const fixed = known && (edit.isFixed.value || !may("operator")) ? known.profiles.find((profile) => profile.name === name) : undefined;
  return (
    <>
      <BackLink />
      <div class="view-head">
        <h1 class="client-title">{name === null ? t("profile.new") : printable(name)}</h1>
      </div>
      <ReadOnly needs="operator" can={t("profile.can")} />
      {!known && edit.fault.value && <Notice tone="fault" fault={edit.fault.value} />}
      {known && edit.isMissing.value && <Empty title={t("profile.missing")}>{t("profile.missingText")}</Empty>}
      {known && fixed && <Fixed profile={fixed} known={known} />}
      {known && draft && !fixed && may("operator") && !edit.isMissing.value && (
        <>
          {name !== null && <Holds name={name} />}
          <Form edit={edit} known={known} draft={draft} name={name} />
        </>
      )}
    </>
  );
}

function Holds({ name }: { name: string }) {
  const held = usePolled("holds", HOLDS_EVERY_MS, async (signal) => {
    const [{ allows }, { blocks }] = await Promise.all([api.allows(signal), api.blocks(signal)]);
    return { allows, blocks };
  });
  if (!held.data) return null;
  const who = { client: null, profile: name };
  return <HoldPanel who={who} holds={holdsOf(held.data, who)} onChanged={held.refresh} />;
}

function Fixed({ profile, known }: { profile: Profile; known: Profiles }) {
  return (
    <>
      <Holds name={profile.name} />
      <ProfileFacts profile={profile} known={known} />
    </>
  );
}

interface FormProps {
  edit: Editing<ProfileDraft>;
  known: Profiles;
  draft: ProfileDraft;
  name: string | null;
}

function Form({ edit, known, draft, name }: FormProps) {
  const besides = entriesFor({ schedule: [], groups: draft.groups }, known.groups);
  return (
    <form class="edit" onSubmit={(event) => void edit.save(event)}>
      <div class="columns columns-2">
        <div class="stack">
          <Who draft={draft} onChange={edit.change} />
          <WhatHolds draft={draft} known={known} onChange={edit.change} />
        </div>
        <ScheduleEditor
          schedule={draft.schedule}
          lists={known.lists}
          besides={besides}
          zone={known.time_zone}
          onChange={(schedule) => edit.change({ schedule })}
        />
      </div>
      <EditNotices edit={edit} />
      <EditFoot edit={edit} name={name} warning={t("profile.warning")} />
    </form>
  );
}

function Who({ draft, onChange }: { draft: ProfileDraft; onChange: (part: Partial<ProfileDraft>) => void }) {
  const members = membersOf(draft.members);
  return (
    <Panel id="who-title" title={t("profile.who")}>
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
            onInput={(event) => onChange({ name: event.currentTarget.value })}
          />
        </label>
        <div class="field">
          <label class="field">
            <span class="field-name">{t("profile.devices")}</span>
            <textarea
              class="input input-mono rules-text members-text"
              rows={Math.min(10, Math.max(4, members.length + 1))}
              required
              spellcheck={false}
              autocapitalize="none"
              placeholder={"192.168.1.7\naa:bb:cc:00:11:22"}
              aria-describedby="members-hint"
              value={draft.members}
              onInput={(event) => onChange({ members: event.currentTarget.value })}
            />
          </label>
          <p class="field-hint" id="members-hint">
            <Sentence of="profile.devicesHint" />
          </p>
        </div>
        <SeenDevices members={members} onAdd={(member) => onChange({ members: [...members, member].join("\n") })} />
      </div>
    </Panel>
  );
}

/** Devices that were seen and are in no line yet. */
function SeenDevices({ members, onAdd }: { members: string[]; onAdd: (member: string) => void }) {
  const seen = useSignal<{ clients: Client[]; profiles: Profile[] } | null>(null);
  useEffect(() => {
    void Promise.all([api.clients(range.value), api.profiles()]).then(
      ([{ clients }, { profiles }]) => {
        seen.value = { clients, profiles };
      },
      // Without them, devices are typed.
      () => undefined,
    );
  }, []);
  const profiles = seen.value?.profiles ?? [];
  const others = (seen.value?.clients ?? []).filter((client) => !members.includes(memberOf(client)) && !members.includes(client.client));
  if (others.length === 0) return null;
  return (
    <label class="field">
      <span class="field-name">{t("profile.addSeen")}</span>
      <select
        class="input"
        value=""
        onChange={(event) => {
          onAdd(event.currentTarget.value);
          event.currentTarget.value = "";
        }}
      >
        <option value="">{t("profile.choose")}</option>
        {others.map((client) => {
          const name = clientName(client, profiles);
          return (
            <option key={client.client} value={memberOf(client)}>
              {name === client.client ? name : `${name}, ${client.client}`}
            </option>
          );
        })}
      </select>
    </label>
  );
}
