// A copy of all settings in one file: what is in it, and what of it differs from the settings here. Pure.

import type { ConfigFile } from "./config-model";

/** Word by which a copy is known. */
const KIND = "tidegate-settings";
const FORMAT = 1;
/** Bytes of a copy that are read: more than all texts that the API takes. */
export const COPY_BYTES_MAX = 64 << 20;
/** File of own rules, beside the dashboard's. */
const OWN_RULES = "own-rules.txt";

export interface CopiedFile {
  path: string;
  kind: ConfigFile["kind"];
  text: string;
}

export interface SettingsCopy {
  kind: typeof KIND;
  format: number;
  version: string;
  made: string;
  files: CopiedFile[];
  own_rules: string;
}

/** One file of a copy beside the file that it would replace. */
export interface CopyLine {
  from: string;
  /** Path of the file here; none where the configuration has no such file. */
  path: string | null;
  state: "differs" | "same" | "unknown";
  /** Its text, as it would stand here. */
  text: string;
}

/** A copy of what stands in the files; one that was never written is not in it. */
export function settingsCopy(files: readonly ConfigFile[], ownRules: string, version: string, now: Date): SettingsCopy {
  const copied = files.flatMap(({ path, kind, text }) => (text === null || isUnwritten({ kind, text }) ? [] : [{ path, kind, text }]));
  return { kind: KIND, format: FORMAT, version, made: now.toISOString(), files: copied, own_rules: ownRules };
}

/** The dashboard's file while nothing was set there. */
export function isUnwritten({ kind, text }: Pick<ConfigFile, "kind" | "text">): boolean {
  return kind === "dashboard" && text === "";
}

/** Reads a copy; none where it is something else. */
export function readCopy(text: string): SettingsCopy | null {
  let read: unknown;
  try {
    read = JSON.parse(text);
  } catch {
    return null;
  }
  const copy = read as Partial<SettingsCopy> | null;
  const isFile = (file: Partial<CopiedFile> | null): boolean =>
    typeof file?.path === "string" && typeof file.text === "string" && (file.kind === "main" || file.kind === "included" || file.kind === "dashboard");
  const isCopy = copy?.kind === KIND && copy.format === FORMAT && Array.isArray(copy.files) && copy.files.every(isFile) && typeof copy.own_rules === "string";
  if (!isCopy) return null;
  const word = (value: unknown): string => (typeof value === "string" ? value : "");
  return { ...(copy as SettingsCopy), version: word(copy.version), made: word(copy.made) };
}

/** Every file of a copy beside those here: by its kind, or by its place beside the first one. */
export function copyLines(copy: SettingsCopy, files: readonly ConfigFile[]): CopyLine[] {
  const folder = (of: readonly Pick<ConfigFile, "kind" | "path">[], kind: ConfigFile["kind"]): string => folderOf(of.find((file) => file.kind === kind)?.path ?? "");
  const there = (kind: ConfigFile["kind"]): string => folder(copy.files, kind);
  const here = (kind: ConfigFile["kind"]): string => folder(files, kind);
  return copy.files.map((copied) => {
    const moved = here("main") + copied.path.slice(there("main").length);
    const isBelow = copied.path.startsWith(there("main"));
    const file =
      copied.kind === "included"
        ? files.find(({ kind, path }) => kind === "included" && (path === copied.path || (isBelow && path === moved)))
        : files.find(({ kind }) => kind === copied.kind);
    // Own rules are named by the place that they have.
    const text = copied.kind === "dashboard" ? copied.text.replaceAll(there("dashboard") + OWN_RULES, here("dashboard") + OWN_RULES) : copied.text;
    const state = file === undefined ? "unknown" : file.text === text ? "same" : "differs";
    return { from: copied.path, path: file?.path ?? null, state, text };
  });
}

/** The folder of a path, with its last slash. */
function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/") + 1);
}

/** Name of the file that a copy is saved in. */
export function copyName(now: Date): string {
  return `tidegate-settings-${now.toISOString().slice(0, 10)}.json`;
}
