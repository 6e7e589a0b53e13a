// The way in: user name and password with a code where one is asked for, single sign-on, or the
// token. Where there are no users, only the token.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { api, faultOf } from "../api";
import { printable } from "../format";
import { t } from "../i18n";
import { Mark } from "../parts/icons";
import { Notice } from "../parts/notice";
import { Sentence } from "../parts/sentence";
import { TokenForm, UserForm } from "../parts/sign-in";
import { loginFault } from "../state";
import type { SignInOffer } from "../user-model";

/** Where Tidegate does not say how one signs in, the token opens it. */
const TOKEN_ALONE: SignInOffer = { users: false };

export function Login() {
  const offer = useSignal<SignInOffer | null>(null);
  const byToken = useSignal(false);
  const wantsCode = useSignal(false);
  useEffect(() => {
    void api.signInOffer().then(
      (told) => {
        offer.value = told;
      },
      (thrown: unknown) => {
        const fault = faultOf(thrown);
        if (fault?.kind === "unreachable") loginFault.value = fault;
        offer.value = TOKEN_ALONE;
      },
    );
  }, []);
  const swap = (): void => {
    byToken.value = !byToken.value;
    loginFault.value = null;
  };
  const known = offer.value;
  const others = known !== null && (known.users || Boolean(known.single_sign_on));
  return (
    <main class="login">
      <div class="login-sheet" aria-busy={known === null}>
        <div class="login-brand">
          <Mark />
          <h1>Tidegate</h1>
        </div>
        {known === null ? (
          <div class="login-wait" />
        ) : (
          <>
            {known.users && !byToken.value && <UserForm wantsCode={wantsCode} />}
            {(byToken.value || !others) && <TokenForm />}
            {known.single_sign_on && !byToken.value && !wantsCode.value && (
              <>
                {known.users && <p class="login-or">{t("login.or")}</p>}
                <a class="button login-sso" href={known.single_sign_on.path.replace(/^\//, "")}>
                  {t("login.signInWith", { name: printable(known.single_sign_on.name) })}
                </a>
              </>
            )}
            <LoginFault />
            {others && !wantsCode.value && (
              <button type="button" class="link-button login-swap" onClick={swap}>
                {byToken.value ? t("login.withoutToken") : t("login.withToken")}
              </button>
            )}
            {(byToken.value || !others) && <TokenHelp />}
          </>
        )}
      </div>
      <div class="login-sea" aria-hidden="true" />
    </main>
  );
}

/** Asking for the code is a step, no failure: `UserForm` says it. */
function LoginFault() {
  const fault = loginFault.value;
  return fault && !fault.needsCode ? <Notice tone="fault" fault={fault} /> : null;
}

function TokenHelp() {
  return (
    <div class="login-help">
      <h2>{t("login.whereIsToken")}</h2>
      <ul>
        <li>
          <Sentence of="login.tokenByRun" />
        </li>
        <li>
          <Sentence of="login.tokenByFile" />
        </li>
      </ul>
    </div>
  );
}
