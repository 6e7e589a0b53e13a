// The palette: a line to type in, and below it what one may go to or do. The focus stays in the
// line; the arrows move the choice (the pattern "combobox with a listbox").

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { api, faultOf, type Fault } from "../api";
import { commands, offered, type Command, type Doing, type KnownThings, type Offered } from "../commands";

import { t } from "../i18n";
import { chooseLanguage, me, pausedUntil, range, refreshStatus, signOut, theme } from "../state";
import { openAside } from "./asides";
import { places } from "./header";
import { Icon } from "./icons";
import { Notice } from "./notice";
import { PAUSES } from "./protection";

const NOTHING: KnownThings = { clients: [], profiles: null, lists: [] };

/** Looks up what can be gone to. What cannot be had is left out: the rest is still of use. */
async function lookUp(): Promise<KnownThings> {
  const [clients, profiles, lists] = await Promise.allSettled([api.clients(range.value), api.profiles(), api.lists()]);
  return {
    clients: clients.status === "fulfilled" ? clients.value.clients : [],
    profiles: profiles.status === "fulfilled" ? profiles.value : null,
    lists: lists.status === "fulfilled" ? lists.value.lists : [],
  };
}

/** Does it; what it has to say afterwards, or null where the page shows it. */
async function run(doing: Doing): Promise<string | null> {
  switch (doing.does) {
    case "go":
      location.hash = doing.hash;
      return null;
    case "pause":
      await api.pause(doing.seconds);
      await refreshStatus();
      return null;
    case "resume":
      await api.resume();
      await refreshStatus();
      return null;
    case "reload": {
      const told = await api.reload();
      await refreshStatus();
      return t("palette.reloaded", { lists: t("units.lists", { count: told.lists }), rules: t("units.rules", { count: told.rules }), ms: told.took_ms });
    }
    case "theme":
      theme.value = doing.theme;
      return null;
    case "language":
      chooseLanguage(doing.language);
      return null;
    case "sign-out":
      await signOut();
      return null;
    case "keys":
      return null;
  }
}

function usePalette(onClose: () => void) {
  const typed = useSignal("");
  const at = useSignal(0);
  const known = useSignal<KnownThings>(NOTHING);
  const busy = useSignal(false);
  const done = useSignal<string | null>(null);
  const fault = useSignal<Fault | null>(null);
  useEffect(() => {
    void lookUp().then((told) => {
      known.value = told;
    });
  }, []);
  const ways = { role: me.value?.role ?? "viewer", paused: pausedUntil.value !== null, places: places(), pauses: PAUSES } as const;
  const shown = offered(typed.value, commands(ways, known.value));
  const choose = async (command: Command): Promise<void> => {
    if (busy.value) return;
    busy.value = true;
    done.value = null;
    fault.value = null;
    try {
      done.value = await run(command.doing);
      if (done.value === null) onClose();
      if (command.doing.does === "keys") openAside("keys");
    } catch (thrown) {
      fault.value = faultOf(thrown);
    }
    busy.value = false;
  };
  const type = (text: string): void => {
    typed.value = text;
    at.value = 0;
  };
  return { typed, at, busy, done, fault, shown, choose, type };
}

