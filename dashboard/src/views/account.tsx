// One's own account: password, second step, sessions and tokens.

import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { api } from "../api";
import { printable } from "../format";
import { t } from "../i18n";
import { useAct } from "../parts/act";
import { Field, NewPassword } from "../parts/field";
import { Notice } from "../parts/notice";
import { Panel } from "../parts/panel";
import { Sentence } from "../parts/sentence";
import { EndAll, SessionList } from "../parts/sessions";
import { MakeToken, TokenList } from "../parts/tokens";
import { HiddenName, TwoStep } from "../parts/two-step";
import { usePolled } from "../poll";
import { roleName } from "../roles";
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
          <span class="tag">{roleName(who.role)}</span>
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
          <Panel id="sessions-title" title={t("account.signedIn")}>
            <SessionList sessions={sessions} onChanged={asked.refresh} />
            {name !== null && <EndAll user={name} sessions={sessions} onChanged={asked.refresh} />}
          </Panel>
          <Panel id="tokens-title" title={t("account.tokens")}>
            {tokens.length === 0 && asked.data && <p class="quiet">{t("account.noTokens")}</p>}
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
    <Panel id="by-token-title" title={t("account.byToken")}>
      <p>
        {t("account.byTokenText")}{" "}
        {may("administrator") && <Sentence of="account.addYourself" parts={{ link: (content) => <a href={routeHash("people")}>{content}</a> }} />}
      </p>
    </Panel>
  );
}

function BySingleSignOn() {
  return (
    <Panel id="single-title" title={t("account.passwordAndStep")}>
      <p>{t("account.bySingleSignOn")}</p>
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
    <Panel id="password-title" title={t("account.password")}>
      <form class="put-in" onSubmit={(event) => void submit(event)}>
        <HiddenName />
        <Field name={t("account.presentPassword")} of={input} value={before} type="password" autocomplete="current-password" required />
        <NewPassword name={t("account.newPassword")} value={after} />
        {fault.value && <Notice tone="fault" fault={fault.value} />}
        {done.value && (
          <Notice tone="good">
            <p>{t("account.passwordChanged")}</p>
          </Notice>
        )}
        <div class="foot">
          <button type="submit" class="button button-main" disabled={busy.value || before.value === "" || after.value === ""}>
            {t("account.changePassword")}
          </button>
        </div>
      </form>
    </Panel>
  );
}
