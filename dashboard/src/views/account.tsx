// One's own account: password, second step, sessions and tokens.

import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { api } from "../api";
import { printable } from "../format";
import { useAct } from "../parts/act";
import { Field, NewPassword } from "../parts/field";
import { Notice } from "../parts/notice";
import { Panel } from "../parts/panel";
import { EndAll, SessionList } from "../parts/sessions";
import { MakeToken, TokenList } from "../parts/tokens";
import { HiddenName, TwoStep } from "../parts/two-step";
import { usePolled } from "../poll";
import { ROLE_TEXT } from "../roles";
import { routeHash } from "../route";
import { may, me } from "../state";

const OWN_EVERY_MS = 15_000;

export function AccountView() {
  const who = me.value;
  const asked = usePolled("own sessions and tokens", OWN_EVERY_MS, async (signal) => {
    const [{ sessions }, { tokens }] = await Promise.all([api.sessions(signal), api.tokens(signal)]);
    return { sessions, tokens };
  });
  if (!who) return null;
  // Administrators are told those of all.
  const name = who.kind === "user" ? who.name : null;
  const sessions = (asked.data?.sessions ?? []).filter((one) => one.user === name);
  const tokens = (asked.data?.tokens ?? []).filter((one) => one.owner === name);
  return (
    <>
      <div class="view-head">
        <h1 class="client-title">
          {printable(who.name)}
          <span class="tag">{ROLE_TEXT[who.role].name}</span>
        </h1>
      </div>
      {asked.fault && asked.fault.kind === "refused" && <Notice tone="fault" fault={asked.fault} />}
      <div class="columns columns-2">
        <div class="stack">
          {who.kind === "token" && <ByToken />}
          {who.kind === "user" && who.has_password && (
            <>
              <ChangePassword onChanged={asked.refresh} />
              <TwoStep who={who} />
            </>
          )}
          {who.kind === "user" && !who.has_password && <BySingleSignOn />}
        </div>
        <div class="stack">
          <Panel id="sessions-title" title="Signed in">
            <SessionList sessions={sessions} onChanged={asked.refresh} />
            {name !== null && <EndAll user={name} sessions={sessions} onChanged={asked.refresh} />}
          </Panel>
          <Panel id="tokens-title" title="Tokens">
            {tokens.length === 0 && asked.data && <p class="quiet">For programs that ask Tidegate or tell it something. None yet.</p>}
            <TokenList tokens={tokens} onChanged={asked.refresh} />
            <MakeToken onMade={asked.refresh} />
          </Panel>
        </div>
      </div>
    </>
  );
}

function ByToken() {
  return (
    <Panel id="by-token-title" title="You came in with a token">
      <p>
        It has no password and no second step of its own.{" "}
        {may("administrator") && (
          <>
            <a href={routeHash("people")}>Add yourself as a user</a>, so that the audit log says who did what.
          </>
        )}
      </p>
    </Panel>
  );
}

function BySingleSignOn() {
  return (
    <Panel id="single-title" title="Password and second step">
      <p>You come in by single sign-on: both are kept where you sign in.</p>
    </Panel>
  );
}

function ChangePassword({ onChanged }: { onChanged: () => void }) {
  const before = useSignal("");
  const after = useSignal("");
  const done = useSignal(false);
  const { busy, fault, act } = useAct();
  const input = useRef<HTMLInputElement>(null);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    done.value = await act(() => api.changePassword(before.value, after.value));
    if (!done.value) return input.current?.select();
    before.value = "";
    after.value = "";
    onChanged();
  };
  return (
    <Panel id="password-title" title="Password">
      <form class="put-in" onSubmit={(event) => void submit(event)}>
        <HiddenName />
        <Field name="Present password" of={input} value={before} type="password" autocomplete="current-password" required />
        <NewPassword name="New password" value={after} />
        {fault.value && <Notice tone="fault" fault={fault.value} />}
        {done.value && (
          <Notice tone="good">
            <p>The password is changed. Your other sessions are ended.</p>
          </Notice>
        )}
        <div class="foot">
          <button type="submit" class="button button-main" disabled={busy.value || before.value === "" || after.value === ""}>
            Change the password
          </button>
        </div>
      </form>
    </Panel>
  );
}
