// A user is added: a name, what they may, and a first password, which is told once more if it was
// made up here.

import { useSignal } from "@preact/signals";
import { api } from "../api";
import { printable } from "../format";
import { t } from "../i18n";
import type { Role } from "../roles";
import { me } from "../state";
import { useAct } from "./act";
import { Copyable } from "./copy";
import { Field, NewPassword } from "./field";
import { Notice } from "./notice";
import { Panel } from "./panel";
import { RoleChoice } from "./role-choice";
import { Sentence } from "./sentence";

interface AddUserProps {
  /** There is none yet: it is who installs it. */
  isFirst: boolean;
  onAdded: () => void;
}

interface Added {
  name: string;
  /** Null where it was typed: then it is known. */
  password: string | null;
  wasFirst: boolean;
}

export function AddUser({ isFirst, onAdded }: AddUserProps) {
  const name = useSignal("");
  const role = useSignal<Role>(isFirst ? "administrator" : "viewer");
  const password = useSignal("");
  const made = useSignal("");
  const added = useSignal<Added | null>(null);
  const { busy, fault, act } = useAct();
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    const order = { name: name.value.trim().toLowerCase(), role: role.value, password: password.value };
    added.value = null;
    if (!(await act(() => api.addUser(order)))) return;
    added.value = { name: order.name, password: order.password === made.value ? order.password : null, wasFirst: isFirst };
    name.value = "";
    password.value = "";
    role.value = "viewer";
    onAdded();
  };
  return (
    <Panel id="add-user-title" title={isFirst ? t("addUser.yourself") : t("addUser.title")}>
      {added.value && <AddedNotice added={added.value} />}
      <form class="put-in" onSubmit={(event) => void submit(event)}>
        <Field
          name={t("words.name")}
          hint={t("addUser.nameHint")}
          value={name}
          type="text"
          autocomplete="off"
          maxLength={64}
          required
        />
        <RoleChoice value={role} name="new-user-role" />
        <NewPassword
          name={t("login.password")}
          value={password}
          onMade={(text) => {
            made.value = text;
          }}
        />
        {fault.value && <Notice tone="fault" fault={fault.value} />}
        <div class="foot">
          <button type="submit" class="button button-main" disabled={busy.value}>
            {busy.value ? t("addUser.adding") : t("words.add")}
          </button>
        </div>
      </form>
    </Panel>
  );
}

function AddedNotice({ added }: { added: Added }) {
  const isByToken = me.value?.kind === "token";
  return (
    <Notice tone="good">
      <p>
        <Sentence of="addUser.added" values={{ name: printable(added.name) }} />{" "}
        {added.wasFirst && isByToken
          ? t("addUser.comeIn")
          : t("addUser.ownSettings")}
      </p>
      {added.password !== null && (
        <>
          <p>{t("addUser.password")}</p>
          <Copyable text={added.password} label={t("addUser.thePassword")} />
        </>
      )}
    </Notice>
  );
}
