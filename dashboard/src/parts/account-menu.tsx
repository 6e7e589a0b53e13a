// Who is signed in, the way to their account, the colours, and the way out.

import { printable } from "../format";
import { ROLE_TEXT } from "../roles";
import { routeHash } from "../route";
import { may, me, signOut, theme, type Theme } from "../state";
import { Choice } from "./choice";
import { Icon } from "./icons";
import { useMenu } from "./menu";

export const THEMES: readonly { value: Theme; text: string }[] = [
  { value: "system", text: "System" },
  { value: "light", text: "Light" },
  { value: "dark", text: "Dark" },
];

interface AccountMenuProps {
  onKeys: () => void;
}

export function AccountMenu({ onKeys }: AccountMenuProps) {
  const { open, box, opener } = useMenu();
  const who = me.value;
  if (!who) return null;
  const name = printable(who.name);
  const close = (): void => {
    open.value = false;
  };
  return (
    <div class="menu" ref={box}>
      <button
        ref={opener}
        type="button"
        class="button button-bare button-square account-button"
        aria-expanded={open.value}
        aria-controls="account-menu"
        aria-label={`Account: ${name}`}
        title={name}
        onClick={() => {
          open.value = !open.value;
        }}
      >
        {who.kind === "user" ? <span class="initial">{[...name][0]?.toUpperCase()}</span> : <Icon name="key" />}
      </button>
      {open.value && (
        <div class="menu-sheet account-sheet" id="account-menu">
          <div class="account-who">
            <strong>{name}</strong>
            <span class="quiet">{ROLE_TEXT[who.role].name}</span>
          </div>
          <a class="menu-item" href={routeHash("account")} onClick={close}>
            <Icon name="person" />
            Your account
          </a>
          {may("administrator") && (
            <a class="menu-item" href={routeHash("people")} onClick={close}>
              <Icon name="people" />
              People
            </a>
          )}
          <button
            type="button"
            class="menu-item"
            onClick={() => {
              close();
              opener.current?.focus();
              onKeys();
            }}
          >
            <Icon name="keyboard" />
            Keyboard
          </button>
          <div class="account-theme">
            <span class="menu-text" aria-hidden="true">
              Colours
            </span>
            <Choice
              label="Colours"
              name="theme"
              value={theme.value}
              options={THEMES}
              onChoose={(value) => {
                theme.value = value;
              }}
            />
          </div>
          <button type="button" class="menu-item" onClick={() => void signOut()}>
            <Icon name="leave" />
            Sign out
          </button>
        </div>
      )}
    </div>
  );
}
