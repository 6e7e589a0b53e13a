// A named input that keeps its text in a signal, with a hint below it.

import { useSignal, type Signal } from "@preact/signals";
import type { ComponentChildren, RefObject } from "preact";
import { useId } from "preact/hooks";
import { t } from "../i18n";
import { lengthText, madePassword, PASSWORD_FULL, PASSWORD_MIN } from "../passwords";

interface FieldProps {
  name: string;
  value: Signal<string>;
  hint?: ComponentChildren;
  mono?: boolean;
  of?: RefObject<HTMLInputElement | null>;
  type: "text" | "password";
  autocomplete: string;
  inputMode?: "numeric" | "text";
  placeholder?: string;
  maxLength?: number;
  required?: boolean;
}

export function Field({ name, value, hint, mono, of, type, ...input }: FieldProps) {
  const hintId = useId();
  return (
    <div class="field">
      <label class="field">
        <span class="field-name">{name}</span>
        <input
          {...input}
          // The kinds of input have types of their own, of which only one can be said here.
          type={type as "text"}
          autocapitalize="none"
          spellcheck={false}
          {...(of ? { ref: of } : {})}
          {...(hint ? { "aria-describedby": hintId } : {})}
          class={mono ? "input input-mono" : "input"}
          value={value.value}
          onInput={(event) => {
            value.value = event.currentTarget.value;
          }}
        />
      </label>
      {hint && (
        <p class="field-hint" id={hintId}>
          {hint}
        </p>
      )}
    </div>
  );
}

/** The six digits of an authenticator. */
export function CodeField(props: Pick<FieldProps, "name" | "hint" | "of" | "value">) {
  return <Field {...props} mono type="text" inputMode="numeric" autocomplete="one-time-code" maxLength={9} required />;
}

interface NewPasswordProps {
  name: string;
  value: Signal<string>;
  /** Told a password that was made up. */
  onMade?: (password: string) => void;
}

/** A password that is chosen: seen on demand, made up on demand, with its length told. */
export function NewPassword({ name, value, onMade }: NewPasswordProps) {
  const shown = useSignal(false);
  const id = useId();
  const length = [...value.value].length;
  return (
    <div class="field">
      <label class="field-name" for={id}>
        {name}
      </label>
      <div class="with-buttons">
        <input
          id={id}
          class="input input-mono"
          type={(shown.value ? "text" : "password") as "text"}
          autocomplete="new-password"
          autocapitalize="none"
          spellcheck={false}
          required
          minLength={PASSWORD_MIN}
          aria-describedby={`${id}-length`}
          value={value.value}
          onInput={(event) => {
            value.value = event.currentTarget.value;
          }}
        />
        <button
          type="button"
          class="button"
          aria-pressed={shown.value}
          onClick={() => {
            shown.value = !shown.value;
          }}
        >
          {shown.value ? t("words.hide") : t("words.show")}
        </button>
        <button
          type="button"
          class="button"
          onClick={() => {
            value.value = madePassword();
            shown.value = true;
            onMade?.(value.value);
          }}
        >
          {t("password.makeUp")}
        </button>
      </div>
      <div class="strength" id={`${id}-length`}>
        <meter min={0} max={PASSWORD_FULL} low={PASSWORD_MIN} high={PASSWORD_MIN} optimum={PASSWORD_FULL} value={Math.min(length, PASSWORD_FULL)} aria-hidden="true" />
        <span class="field-hint">{lengthText(value.value)}</span>
      </div>
    </div>
  );
}
