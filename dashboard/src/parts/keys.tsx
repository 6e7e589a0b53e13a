// What the keys do.

import { useEffect, useRef } from "preact/hooks";
import { singleKeys } from "../state";
import { Icon } from "./icons";

const COMMAND = /Mac|iPhone|iPad/.test(navigator.platform) ? "⌘" : "Ctrl";

const KEYS: readonly [keys: string[], does: string][] = [
  [[COMMAND, "K"], "Go to or do anything: views, devices, lists, pause …"],
  [["/"], "the same"],
  [["?"], "These keys"],
  [["Tab"], "To what comes next; with Shift, back"],
  [["Enter"], "Take what the focus is on; in the requests, open a row"],
  [["↑", "↓"], "In a list or a choice, one on"],
  [["Esc"], "Close what stands above the page"],
];

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
            Keyboard
          </h2>
          <button type="button" class="button button-bare button-square" aria-label="Close" onClick={() => dialog.current?.close()}>
            <Icon name="close" />
          </button>
        </div>
        <dl class="keys-list">
          {KEYS.map(([keys, does]) => (
            <div key={keys.join()}>
              <dt>
                {keys.map((key) => (
                  <kbd key={key}>{key}</kbd>
                ))}
              </dt>
              <dd>{does}</dd>
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
            Single keys <span class="quiet">? and / do something. Off, only keys with {COMMAND} do: for speech input.</span>
          </span>
        </label>
      </div>
    </dialog>
  );
}
