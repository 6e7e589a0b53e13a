// What is known of the configuration's files and typed into them. It outlives the view, so that a
// look at another page loses nothing; it is not kept when the page is closed.

import { computed, signal } from "@preact/signals";
import { api, faultOf, type Fault } from "./api";
import type { Applied, CheckedDraft, ConfigFile, ConfigFiles, DraftFile, Schema, SettingEdit, WrittenValue } from "./config-model";

/** Typing settles for this long before the texts are judged. */
const TYPING_MS = 400;

export const known = signal<ConfigFiles | null>(null);
export const schema = signal<Schema | null>(null);
/** Texts that differ from those of the files. */
export const drafts = signal<Readonly<Record<string, string>>>({});
export const checked = signal<CheckedDraft | null>(null);
export const checking = signal(false);
export const deskFault = signal<Fault | null>(null);
export const applied = signal<Applied | null>(null);
/** Files that somebody else has changed: theirs beside mine. */
export const conflicts = signal<ConfigFile[]>([]);
export const busy = signal(false);
/** Counts texts that came from elsewhere than the editor, which must show them. */
export const replaced = signal(0);

export const changedPaths = computed(() => Object.keys(drafts.value));

/** The text of a file as it stands on the desk. */
export function textOf(file: ConfigFile): string {
  return drafts.value[file.path] ?? file.text ?? "";
}

/** The last part of a path. */
export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** What stands on the desk, as the API takes it. */
export function draftFiles(): DraftFile[] {
  const revisions = new Map(known.value?.files.map((file) => [file.path, file.revision]));
  return Object.entries(drafts.value).map(([path, text]) => ({ path, text, revision: revisions.get(path) ?? "" }));
}

/** Reads the files anew; drafts stay. */
export async function loadDesk(): Promise<void> {
  try {
    const [files, found] = await Promise.all([api.configFiles(), schema.value ?? api.configSchema()]);
    known.value = files;
    schema.value = found;
    replaced.value += 1;
    deskFault.value = null;
    await check();
  } catch (thrown) {
    deskFault.value = faultOf(thrown);
  }
}

let timer: ReturnType<typeof setTimeout> | undefined;
let turn = 0;

/** Judges what stands on the desk. */
export async function check(): Promise<void> {
  clearTimeout(timer);
  turn += 1;
  const asked = turn;
  checking.value = true;
  try {
    const found = await api.configCheck(draftFiles());
    if (asked === turn) checked.value = found;
  } catch (thrown) {
    if (asked === turn) deskFault.value = faultOf(thrown);
  }
  if (asked === turn) checking.value = false;
}

/** Takes a text that was typed. */
export function type(path: string, text: string): void {
  const file = known.value?.files.find((one) => one.path === path);
  const next = { ...drafts.value };
  if (file?.text === text) delete next[path];
  else next[path] = text;
  drafts.value = next;
  applied.value = null;
  deskFault.value = null;
  // What was found no longer holds where it stood.
  turn += 1;
  checking.value = true;
  clearTimeout(timer);
  timer = setTimeout(() => void check(), TYPING_MS);
}

/** Lays texts on the desk, in the place of what was typed in the same files. */
export function putDown(texts: readonly { path: string; text: string }[]): void {
  for (const { path, text } of texts) type(path, text);
  replaced.value += 1;
}

export function discard(): void {
  drafts.value = {};
  conflicts.value = [];
  deskFault.value = null;
  void loadDesk();
}

/** Looks settings up in what stands on the desk. */
export async function read(paths: string[]): Promise<WrittenValue[]> {
  const answer = await api.configEdit({ files: draftFiles(), changes: [], read: paths });
  return answer.read;
}

/** Changes settings where they are written; says where. */
export async function edit(changes: SettingEdit[]): Promise<WrittenValue[]> {
  const answer = await api.configEdit({ files: draftFiles(), changes, read: [] });
  for (const file of answer.files) type(file.path, file.text);
  replaced.value += 1;
  await check();
  return answer.changed;
}

/** Writes what stands on the desk and puts it in force. */
export async function apply(why: string, confirm: boolean): Promise<boolean> {
  busy.value = true;
  let worked = false;
  try {
    applied.value = await api.configApply({ files: draftFiles(), why, confirm });
    drafts.value = {};
    conflicts.value = [];
    worked = true;
    await loadDesk();
  } catch (thrown) {
    const fault = faultOf(thrown);
    const changed = fault?.files.changed ?? [];
    if (changed.length > 0) conflicts.value = changed;
    if (fault?.files.places && checked.value) checked.value = { ...checked.value, complaints: fault.files.places };
    deskFault.value = fault;
  }
  busy.value = false;
  return worked;
}

/** Goes on from the files as they are now, with the texts that were joined. */
export function settle(joined: Readonly<Record<string, string>>): void {
  const files = known.value;
  if (!files) return;
  const theirs = new Map(conflicts.value.map((file) => [file.path, file]));
  known.value = { ...files, files: files.files.map((file) => theirs.get(file.path) ?? file) };
  conflicts.value = [];
  deskFault.value = null;
  putDown(Object.entries(joined).map(([path, text]) => ({ path, text })));
}

/** A value as it is written: plain where that is read as the same text, else in quotes. */
export function written(text: string): string {
  const isPlain = /^[A-Za-z][\w.+/:-]*[\w/]$/.test(text) && !/^(?:true|false|null|yes|no|on|off)$/i.test(text);
  return isPlain ? text : JSON.stringify(text);
}
