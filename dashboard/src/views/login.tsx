import { useSignal } from "@preact/signals";
import { Mark } from "../parts/icons";
import { Notice } from "../parts/notice";
import { loginFault, signIn } from "../state";

export function Login() {
  const token = useSignal("");
  const busy = useSignal(false);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    busy.value = true;
    await signIn(token.value.trim());
    busy.value = false;
  };
  return (
    <main class="login">
      <div class="login-sheet">
        <div class="login-brand">
          <Mark />
          <h1>Tidegate</h1>
        </div>
        <form onSubmit={(event) => void submit(event)}>
          <label class="field">
            <span class="field-name">Token</span>
            <input
              class="input input-mono"
              type="password"
              name="token"
              autocomplete="current-password"
              autocapitalize="none"
              spellcheck={false}
              required
              value={token.value}
              onInput={(event) => {
                token.value = event.currentTarget.value;
              }}
            />
          </label>
          <button type="submit" class="button button-main" disabled={busy.value || token.value.trim() === ""}>
            {busy.value ? "Signing in …" : "Sign in"}
          </button>
        </form>
        {loginFault.value && <Notice tone="fault" fault={loginFault.value} />}
        <div class="login-help">
          <h2>Where is the token?</h2>
          <ul>
            <li>
              <code>tidegate run</code> prints an address with the token in it. Opening that address signs you in.
            </li>
            <li>
              It is the text of the file <code>admin.token</code> in the state folder: <code>state_dir</code> of
              your configuration, or <code>./tidegate-state</code>.
            </li>
          </ul>
        </div>
      </div>
      <div class="login-sea" aria-hidden="true" />
    </main>
  );
}
