// A client is put in another profile: one of the dashboard's, one of its own, or that of everybody.

import { useSignal, type Signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { api, faultOf, type Fault } from "../api";
import { EVERYBODY, fixedProfile, memberOf, moveSteps } from "../clients";
import type { Client, Profiles } from "../client-model";
import { printable } from "../format";
import { t } from "../i18n";
import { may } from "../state";
import { Notice } from "./notice";
import { Sentence } from "./sentence";

/** A client stands in few profiles: more changes than this are not meant. */
const STEPS_MAX = 20;
/** No profile has an empty name. */
const OF_ITS_OWN = "";

/** Changes profile after profile, each time by what is there then. */
async function move(client: Client, target: string): Promise<void> {
  for (let n = 0; n < STEPS_MAX; n++) {
    const known = await api.profiles();
    const [step] = moveSteps(known, client, target);
    if (!step) return;
    const { revision } = known;
    if (step.does === "remove") await api.removeProfile({ revision, name: step.name });
    else await api.putProfile({ revision, was: step.was, profile: step.profile });
  }
}

interface PutInProfileProps {
  client: Client;
  known: Profiles;
  /** Told the profile once it is done. */
  onDone: (profile: string) => void;
}

export function PutInProfile({ client, known, onDone }: PutInProfileProps) {
  const isOpen = useSignal(false);
  if (!may("operator")) return null;
  if (fixedProfile(known, client)) {
    return <p class="panel-note">{t("putIn.fixed")}</p>;
  }
  if (!isOpen.value) {
    return (
      <button
        type="button"
        class="button put-open"
        onClick={() => {
          isOpen.value = true;
        }}
      >
        {t("putIn.open")}
      </button>
    );
  }
  const close = (): void => {
    isOpen.value = false;
  };
  return (
    <PutForm
      client={client}
      known={known}
      onClose={close}
      onDone={(profile) => {
        close();
        onDone(profile);
      }}
    />
  );
}

function PutForm({ client, known, onDone, onClose }: PutInProfileProps & { onClose: () => void }) {
  const choices = known.profiles.filter((profile) => profile.made_here && profile.name !== client.profile);
  const target = useSignal(choices[0]?.name ?? OF_ITS_OWN);
  const name = useSignal("");
  const busy = useSignal(false);
  const fault = useSignal<Fault | null>(null);
  const chosen = useRef<HTMLSelectElement>(null);
  useEffect(() => chosen.current?.focus(), []);

  const wanted = target.value === OF_ITS_OWN ? name.value.trim() : target.value;
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    busy.value = true;
    try {
      await move(client, wanted);
      onDone(wanted);
    } catch (thrown) {
      fault.value = faultOf(thrown);
    }
    busy.value = false;
  };
  return (
    <form class="put-in" onSubmit={(event) => void submit(event)}>
      {fault.value && <Notice tone="fault" fault={fault.value} />}
      <label class="field">
        <span class="field-name">{t("words.profile")}</span>
        <select
          ref={chosen}
          class="input"
          value={target.value}
          onChange={(event) => {
            target.value = event.currentTarget.value;
          }}
        >
          {choices.map((profile) => (
            <option key={profile.name} value={profile.name}>
              {printable(profile.name)}
            </option>
          ))}
          <option value={OF_ITS_OWN}>{t("putIn.own")}</option>
          {client.profile !== EVERYBODY && <option value={EVERYBODY}>{t("putIn.everybody")}</option>}
        </select>
      </label>
      {target.value === OF_ITS_OWN && <NameField name={name} />}
      <Consequences client={client} known={known} wanted={wanted} />
      <div class="foot">
        <button type="submit" class="button button-main" disabled={busy.value}>
          {busy.value ? t("putIn.putting") : t("putIn.put")}
        </button>
        <button type="button" class="button button-bare" onClick={onClose}>
          {t("words.cancel")}
        </button>
      </div>
    </form>
  );
}

function NameField({ name }: { name: Signal<string> }) {
  return (
    <label class="field">
      <span class="field-name">{t("words.name")}</span>
      <input
        class="input"
        type="text"
        required
        maxLength={100}
        autocomplete="off"
        value={name.value}
        onInput={(event) => {
          name.value = event.currentTarget.value;
        }}
      />
    </label>
  );
}

/** What the client is known by there, and which profile would be about nobody. */
function Consequences({ client, known, wanted }: { client: Client; known: Profiles; wanted: string }) {
  const leftEmpty = moveSteps(known, client, wanted).flatMap((step) => (step.does === "remove" ? [step.name] : []));
  return (
    <>
      {wanted !== EVERYBODY && (
        <p class="panel-note">
          <Sentence of={client.mac_random ? "putIn.knownByRandom" : "putIn.knownBy"} values={{ member: <code>{printable(memberOf(client))}</code> }} />
        </p>
      )}
      {leftEmpty.map((empty) => (
        <p class="panel-note" key={empty}>
          {t("putIn.leftEmpty", { name: printable(empty) })}
        </p>
      ))}
    </>
  );
}
