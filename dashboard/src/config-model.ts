// The JSON of the configuration's files: texts, what is wrong with them, and changes that are kept.

import type { Reloaded } from "./model";

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** One file of the running configuration. */
export interface ConfigFile {
  path: string;
  kind: "main" | "included" | "dashboard";
  text: string | null;
  revision: string;
  /** Its text is not the one in force. */
  changed: boolean;
  /** Why it cannot be written. */
  fixed: string | null;
  remedy: string | null;
}

export interface ConfigFiles {
  files: ConfigFile[];
  /** Why the configuration takes no changes at all. */
  fixed: string | null;
  remedy: string | null;
}

/** A text that a file is to have. */
export interface DraftFile {
  path: string;
  text: string;
  revision?: string;
}

export interface PlacedProblem {
  file: string;
  line: number;
  column: number;
  path: string;
  message: string;
  remedy: string | null;
}

export interface DraftDifference {
  path: string;
  before: Json;
  after: Json;
  takes: "reload" | "restart";
  text: string;
}

export interface CheckedDraft {
  complaints: PlacedProblem[];
  warnings: string[];
  differences: DraftDifference[];
  /** What must be said yes to. */
  asks: string[];
  lists_read: boolean;
}

/** A setting in the form that the file has it. */
export interface SettingEdit {
  path: string;
  value: string | null;
}

export interface WrittenValue {
  path: string;
  file: string;
  line: number;
  value: Json;
}

export interface EditDraft {
  files: DraftFile[];
  changes: SettingEdit[];
  read: string[];
}

export interface EditedDraft {
  files: DraftFile[];
  changed: WrittenValue[];
  read: WrittenValue[];
}

export interface ApplyOrder {
  files: DraftFile[];
  why: string;
  confirm: boolean;
}

export interface Applied {
  reload: Reloaded;
  number: number | null;
  /** What takes effect at the next start alone. */
  at_restart: string[];
  /** Seconds until it is taken back, unless somebody keeps it: it changes where the dashboard is reached. */
  confirm_within_s?: number | null;
  /** Where the dashboard is from now on, if that changes. */
  dashboard?: string | null;
}

/** What a refusal of a change says besides. */
export interface FilesProblem {
  places?: PlacedProblem[];
  changed?: ConfigFile[];
  asks?: string[];
}

export interface ChangeInfo {
  number: number;
  at: string;
  who: string;
  from: string | null;
  why: string;
  files: string[];
}

export interface ChangeDetails extends ChangeInfo {
  texts: { path: string; before: string | null; after: string | null }[];
}

/** The part of a JSON Schema that is looked at here. */
export interface Schema {
  $ref?: string;
  $defs?: Record<string, Schema>;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  type?: string | string[];
  properties?: Record<string, Schema>;
  additionalProperties?: boolean | Schema;
  items?: Schema;
  enum?: Json[];
  const?: Json;
  default?: Json;
  description?: string;
  examples?: Json[];
}
