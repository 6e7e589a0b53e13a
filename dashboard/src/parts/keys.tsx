// What the keys do.

import { useEffect, useRef } from "preact/hooks";
import { type MessageKey, t } from "../i18n";
import { singleKeys } from "../state";
import { Icon } from "./icons";

const IS_MAC = /Mac|iPhone|iPad/.test(navigator.platform);

const KEYS: readonly [keys: MessageKey[], does: MessageKey][] = [
  [["keys.command", "keys.k"], "keys.palette"],
  [["keys.slash"], "keys.same"],
  [["keys.question"], "keys.keys"],
  [["keys.tab"], "keys.next"],
  [["keys.enter"], "keys.take"],
  [["keys.up", "keys.down"], "keys.oneOn"],
  [["keys.esc"], "keys.close"],
];

/** Its name is printed on it, in the language of the keyboard; on a Mac, its sign. */
const commandKey = (): string => (IS_MAC ? "⌘" : t("keys.command"));
const keyName = (key: MessageKey): string => (key === "keys.command" ? commandKey() : t(key));

export function Keys({ onClose }: { onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    // oxlint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/no-noninteractive-element-interactions -- Escape closes a dialog by itself
    <dialog
      ref={dialog}
      class="palette keys"
      aria-labelledby="keys-title"
      onClose={onClose}
      onClick={(event) => {
        if (event.target === dialog.current) dialog.current?.close();
      }}
    >
      <div class="keys-sheet">
        <div class="drawer-head">
          <h2 id="keys-title" class="keys-title">
            {t("keys.title")}
          </h2>
          <button type="button" class="button button-bare button-square" aria-label={t("words.close")} onClick={() => dialog.current?.close()}>
            <Icon name="close" />
          </button>
        </div>
        <dl class="keys-list">
          {KEYS.map(([keys, does]) => (
            <div key={keys.join()}>
              <dt>
                {keys.map((key) => (
                  <kbd key={key}>{keyName(key)}</kbd>
                ))}
              </dt>
              <dd>{t(does)}</dd>
            </div>
          ))}
        </dl>
        <label class="check">
          <input
            type="checkbox"
            checked={singleKeys.value}
            onChange={(event) => {
              singleKeys.value = event.currentTarget.checked;
            }}
          />
          <span>
            {t("keys.single")} <span class="quiet">{t("keys.singleHint", { key: commandKey() })}</span>
          </span>
        </label>
      </div>
    </dialog>
  );
}