export function Palette({ onClose }: { onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const { typed, at, busy, done, fault, shown, choose, type } = usePalette(() => dialog.current?.close());
  useEffect(() => dialog.current?.showModal(), []);
  const chosen = shown[Math.min(at.value, shown.length - 1)];
  const press = (event: KeyboardEvent): void => {
    const to = moved(event.key, Math.min(at.value, shown.length - 1), shown.length);
    if (to !== null) {
      event.preventDefault();
      at.value = to;
    } else if (event.key === "Enter" && !event.isComposing) {
      event.preventDefault();
      if (chosen) void choose(chosen.command);
    }
  };
  return (
    // oxlint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/no-noninteractive-element-interactions -- Escape closes a dialog by itself
    <dialog
      ref={dialog}
      class="palette"
      aria-label={t("palette.title")}
      onClose={onClose}
      onClick={(event) => {
        if (event.target === dialog.current) dialog.current?.close();
      }}
    >
      <div class="palette-line">
        <Icon name="search" />
        <input
          class="palette-input"
          type="text"
          role="combobox"
          aria-label={t("palette.title")}
          aria-expanded={shown.length > 0}
          aria-controls="palette-list"
          aria-autocomplete="list"
          aria-activedescendant={chosen ? optionId(chosen) : undefined}
          placeholder={t("palette.placeholder")}
          autocomplete="off"
          autocapitalize="none"
          spellcheck={false}
          enterkeyhint="go"
          value={typed.value}
          onInput={(event) => type(event.currentTarget.value)}
          onKeyDown={press}
        />
        <button type="button" class="button button-bare button-square" aria-label={t("words.close")} onClick={() => dialog.current?.close()}>
          <Icon name="close" />
        </button>
      </div>
      {fault.value && <Notice tone="fault" fault={fault.value} />}
      {done.value && (
        <Notice tone="good">
          <p>{done.value}</p>
        </Notice>
      )}
      <div class="palette-list" id="palette-list" role="listbox" tabIndex={-1} aria-label={t("palette.fits")} aria-busy={busy.value}>
        {shown.map((one, n) => (
          <Option
            key={one.command.id}
            one={one}
            isChosen={one === chosen}
            onPoint={() => {
              at.value = n;
            }}
            onChoose={() => void choose(one.command)}
          />
        ))}
      </div>
      <p class="unseen" role="status">
        {t("palette.choices", { count: shown.length })}
      </p>
    </dialog>
  );
}

/** Where a key leads among so many; null if it does not. */
function moved(key: string, at: number, of: number): number | null {
  if (of === 0) return null;
  switch (key) {
    case "ArrowDown":
      return (at + 1) % of;
    case "ArrowUp":
      return (at + of - 1) % of;
    case "PageDown":
      return Math.min(at + 8, of - 1);
    case "PageUp":
      return Math.max(at - 8, 0);
    default:
      return null;
  }
}

/** Ids have no blanks. */
const optionId = ({ command }: Offered): string => `palette-${encodeURIComponent(command.id)}`;

interface OptionProps {
  one: Offered;
  isChosen: boolean;
  onPoint: () => void;
  onChoose: () => void;
}

function Option({ one, isChosen, onPoint, onChoose }: OptionProps) {
  const { command } = one;
  const item = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (isChosen) item.current?.scrollIntoView({ block: "nearest" });
  }, [isChosen]);
  return (
    // oxlint-disable-next-line jsx-a11y/click-events-have-key-events -- the line above takes the keys
    <div ref={item} id={optionId(one)} class="palette-option" role="option" tabIndex={-1} aria-selected={isChosen} onPointerMove={isChosen ? undefined : onPoint} onClick={onChoose}>
      <Icon name={command.icon} />
      <span class="palette-name">
        <Letters text={command.name} at={one.at} />
        {command.also && <span class="quiet"> {command.also}</span>}
      </span>
      <span class="palette-kind">{command.kind}</span>
    </div>
  );
}

/** A name with the letters that were typed marked. */
function Letters({ text, at }: { text: string; at: readonly number[] }) {
  const marked = new Set(at);
  const runs: { text: string; isMarked: boolean }[] = [];
  for (let n = 0; n < text.length; n++) {
    const isMarked = marked.has(n);
    const last = runs.at(-1);
    if (last && last.isMarked === isMarked) last.text += text.charAt(n);
    else runs.push({ text: text.charAt(n), isMarked });
  }
  return (
    <>
      {runs.map((run_, n) =>
        // oxlint-disable-next-line react/no-array-index-key -- the pieces never change places
        run_.isMarked ? <b key={n}>{run_.text}</b> : <span key={n}>{run_.text}</span>,
      )}
    </>
  );
}
