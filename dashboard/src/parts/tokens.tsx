// Tokens for programs: made with a name, what they may, and for how long; the text is told once.

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { api } from "../api";
import { moment, printable } from "../format";
import { t } from "../i18n";
import { roleMay, roleName, rolesUpTo } from "../roles";
import { me, today } from "../state";
import type { ApiToken, Scope } from "../user-model";
import { useAct } from "./act";
import { AskBack } from "./ask-back";
import { Copyable } from "./copy";
import { Field } from "./field";
import { Notice } from "./notice";
import { Sentence } from "./sentence";

const LIVES = [
  { days: 30, text: "tokens.days30" },
  { days: 90, text: "tokens.days90" },
  { days: 365, text: "tokens.year" },
  { days: null, text: "tokens.noEnd" },
] as const;
const LIFE_AT_FIRST = 90;

function scopeText(scope: Scope): string {
  return scope === "metrics" ? t("tokens.metricsText") : `${roleName(scope)}: ${roleMay(scope)}`;
}

function endText(token: ApiToken): string {
  if (token.expires === null) return t("tokens.endsNot");
  return t(new Date(token.expires).getTime() < Date.now() ? "tokens.ended" : "tokens.till", { at: moment(token.expires, today.value) });
}

interface TokenListProps {
  tokens: readonly ApiToken[];
  /** Whose they are is told. */
  withOwner?: boolean;
  onChanged: () => void;
}

export function TokenList({ tokens, withOwner, onChanged }: TokenListProps) {
  const { busy, fault, act } = useAct();
  const remove = async (id: string): Promise<void> => {
    await act(() => api.removeToken(id));
    onChanged();
  };
  return (
    <>
      {fault.value && <Notice tone="fault" fault={fault.value} />}
      <ul class="entries">
        {tokens.map((token) => (
          <li class="entry" key={token.id}>
            <div class="entry-main">
              <span class="entry-name">
                {printable(token.name)}
                <span class="tag">{t(`tokens.scopes.${token.scope}`)}</span>
                {token.expires !== null && new Date(token.expires).getTime() < Date.now() && <span class="tag tag-land">{t("tokens.over")}</span>}
              </span>
            </div>
            <div class="entry-sub">
              {withOwner && <span>{t("tokens.of", { owner: token.owner === null ? "admin.token" : printable(token.owner) })}</span>}
              <span>{token.last_used === null ? t("tokens.neverUsed") : t("tokens.used", { at: moment(token.last_used, today.value) })}</span>
              <span>{endText(token)}</span>
            </div>
            <div class="entry-buttons">
              <AskBack
                text={t("words.removeDots")}
                label={t("tokens.remove", { name: printable(token.name) })}
                question={t("tokens.removeQuestion", { name: printable(token.name) })}
                yes={t("words.remove")}
                disabled={busy.value}
                onYes={() => remove(token.id)}
              />
            </div>
          </li>
        ))}
      </ul>
    </>
  );
}

export function MakeToken({ onMade }: { onMade: () => void }) {
  const isOpen = useSignal(false);
  const made = useSignal<{ name: string; token: string } | null>(null);
  if (made.value) {
    return (
      <Notice tone="good">
        <p>
          <Sentence of="tokens.made" values={{ name: printable(made.value.name) }} />
        </p>
        <Copyable text={made.value.token} label={t("tokens.theToken")} />
        <button
          type="button"
          class="button"
          onClick={() => {
            made.value = null;
          }}
        >
          {t("tokens.haveIt")}
        </button>
      </Notice>
    );
  }
  if (!isOpen.value) {
    return (
      <button
        type="button"
        class="button make-token"
        onClick={() => {
          isOpen.value = true;
        }}
      >
        {t("tokens.makeDots")}
      </button>
    );
  }
  return (
    <TokenForm
      onClose={() => {
        isOpen.value = false;
      }}
      onMade={(told) => {
        made.value = told;
        isOpen.value = false;
        onMade();
      }}
    />
  );
}

function TokenForm({ onClose, onMade }: { onClose: () => void; onMade: (made: { name: string; token: string }) => void }) {
  const name = useSignal("");
  const scope = useSignal<Scope>("metrics");
  const days = useSignal<number | null>(LIFE_AT_FIRST);
  const { busy, fault, act } = useAct();
  const first = useRef<HTMLInputElement>(null);
  useEffect(() => first.current?.focus(), []);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    const order = { name: name.value.trim(), scope: scope.value, days: days.value };
    await act(async () => {
      const { token } = await api.makeToken(order);
      onMade({ name: order.name, token });
    });
  };
  const scopes: Scope[] = ["metrics", ...(me.value ? rolesUpTo(me.value.role) : [])];
  return (
    <form class="put-in" onSubmit={(event) => void submit(event)}>
      <Field name={t("words.name")} hint={t("tokens.nameHint")} value={name} type="text" autocomplete="off" maxLength={64} of={first} required />
      <label class="field">
        <span class="field-name">{t("tokens.may")}</span>
        <select
          class="input"
          value={scope.value}
          onChange={(event) => {
            scope.value = event.currentTarget.value as Scope;
          }}
        >
          {scopes.map((one) => (
            <option key={one} value={one}>
              {scopeText(one)}
            </option>
          ))}
        </select>
      </label>
      <label class="field">
        <span class="field-name">{t("tokens.for")}</span>
        <select
          class="input"
          value={String(days.value)}
          onChange={(event) => {
            const chosen = event.currentTarget.value;
            days.value = chosen === "null" ? null : Number(chosen);
          }}
        >
          {LIVES.map((life) => (
            <option key={life.text} value={String(life.days)}>
              {t(life.text)}
            </option>
          ))}
        </select>
      </label>
      {fault.value && <Notice tone="fault" fault={fault.value} />}
      <div class="foot">
        <button type="submit" class="button button-main" disabled={busy.value}>
          {t("tokens.make")}
        </button>
        <button type="button" class="button button-bare" onClick={onClose}>
          {t("words.cancel")}
        </button>
      </div>
    </form>
  );
}
