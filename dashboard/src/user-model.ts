// The admin API's JSON about users, their sessions and tokens, and the audit log. Times as in
// `model.ts`.

import type { Role } from "./roles";

/** How one can sign in. */
export interface SignInOffer {
  /** Without any, only the token opens the dashboard. */
  users: boolean;
  single_sign_on?: SingleSignOn | null;
}

export interface SingleSignOn {
  name: string;
  path: string;
}

/** What one signs in with. */
export type Credentials = { token: string } | { user: string; password: string; code?: string };

/** Who is signed in. */
export interface Me {
  /** The user's name, that of a token, or `admin.token`. */
  name: string;
  kind: "user" | "token";
  role: Role;
  /** Signing in asks for a code as well. */
  totp: boolean;
  /** False for who only comes by single sign-on. */
  has_password: boolean;
}

/** A second step that was begun: it holds once a code was confirmed. */
export interface TotpStart {
  secret: string;
  uri: string;
  qr_svg: string;
}

export interface User {
  name: string;
  role: Role;
  totp: boolean;
  created: string;
  last_seen: string | null;
  sessions: number;
  single_sign_on: boolean;
}

export interface NewUser {
  name: string;
  role: Role;
  password: string;
}

export interface UserChange {
  name: string;
  role?: Role;
  password?: string;
  totp?: "off";
}

/** A browser that is signed in. */
export interface SignedIn {
  id: string;
  /** Null where it was begun by `admin.token`. */
  user: string | null;
  role: Role;
  began: string;
  seen: string;
  until: string;
  client: string;
  agent: string;
  /** The session of this very page. */
  own: boolean;
}

export type Scope = "metrics" | Role;

/** A token for programs, without its text. */
export interface ApiToken {
  id: string;
  name: string;
  scope: Scope;
  /** Null where `admin.token` made it. */
  owner: string | null;
  created: string;
  expires: string | null;
  last_used: string | null;
}

export interface NewToken {
  name: string;
  scope: Scope;
  /** Null for a token that does not end. */
  days: number | null;
}

/** A token that was made; its text is told this once. */
export interface MadeToken {
  id: string;
  token: string;
}

/** Something that somebody changed or tried to. */
export interface AuditEntry {
  n: number;
  at: string;
  /** The name that was tried, where nobody was let in. */
  who: string;
  kind: "user" | "token" | "nobody";
  role: Role | null;
  client: string;
  /** Method and path. */
  action: string;
  /** What was sent, without secrets. */
  body: unknown;
  status: number;
  error: string | null;
}

export interface AuditPage {
  entries: AuditEntry[];
  /** Where older entries go on; null if there are none. */
  older: number | null;
  /** Entries that a full disk has cost. */
  lost?: number;
}
