// Pausing protection and taking it up again: the button in the header and the banner below it.

import { api } from "../api";
import { countdown, minute } from "../format";
import { may, now, pausedUntil, refreshStatus, status } from "../state";
import { useAct } from "./act";
import { Icon } from "./icons";
import { useMenu } from "./menu";
import { Notice } from "./notice";

export const PAUSES = [
  { seconds: 300, name: "for 5 minutes" },
  { seconds: 3600, name: "for 1 hour" },
];

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
          Resume
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
          Pause
        </button>
      )}
      {open.value && (
        <div class="menu-sheet" id="pause-menu">
          <p class="menu-text">Let everything pass</p>
          {PAUSES.map((pause) => (
            <button
              key={pause.seconds}
              type="button"
              class="menu-item"
              disabled={busy.value}
              onClick={() => void change(() => api.pause(pause.seconds))}
            >
              {pause.name}
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
        <strong>Protection is paused.</strong> Everything passes until {minute(until)}
        {left > 0 && <span aria-hidden="true">; {countdown(left)} left</span>}.
      </p>
    </div>
  );
}
