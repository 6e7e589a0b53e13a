// Tokens for programs: made with a name, what they may, and for how long; the text is told once.

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { api } from "../api";
import { moment, printable } from "../format";
import { ROLE_TEXT, rolesUpTo } from "../roles";
import { me, today } from "../state";
import type { ApiToken, Scope } from "../user-model";
import { useAct } from "./act";
import { AskBack } from "./ask-back";
import { Copyable } from "./copy";
import { Field } from "./field";
import { Notice } from "./notice";

const LIVES = [
  { days: 30, text: "30 days" },
  { days: 90, text: "90 days" },
  { days: 365, text: "A year" },
  { days: null, text: "Until it is removed" },
] as const;
const LIFE_AT_FIRST = 90;

function scopeText(scope: Scope): string {
  return scope === "metrics" ? "Metrics: reads /metrics, nothing else" : `${ROLE_TEXT[scope].name}: ${ROLE_TEXT[scope].may}`;
}

function endText(token: ApiToken): string {
  if (token.expires === null) return "does not end";
  const word = new Date(token.expires).getTime() < Date.now() ? "ended" : "till";
  return `${word} ${moment(token.expires, today.value)}`;
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
                <span class="tag">{token.scope}</span>
                {token.expires !== null && new Date(token.expires).getTime() < Date.now() && <span class="tag tag-land">over</span>}
              </span>
            </div>
            <div class="entry-sub">
              {withOwner && <span>of {token.owner === null ? "admin.token" : printable(token.owner)}</span>}
              <span>{token.last_used === null ? "never used" : `used ${moment(token.last_used, today.value)}`}</span>
              <span>{endText(token)}</span>
            </div>
            <div class="entry-buttons">
              <AskBack
                text="Remove …"
                label={`Remove the token ${printable(token.name)}`}
                question={`Remove ${printable(token.name)}? What uses it is let in no more.`}
                yes="Remove"
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
          <strong>{printable(made.value.name)} is made.</strong> Copy it now: it is not shown again. A program sends it as{" "}
          <code>Authorization: Bearer …</code>
        </p>
        <Copyable text={made.value.token} label="the token" />
        <button
          type="button"
          class="button"
          onClick={() => {
            made.value = null;
          }}
        >
          I have it
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
        Make a token …
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
      <Field name="Name" hint="What it is for." value={name} type="text" autocomplete="off" maxLength={64} of={first} required />
      <label class="field">
        <span class="field-name">It may</span>
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
        <span class="field-name">For</span>
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
              {life.text}
            </option>
          ))}
        </select>
      </label>
      {fault.value && <Notice tone="fault" fault={fault.value} />}
      <div class="foot">
        <button type="submit" class="button button-main" disabled={busy.value}>
          Make it
        </button>
        <button type="button" class="button button-bare" onClick={onClose}>
          Cancel
        </button>
      </div>
    </form>
  );
}
