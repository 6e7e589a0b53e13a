// Two-step sign-in of one's own: set up with an authenticator, recovery codes, and switched off.

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { api } from "../api";
import { t } from "../i18n";
import { codeOf, codesFile, grouped } from "../passwords";
import { me, refreshMe } from "../state";
import type { Me, TotpStart } from "../user-model";
import { useAct } from "./act";
import { CopyButton, Copyable } from "./copy";
import { CodeField, Field } from "./field";
import { Icon } from "./icons";
import { Notice } from "./notice";
import { Panel } from "./panel";
import { Sentence } from "./sentence";

export function TwoStep({ who }: { who: Me }) {
  const start = useSignal<TotpStart | null>(null);
  const codes = useSignal<readonly string[] | null>(null);
  return (
    <Panel id="two-step-title" title={t("twoStep.title")} aside={<span class={who.totp ? "tag" : "tag tag-land"}>{who.totp ? t("words.on") : t("words.off")}</span>}>
      {codes.value ? (
        <RecoveryCodes
          name={who.name}
          codes={codes.value}
          onKept={() => {
            codes.value = null;
          }}
        />
      ) : start.value ? (
        <Confirm
          start={start.value}
          onCancel={() => {
            start.value = null;
          }}
          onConfirmed={(told) => {
            codes.value = told;
            start.value = null;
            void refreshMe();
          }}
        />
      ) : who.totp ? (
        <Off />
      ) : (
        <Begin
          onBegun={(told) => {
            start.value = told;
          }}
        />
      )}
    </Panel>
  );
}

/** Asks for the password, which stands for who sits there. */
function WithPassword(props: { button: string; onSubmit: (password: string) => Promise<unknown>; onCancel: () => void }) {
  const password = useSignal("");
  const { busy, fault, act } = useAct();
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => input.current?.focus(), []);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    const worked = await act(() => props.onSubmit(password.value));
    if (!worked) input.current?.select();
  };
  return (
    <form class="put-in" onSubmit={(event) => void submit(event)}>
      <HiddenName />
      <Field name={t("twoStep.yourPassword")} of={input} value={password} type="password" autocomplete="current-password" required />
      {fault.value && <Notice tone="fault" fault={fault.value} />}
      <div class="foot">
        <button type="submit" class="button button-main" disabled={busy.value}>
          {props.button}
        </button>
        <button type="button" class="button button-bare" onClick={props.onCancel}>
          {t("words.cancel")}
        </button>
      </div>
    </form>
  );
}

/** Tells password managers whose password it is. */
export function HiddenName() {
  return <input class="unseen" type="text" name="username" autocomplete="username" readOnly tabIndex={-1} aria-hidden="true" value={me.value?.name ?? ""} />;
}

function Begin({ onBegun }: { onBegun: (start: TotpStart) => void }) {
  const asks = useSignal(false);
  const flip = (): void => {
    asks.value = !asks.value;
  };
  return (
    <>
      <p>
        {t("twoStep.about")}
      </p>
      {asks.value ? (
        <WithPassword button={t("twoStep.goOn")} onSubmit={async (password) => onBegun(await api.beginTotp(password))} onCancel={flip} />
      ) : (
        <button type="button" class="button" onClick={flip}>
          {t("twoStep.setUp")}
        </button>
      )}
    </>
  );
}

function Off() {
  const asks = useSignal(false);
  const flip = (): void => {
    asks.value = !asks.value;
  };
  const remove = async (password: string): Promise<void> => {
    await api.removeTotp(password);
    await refreshMe();
  };
  return (
    <>
      <p>{t("twoStep.isOn")}</p>
      {asks.value ? (
        <WithPassword button={t("twoStep.switchOff")} onSubmit={remove} onCancel={flip} />
      ) : (
        <button type="button" class="button" onClick={flip}>
          {t("twoStep.switchOffDots")}
        </button>
      )}
    </>
  );
}

interface ConfirmProps {
  start: TotpStart;
  onConfirmed: (codes: readonly string[]) => void;
  onCancel: () => void;
}

function Confirm({ start, onConfirmed, onCancel }: ConfirmProps) {
  const code = useSignal("");
  const { busy, fault, act } = useAct();
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => input.current?.focus(), []);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    const worked = await act(async () => onConfirmed((await api.confirmTotp(codeOf(code.value))).recovery_codes));
    if (!worked) input.current?.select();
  };
  return (
    <form class="totp" onSubmit={(event) => void submit(event)}>
      <img class="totp-qr" src={`data:image/svg+xml,${encodeURIComponent(start.qr_svg)}`} alt={t("twoStep.qr")} width={200} height={200} />
      <div class="totp-steps">
        <p>
          <Sentence of="twoStep.scan" parts={{ link: (content) => <a href={start.uri}>{content}</a> }} />
        </p>
        <Copyable text={grouped(start.secret)} copied={start.secret} label={t("twoStep.secret")} />
        <CodeField
          name={t("twoStep.codeShown")}
          of={input}
          value={code}
        />
        {fault.value && <Notice tone="fault" fault={fault.value} />}
        <div class="foot">
          <button type="submit" class="button button-main" disabled={busy.value}>
            {t("twoStep.switchOn")}
          </button>
          <button type="button" class="button button-bare" onClick={onCancel}>
            {t("words.cancel")}
          </button>
        </div>
      </div>
    </form>
  );
}

function RecoveryCodes({ name, codes, onKept }: { name: string; codes: readonly string[]; onKept: () => void }) {
  const title = useRef<HTMLParagraphElement>(null);
  useEffect(() => title.current?.focus(), []);
  const download = (): void => {
    const file = new Blob([codesFile(name, location.host, codes, new Date())], { type: "text/plain" });
    const link = document.createElement("a");
    link.href = URL.createObjectURL(file);
    link.download = "tidegate-recovery-codes.txt";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };
  return (
    <div class="put-in">
      <p ref={title} tabIndex={-1} class="codes-said">
        <Sentence of="twoStep.keep" />
      </p>
      <ol class="codes">
        {codes.map((code) => (
          <li key={code}>
            <code>{code}</code>
          </li>
        ))}
      </ol>
      <div class="foot">
        <CopyButton text={codes.join("\n")} label={t("twoStep.recoveryCodes")} />
        <button type="button" class="button" onClick={download}>
          <Icon name="download" />
          {t("words.download")}
        </button>
        <button type="button" class="button button-main foot-end" onClick={onKept}>
          {t("twoStep.kept")}
        </button>
      </div>
    </div>
  );
}
