// The forms of the way in. The password stays here between its step and that of the code.

import { useSignal, type Signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { t } from "../i18n";
import { codeOf } from "../passwords";
import { loginFault, signIn } from "../state";
import type { Credentials } from "../user-model";
import { CodeField, Field } from "./field";
import { Notice } from "./notice";

/** On a phone the keyboard would cover the page. */
const mayFocus = (): boolean => matchMedia("(pointer: fine)").matches;

function useSending(): { busy: Signal<boolean>; send: (credentials: Credentials) => Promise<void> } {
  const busy = useSignal(false);
  const send = async (credentials: Credentials): Promise<void> => {
    busy.value = true;
    await signIn(credentials);
    busy.value = false;
  };
  return { busy, send };
}

export function TokenForm() {
  const token = useSignal("");
  const { busy, send } = useSending();
  const input = useRef<HTMLInputElement>(null);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    await send({ token: token.value.trim() });
    input.current?.select();
  };
  return (
    <form onSubmit={(event) => void submit(event)}>
      <Field name={t("login.token")} of={input} value={token} mono type="password" autocomplete="current-password" required />
      <button type="submit" class="button button-main" disabled={busy.value || token.value.trim() === ""}>
        {busy.value ? t("login.signingIn") : t("login.signIn")}
      </button>
    </form>
  );
}

/** `wantsCode` is the second step, in which there is no other way in to offer. */
export function UserForm({ wantsCode }: { wantsCode: Signal<boolean> }) {
  const user = useSignal("");
  const password = useSignal("");
  const { busy, send } = useSending();
  const first = useRef<HTMLInputElement>(null);
  const second = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (mayFocus() && !loginFault.value) first.current?.focus();
  }, []);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    await send({ user: user.value.trim(), password: password.value });
    if (loginFault.value?.needsCode) wantsCode.value = true;
    else second.current?.select();
  };
  if (wantsCode.value) {
    return (
      <CodeForm
        user={user.value.trim()}
        password={password.value}
        onBack={() => {
          wantsCode.value = false;
          password.value = "";
          loginFault.value = null;
        }}
      />
    );
  }
  return (
    <form onSubmit={(event) => void submit(event)}>
      <Field name={t("login.userName")} of={first} value={user} type="text" autocomplete="username" required />
      <Field name={t("login.password")} of={second} value={password} type="password" autocomplete="current-password" required />
      <button type="submit" class="button button-main" disabled={busy.value}>
        {busy.value ? t("login.signingIn") : t("login.signIn")}
      </button>
    </form>
  );
}

interface CodeFormProps {
  user: string;
  password: string;
  onBack: () => void;
}

function CodeForm({ user, password, onBack }: CodeFormProps) {
  const code = useSignal("");
  const recovers = useSignal(false);
  const tried = useSignal(false);
  const { busy, send } = useSending();
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => input.current?.focus(), [recovers.value]);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    tried.value = false;
    await send({ user, password, code: codeOf(code.value) });
    tried.value = true;
    input.current?.select();
    // Another fault than a wrong code: the password was changed meanwhile, or there were too many.
    if (loginFault.value && !loginFault.value.needsCode && loginFault.value.kind === "signed-out") onBackWith(onBack);
  };
  const swap = (): void => {
    recovers.value = !recovers.value;
    code.value = "";
    tried.value = false;
  };
  const fault = loginFault.value;
  return (
    <form onSubmit={(event) => void submit(event)}>
      {recovers.value ? (
        <Field
          key="recovery"
          name={t("login.recoveryCode")}
          hint={t("login.recoveryHint")}
          of={input}
          value={code}
          mono
          type="text"
          placeholder="k7f3-9xqm-2hvt"
          autocomplete="off"
          required
        />
      ) : (
        <CodeField
          key="code"
          name={t("login.code")}
          hint={t("login.codeHint")}
          of={input}
          value={code}
        />
      )}
      {fault?.needsCode && tried.value && <Notice tone="fault" fault={fault} />}
      <button type="submit" class="button button-main" disabled={busy.value}>
        {busy.value ? t("login.signingIn") : t("login.signIn")}
      </button>
      <div class="login-ways">
        <button type="button" class="link-button" onClick={swap}>
          {recovers.value ? t("login.useAuthenticator") : t("login.useRecovery")}
        </button>
        <button type="button" class="link-button" onClick={onBack}>
          {t("login.startOver")}
        </button>
      </div>
    </form>
  );
}

/** Goes back to the first step, and keeps the fault that led there. */
function onBackWith(onBack: () => void): void {
  const fault = loginFault.value;
  onBack();
  loginFault.value = fault;
}
