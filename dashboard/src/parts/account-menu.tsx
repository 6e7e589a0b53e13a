// Who is signed in, the way to their account, the colours, and the way out.

import { printable } from "../format";
import { t } from "../i18n";
import { LANGUAGE_NAMES, LANGUAGES, type LanguageChoice } from "../language";
import { roleName } from "../roles";
import { routeHash } from "../route";
import { chooseLanguage, languageChoice, may, me, signOut, theme, type Theme } from "../state";
import { Choice } from "./choice";
import { Icon } from "./icons";
import { useMenu } from "./menu";

const THEMES: readonly Theme[] = ["system", "light", "dark"];
const CHOICES: readonly LanguageChoice[] = ["browser", ...LANGUAGES];

/** Languages go by their own names, whatever is spoken. */
const choiceName = (choice: LanguageChoice): string => (choice === "browser" ? t("language.browser") : LANGUAGE_NAMES[choice]);

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
        aria-label={t("account.menu", { name })}
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
            <span class="quiet">{roleName(who.role)}</span>
          </div>
          <a class="menu-item" href={routeHash("account")} onClick={close}>
            <Icon name="person" />
            {t("nav.account")}
          </a>
          {may("administrator") && (
            <a class="menu-item" href={routeHash("people")} onClick={close}>
              <Icon name="people" />
              {t("nav.people")}
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
            {t("keys.title")}
          </button>
          <div class="account-theme">
            <span class="menu-text" aria-hidden="true">
              {t("theme.title")}
            </span>
            <Choice
              label={t("theme.title")}
              name="theme"
              value={theme.value}
              options={THEMES.map((value) => ({ value, text: t(`theme.${value}`) }))}
              onChoose={(value) => {
                theme.value = value;
              }}
            />
          </div>
          <label class="account-language">
            <span class="menu-text">{t("language.title")}</span>
            <select class="input" value={languageChoice.value} onChange={(event) => chooseLanguage(event.currentTarget.value as LanguageChoice)}>
              {CHOICES.map((choice) => (
                <option key={choice} value={choice} {...(choice === "browser" ? {} : { lang: choice })}>
                  {choiceName(choice)}
                </option>
              ))}
            </select>
          </label>
          <button type="button" class="menu-item" onClick={() => void signOut()}>
            <Icon name="leave" />
            {t("account.signOut")}
          </button>
        </div>
      )}
    </div>
  );
}
