// What editing a profile and editing a group have in common: read once, changed as a whole, sent
// with the revision that was read, and kept if somebody else was quicker.

import { useSignal, type Signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { api } from "../api";
import type { Group, GroupSettings, Profiles } from "../client-model";
import { differences, merged, mergedText } from "../drafts";
import { printable } from "../format";
import { t } from "../i18n";
import type { Reloaded, TriedChange } from "../model";
import { go, told } from "../state";
import { Notice } from "./notice";
import { useAct, type Act } from "./act";
import { TrialOutcome, TryButton, useTrial } from "./tried";

/** One kind of what is edited: S as it is sent, D as it is typed. */
export interface EditKind<S extends GroupSettings, D> {
  what: "profile" | "group";
  empty: S;
  find: (known: Profiles, name: string) => (S & Pick<Group, "made_here">) | undefined;
  draft: (settings: S) => D;
  settings: (draft: D) => S;
  tried: (was: string | null, settings: S) => TriedChange;
  put: (revision: string, was: string | null, settings: S) => Promise<Reloaded>;
  remove: (revision: string, name: string) => Promise<Reloaded>;
}

/** What is known and typed of one profile or group. */
interface State<D> extends Act {
  known: Signal<Profiles | null>;
  draft: Signal<D | null>;
  /** It is there, and set in the configuration's file. */
  isFixed: Signal<boolean>;
  /** No such thing is there. */
  isMissing: Signal<boolean>;
  done: Signal<string | null>;
  /** What loading again has brought; null if that was not needed. */
  meanwhile: Signal<string | null>;
}

export interface Editing<D> extends State<D> {
  isChanged: boolean;
  /** What is typed, as a change to be tried. */
  tried: () => TriedChange;
  change: (part: Partial<D>) => void;
  save: (event: Event) => Promise<boolean>;
  remove: () => Promise<boolean>;
  loadAgain: () => Promise<boolean>;
  discard: () => Promise<boolean>;
}

function useEditState<D>(): State<D> {
  return {
    known: useSignal<Profiles | null>(null),
    draft: useSignal<D | null>(null),
    isFixed: useSignal(false),
    isMissing: useSignal(false),
    ...useAct(),
    done: useSignal<string | null>(null),
    meanwhile: useSignal<string | null>(null),
  };
}

/** Reads what is there now, and returns it without what only the reader knows. */
async function read<S extends GroupSettings, D>(kind: EditKind<S, D>, name: string | null, state: State<D>): Promise<S | null> {
  const known = await api.profiles();
  state.known.value = known;
  if (name === null) return kind.empty;
  const there = kind.find(known, name);
  state.isFixed.value = there !== undefined && !there.made_here;
  if (!there) return null;
  const { made_here: _made_here, ...settings } = there;
  return settings as unknown as S;
}

function leave(text: string): void {
  told.value = text;
  go("clients");
}

export function useEditing<S extends GroupSettings, D>(kind: EditKind<S, D>, name: string | null): Editing<D> {
  const state = useEditState<D>();
  const { known, draft, done, meanwhile } = state;
  const base = useRef<S>(kind.empty);
  /** Its name where it is kept; null while it is new, or was removed meanwhile. */
  const was = useRef<string | null>(name);
  const begin = (there: S | null): void => {
    was.current = there === null ? null : name;
    base.current = there ?? kind.empty;
  };
  const load = (): Promise<boolean> =>
    state.act(async () => {
      const there = await read(kind, name, state);
      state.isMissing.value = there === null;
      begin(there);
      draft.value = kind.draft(base.current);
      meanwhile.value = null;
    });
  useEffect(() => {
    void load();
  }, []);

  const save = (event: Event): Promise<boolean> => {
    event.preventDefault();
    return state.act(async () => {
      if (!known.value || !draft.value) return;
      const settings = kind.settings(draft.value);
      const { rules } = await kind.put(known.value.revision, was.current, settings);
      const text = t("editing.saved", { rules: t("units.rules", { count: rules }) });
      // A name is a place: where it is another, this one is no more.
      if (settings.name !== name) return leave(`${settings.name}: ${text}`);
      begin((await read(kind, name, state)) ?? settings);
      draft.value = kind.draft(base.current);
      meanwhile.value = null;
      done.value = text;
    });
  };
  const remove = (): Promise<boolean> =>
    state.act(async () => {
      if (!known.value || was.current === null) return;
      await kind.remove(known.value.revision, was.current);
      leave(t("editing.removed", { name: was.current }));
    });
  const loadAgain = (): Promise<boolean> =>
    state.act(async () => {
      const before = base.current;
      const there = await read(kind, name, state);
      begin(there);
      if (draft.value) meanwhile.value = joinTheirs(kind, draft as Signal<D>, before, there);
    });

  const change = (part: Partial<D>): void => {
    if (draft.value) draft.value = { ...draft.value, ...part };
    done.value = null;
  };
  // As it comes back from a draft, so that only what was typed differs.
  const unchanged = kind.settings(kind.draft(base.current));
  const isChanged = draft.value !== null && differences(kind.settings(draft.value), unchanged).length > 0;
  const tried = (): TriedChange => kind.tried(was.current, kind.settings(draft.value ?? kind.draft(kind.empty)));
  return { ...state, isChanged, tried, change, save, remove, loadAgain, discard: load };
}

/** Takes over what somebody else changed, and says so. */
function joinTheirs<S extends GroupSettings, D>(kind: EditKind<S, D>, draft: Signal<D>, before: S, there: S | null): string {
  if (there === null) return t("editing.goneMeanwhile");
  const drafted = (settings: S): S => kind.settings(kind.draft(settings));
  const both = merged(drafted(before), kind.settings(draft.value), drafted(there));
  draft.value = kind.draft(both.settings);
  return mergedText(both);
}

/** What went wrong or well, and what to do if somebody else was quicker. */
export function EditNotices<D>({ edit }: { edit: Editing<D> }) {
  const fault = edit.fault.value;
  return (
    <>
      {fault && (
        <Notice tone="fault" fault={fault}>
          {fault.kind === "changed" && (
            <button type="button" class="button notice-button" disabled={edit.busy.value} onClick={() => void edit.loadAgain()}>
              {t("editing.loadAgain")}
            </button>
          )}
        </Notice>
      )}
      {edit.meanwhile.value && (
        <Notice tone="land">
          <p>{edit.meanwhile.value}</p>
        </Notice>
      )}
      {edit.done.value && (
        <Notice tone="good">
          <p>{printable(edit.done.value)}</p>
        </Notice>
      )}
    </>
  );
}

/** The buttons at the end; removing asks back. */
export function EditFoot<D>({ edit, name, warning }: { edit: Editing<D>; name: string | null; warning: string }) {
  const asks = useSignal(false);
  const trial = useTrial(edit.draft.value);
  const keep = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (asks.value) keep.current?.focus();
  }, [asks.value]);
  if (asks.value) {
    return (
      <div class="foot foot-asks" role="group" aria-label={t("editing.really")}>
        <p>
          {t("editing.removeQuestion", { name: printable(name ?? ""), warning })}
        </p>
        <button type="button" class="button button-main" disabled={edit.busy.value} onClick={() => void edit.remove()}>
          {t("words.remove")}
        </button>
        <button
          ref={keep}
          type="button"
          class="button"
          onClick={() => {
            asks.value = false;
          }}
        >
          {t("words.keep")}
        </button>
      </div>
    );
  }
  return (
    <>
      <TrialOutcome trial={trial} />
      <div class="foot">
        <button type="submit" class="button button-main" disabled={edit.busy.value || (name !== null && !edit.isChanged)}>
          {edit.busy.value ? t("words.saving") : t("words.save")}
        </button>
        {edit.isChanged && <TryButton trial={trial} change={edit.tried} disabled={edit.busy.value} />}
        {edit.isChanged && (
          <button type="button" class="button button-bare" onClick={() => void edit.discard()}>
            {t("words.discard")}
          </button>
        )}
        {name !== null && (
          <button
            type="button"
            class="button button-bare foot-end"
            onClick={() => {
              asks.value = true;
            }}
          >
            {t("words.removeDots")}
          </button>
        )}
      </div>
    </>
  );
}
