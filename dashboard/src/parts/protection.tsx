// Pausing protection and taking it up again: the button in the header and the banner below it.

import { api } from "../api";
import { countdown, minute } from "../format";
import { t } from "../i18n";
import { may, now, pausedUntil, refreshStatus, status } from "../state";
import { useAct } from "./act";
import { Icon } from "./icons";
import { useMenu } from "./menu";
import { Notice } from "./notice";
import { Sentence } from "./sentence";

export const PAUSES = [
  { seconds: 300, name: "protection.minutes" },
  { seconds: 3600, name: "protection.hour" },
] as const;

export function Protection() {
  const { open, box, opener } = useMenu();
  const { busy, fault, act } = useAct();
  const change = async (made: () => Promise<unknown>): Promise<void> => {
    const worked = await act(async () => {
      await made();
      open.value = false;
      await refreshStatus();
    });
    if (!worked) open.value = true;
  };

  if (!status.value || !may("operator")) return null;
  const paused = pausedUntil.value !== null;
  return (
    <div class="menu" ref={box}>
      {paused ? (
        <button
          type="button"
          class="button button-land"
          disabled={busy.value}
          onClick={() => void change(api.resume)}
        >
          <Icon name="play" />
          {t("protection.resume")}
        </button>
      ) : (
        <button
          ref={opener}
          type="button"
          class="button"
          aria-expanded={open.value}
          aria-controls="pause-menu"
          onClick={() => {
            open.value = !open.value;
          }}
        >
          <Icon name="pause" />
          {t("protection.pause")}
        </button>
      )}
      {open.value && (
        <div class="menu-sheet" id="pause-menu">
          <p class="menu-text">{t("protection.letPass")}</p>
          {PAUSES.map((pause) => (
            <button
              key={pause.seconds}
              type="button"
              class="menu-item"
              disabled={busy.value}
              onClick={() => void change(() => api.pause(pause.seconds))}
            >
              {t(pause.name)}
            </button>
          ))}
          {fault.value && <Notice tone="fault" fault={fault.value} />}
        </div>
      )}
    </div>
  );
}

export function PausedBanner() {
  const until = pausedUntil.value;
  if (!until) return null;
  const left = (until.getTime() - now.value.getTime()) / 1000;
  return (
    <div class="notice notice-land" role="status">
      <Icon name="pause" />
      <p>
        <Sentence
          of="protection.paused"
          values={{ until: minute(until), left: left > 0 && <span aria-hidden="true">{t("protection.left", { clock: countdown(left) })}</span> }}
        />
      </p>
    </div>
  );
}
