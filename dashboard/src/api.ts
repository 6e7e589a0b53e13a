// The typed client of the admin API. It refuses to guess: whatever is not the expected JSON becomes
// a `Fault` that says what is wrong and what to do. Called by the views, and by nothing else.

import type { Bypass, BypassRange } from "./bypass-model";
import type { ClientActivity, Clients, GroupOrder, ProfileOrder, Profiles, RemoveOrder } from "./client-model";
import type {
  Applied,
  ApplyOrder,
  ChangeDetails,
  ChangeInfo,
  CheckedDraft,
  ConfigFiles,
  DraftFile,
  EditDraft,
  EditedDraft,
  FilesProblem,
  Schema,
} from "./config-model";
import type { FleetEdges, FleetRequests, FleetRevisions, FleetStatistics, FleetWhy } from "./fleet-model";
import type { FirstRun, FirstRunAnswer, FirstRunOrder } from "./first-run-model";
import { asSentence } from "./format";
import { t } from "./i18n";
import type {
  Action,
  CacheIndex,
  CacheQuery,
  ClientTrust,
  List,
  ListUpdated,
  NewList,
  Origin,
  Overlaps,
  Override,
  OverrideOrder,
  OwnRules,
  Paused,
  Pool,
  Problem,
  Range,
  Reloaded,
  RequestPage,
  RequestsQuery,
  Series,
  Status,
  TakeBack,
  TopTable,
  TopWhat,
  Totals,
  TriedChange,
  TriedOutcome,
  Upstream,
  Why,
  WhyQuery,
} from "./model";
import type {
  ApiToken,
  AuditPage,
  Credentials,
  MadeToken,
  Me,
  NewToken,
  NewUser,
  SignedIn,
  SignInOffer,
  TotpStart,
  User,
  UserChange,
} from "./user-model";

import { wordsOf } from "./statistics";
import type { Statistics, StatisticsWords } from "./statistics-model";
import type { PageVisits } from "./visit-model";

/** What was looked at was changed meanwhile, where it is "changed". */
export type FaultKind = "signed-out" | "unreachable" | "refused" | "changed";

/** What some calls say besides of why they did not work. */
interface FaultMore {
  needsCode?: boolean;
  missing?: boolean;
  files?: FilesProblem;
}

/** Why a call did not work, with the remedy to show beside it. */
export class Fault extends Error {
  readonly kind: FaultKind;
  readonly remedy: string;
  readonly complaints: string[];
  /** The password was right, and a code is missing or wrong. */
  readonly needsCode: boolean;
  /** There is no such thing. */
  readonly missing: boolean;
  /** What a refused change of the configuration's files says besides. */
  readonly files: FilesProblem;

  constructor(kind: FaultKind, message: string, remedy: string, complaints: string[] = [], more: FaultMore = {}) {
    super(message);
    this.kind = kind;
    this.remedy = remedy;
    this.complaints = complaints;
    this.needsCode = more.needsCode ?? false;
    this.missing = more.missing ?? false;
    this.files = more.files ?? {};
  }
}

/** Answers are small; one that takes longer than this is not coming. */
const TIMEOUT_MS = 10_000;
/** A reload reads and compiles every list first. */
const RELOAD_TIMEOUT_MS = 60_000;
/** A list is waited for as long; the program itself waits a minute. */
const FETCH_TIMEOUT_MS = 70_000;

let whenSignedOut: () => void = () => undefined;
let whenDenied: () => void = () => undefined;

/** Says what to do once the session is over: show the login. */
export function onSignedOut(action: () => void): void {
  whenSignedOut = action;
}

/** Says what to do where a role is not enough: it may be another one meanwhile. */
export function onDenied(action: () => void): void {
  whenDenied = action;
}

type Words = Record<string, string | number | null | undefined>;

/** A path with its query; empty and missing words are left out. */
export function withQuery(path: string, words: Words): string {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(words)) {
    if (value !== "" && value !== null && value !== undefined) query.set(key, String(value));
  }
  const text = query.toString();
  return text ? `${path}?${text}` : path;
}

function isProblem(body: unknown): body is Problem {
  return typeof body === "object" && body !== null && typeof (body as Problem).error === "string";
}

function isAbort(fault: unknown): boolean {
  return fault instanceof DOMException && fault.name === "AbortError";
}

async function bodyOf(response: Response): Promise<unknown> {
  const text = await response.text();
  if (text === "") return null;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}

async function call<T>(path: string, init: RequestInit, timeout = TIMEOUT_MS): Promise<T> {
  const deadline = AbortSignal.timeout(timeout);
  const signal = init.signal ? AbortSignal.any([init.signal, deadline]) : deadline;
  let response: Response;
  let body: unknown;
  try {
    response = await fetch(path, { ...init, signal, credentials: "same-origin", cache: "no-store" });
    body = await bodyOf(response);
  } catch (fault) {
    if (isAbort(fault)) throw fault;
    throw new Fault(
      "unreachable",
      t("faults.noAnswer"),
      t("faults.noAnswerRemedy"),
    );
  }
  if (response.ok) return body as T;
  const problem = isProblem(body) ? body : null;
  if (response.status === 401 && path === "login") {
    throw new Fault(
      "signed-out",
      asSentence(problem?.error ?? t("faults.notRight")),
      asSentence(problem?.remedy ?? ""),
      [],
      { needsCode: problem?.needs === "code" },
    );
  }
  if (response.status === 401) {
    whenSignedOut();
    throw new Fault("signed-out", t("faults.signedOut"), t("faults.signedOutRemedy"));
  }
  if (response.status === 403) whenDenied();
  throw new Fault(
    response.status === 409 ? "changed" : "refused",
    asSentence(problem?.error ?? t("faults.answered", { status: String(response.status), text: response.statusText })),
    asSentence(problem?.remedy ?? t("faults.answeredRemedy")),
    problem?.complaints ?? [],
    { files: (problem as FilesProblem | null) ?? {}, missing: response.status === 404 },
  );
}

/** The same with a remedy for people: that of the API is for programs. */
function signInFault({ kind, message, needsCode }: Fault, credentials: Credentials): Fault {
  const remedy = needsCode
    ? t("faults.codeRemedy")
    : "token" in credentials
      ? t("faults.tokenRemedy")
      : t("faults.passwordRemedy");
  return new Fault(kind, message, remedy, [], { needsCode });
}

const get = <T>(path: string, signal?: AbortSignal): Promise<T> =>
  call<T>(path, signal ? { signal } : {});

/** The answer, or null where there is no such thing. */
const orNull = <T>(answer: Promise<T>): Promise<T | null> =>
  answer.catch((thrown: unknown) => {
    if (thrown instanceof Fault && thrown.missing) return null;
    throw thrown;
  });

const send = <T>(method: "POST" | "PUT", path: string, body: unknown, timeout?: number): Promise<T> =>
  call<T>(
    path,
    {
      method,
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    },
    timeout,
  );

const post = <T>(path: string, body: unknown, timeout?: number): Promise<T> => send<T>("POST", path, body, timeout);

export const PAGE_ROWS = 60;
/** Rows of all machines together. */
const FLEET_ROWS = 100;

export const api = {
  signInOffer: () => get<SignInOffer>("api/sign-in"),
  login: (credentials: Credentials) =>
    post<unknown>("login", credentials).catch((thrown: unknown) => {
      throw thrown instanceof Fault && thrown.kind === "signed-out" ? signInFault(thrown, credentials) : thrown;
    }),
  logout: () => post<unknown>("logout", {}),
  status: (signal?: AbortSignal) => get<Status>("api/status", signal),
  totals: (range: Range, signal?: AbortSignal) =>
    get<Totals>(withQuery("api/totals", { range }), signal),
  series: (range: Range, signal?: AbortSignal) =>
    get<Series>(withQuery("api/series", { range }), signal),
  top: (what: TopWhat, range: Range, limit: number, signal?: AbortSignal) =>
    get<TopTable>(withQuery("api/top", { what, range, limit }), signal),
  statistics: (asked: StatisticsWords, signal?: AbortSignal) =>
    get<Statistics>(withQuery("api/statistics", wordsOf(asked)), signal),
  requests: (query: RequestsQuery, before: number | null, signal?: AbortSignal) =>
    get<RequestPage>(
      withQuery("api/requests", { ...query, before, limit: PAGE_ROWS }),
      signal,
    ),
  why: (query: WhyQuery, signal?: AbortSignal) =>
    get<Why>(withQuery("api/why", { ...query }), signal),
  lists: (signal?: AbortSignal) => get<{ lists: List[] }>("api/lists", signal),
  overlaps: (signal?: AbortSignal) => get<Overlaps>("api/lists/overlaps", signal),
  addList: (list: NewList) => post<Reloaded>("api/lists", list, RELOAD_TIMEOUT_MS),
  removeList: (name: string) => post<Reloaded>("api/lists/remove", { name }, RELOAD_TIMEOUT_MS),
  switchList: (name: string, on: boolean) => post<Reloaded>("api/lists/switch", { name, on }, RELOAD_TIMEOUT_MS),
  fetchList: (list: string) => post<ListUpdated>("api/lists/update", { list }, FETCH_TIMEOUT_MS),
  ownRules: (signal?: AbortSignal) => get<OwnRules>("api/rules", signal),
  setOwnRules: (rules: OwnRules) => send<Reloaded>("PUT", "api/rules", rules, RELOAD_TIMEOUT_MS),
  checkRules: (text: string) => post<List>("api/rules/check", { text }),
  tryChange: (change: TriedChange) => post<TriedOutcome>("api/replay", change, RELOAD_TIMEOUT_MS),
  origins: (signal?: AbortSignal) => get<{ origins: Origin[] }>("api/origins", signal),
  pools: (signal?: AbortSignal) => get<{ pools: Pool[] }>("api/pools", signal),
  cache: (query: CacheQuery, signal?: AbortSignal) =>
    get<CacheIndex>(withQuery("api/cache", { ...query }), signal),
  purgeStored: (what: TakeBack) => post<unknown>("api/stores/purge", what),
  upstreams: (signal?: AbortSignal) => get<{ upstreams: Upstream[] }>("api/upstreams", signal),
  trust: (signal?: AbortSignal) => get<{ clients: ClientTrust[] }>("api/trust", signal),
  allows: (signal?: AbortSignal) => get<{ allows: Override[] }>("api/allows", signal),
  blocks: (signal?: AbortSignal) => get<{ blocks: Override[] }>("api/blocks", signal),
  override: (action: Action, order: OverrideOrder) =>
    post<Override>(action === "block" ? "api/block" : "api/allow", order),
  endOverride: (action: Action, { host, client, profile }: Override) =>
    post<unknown>(action === "block" ? "api/unblock" : "api/revoke", { host, client, profile }),
  clients: (range: Range, signal?: AbortSignal) => get<Clients>(withQuery("api/clients", { range }), signal),
  activity: (client: string, range: Range, signal?: AbortSignal) =>
    get<ClientActivity>(withQuery("api/clients/activity", { client, range }), signal),
  fleetRevisions: (signal?: AbortSignal) => orNull(get<FleetRevisions>("api/fleet/revisions", signal)),
  fleetEdges: (signal?: AbortSignal) => orNull(get<FleetEdges>("api/fleet/edges", signal)),
  fleetWhy: (query: WhyQuery, signal?: AbortSignal) => get<FleetWhy>(withQuery("api/fleet/why", { ...query }), signal),
  /** Rows of one machine, or of all. */
  fleetRequests: (query: RequestsQuery, edge: string, signal?: AbortSignal) =>
    get<FleetRequests>(withQuery("api/fleet/requests", { ...query, edge, limit: FLEET_ROWS }), signal),
  fleetStatistics: (range: Range, edge: string, signal?: AbortSignal) => get<FleetStatistics>(withQuery("api/fleet/statistics", { range, edge }), signal),
  bypass: (range: BypassRange, signal?: AbortSignal) => get<Bypass>(withQuery("api/bypass", { range }), signal),
  pages: (asked: { client: string; site: string; at: string; range: string }, signal?: AbortSignal) =>
    get<PageVisits>(withQuery("api/pages", asked), signal),
  firstRun: (address: string, signal?: AbortSignal) => get<FirstRun>(withQuery("api/first-run", { address }), signal),
  writeFirstRun: (order: FirstRunOrder) => post<FirstRunAnswer>("api/first-run", order, RELOAD_TIMEOUT_MS),
  confirmFirstRun: () => post<unknown>("api/first-run/confirm", {}),
  profiles: (signal?: AbortSignal) => get<Profiles>("api/profiles", signal),
  putProfile: (order: ProfileOrder) => send<Reloaded>("PUT", "api/profiles", order, RELOAD_TIMEOUT_MS),
  removeProfile: (order: RemoveOrder) => post<Reloaded>("api/profiles/remove", order, RELOAD_TIMEOUT_MS),
  putGroup: (order: GroupOrder) => send<Reloaded>("PUT", "api/groups", order, RELOAD_TIMEOUT_MS),
  removeGroup: (order: RemoveOrder) => post<Reloaded>("api/groups/remove", order, RELOAD_TIMEOUT_MS),
  me: (signal?: AbortSignal) => get<Me>("api/me", signal),
  changePassword: (password: string, new_password: string) => post<unknown>("api/me/password", { password, new_password }),
  beginTotp: (password: string) => post<TotpStart>("api/me/totp", { password }),
  confirmTotp: (code: string) => post<{ recovery_codes: string[] }>("api/me/totp/confirm", { code }),
  removeTotp: (password: string) => post<unknown>("api/me/totp/remove", { password }),
  users: (signal?: AbortSignal) => get<{ users: User[] }>("api/users", signal),
  addUser: (user: NewUser) => post<unknown>("api/users", user),
  changeUser: (change: UserChange) => post<unknown>("api/users/change", change),
  removeUser: (name: string) => post<unknown>("api/users/remove", { name }),
  sessions: (signal?: AbortSignal) => get<{ sessions: SignedIn[] }>("api/sessions", signal),
  endSessions: (which: { id: string } | { user: string }) => post<unknown>("api/sessions/end", which),
  tokens: (signal?: AbortSignal) => get<{ tokens: ApiToken[] }>("api/tokens", signal),
  makeToken: (token: NewToken) => post<MadeToken>("api/tokens", token),
  removeToken: (id: string) => post<unknown>("api/tokens/remove", { id }),
  audit: (filter: string, before: number | null, signal?: AbortSignal) =>
    get<AuditPage>(withQuery("api/audit", { filter, before, limit: PAGE_ROWS }), signal),
  configFiles: (signal?: AbortSignal) => get<ConfigFiles>("api/configuration/files", signal),
  configSchema: () => get<Schema>("api/configuration/schema"),
  clearLog: () => post<unknown>("api/requests/clear", {}, RELOAD_TIMEOUT_MS),
  configReplay: (files: DraftFile[]) => post<TriedOutcome>("api/configuration/replay", { files }, RELOAD_TIMEOUT_MS),
  configCheck: (files: DraftFile[]) => post<CheckedDraft>("api/configuration/check", { files }, RELOAD_TIMEOUT_MS),
  configEdit: (draft: EditDraft) => post<EditedDraft>("api/configuration/edit", draft),
  configApply: (order: ApplyOrder) => post<Applied>("api/configuration/apply", order, RELOAD_TIMEOUT_MS),
  configHistory: (signal?: AbortSignal) =>
    get<{ changes: ChangeInfo[]; trouble: string | null }>("api/configuration/history", signal),
  configChange: (number: number) => get<ChangeDetails>(`api/configuration/history/${number}`),
  configRestore: (number: number, why: string, confirm: boolean) =>
    post<Applied>(`api/configuration/history/${number}/restore`, { why, confirm }, RELOAD_TIMEOUT_MS),
  reload: () => post<Reloaded>("api/reload", {}, RELOAD_TIMEOUT_MS),
  pause: (seconds: number) => post<Paused>("api/pause", { seconds }),
  resume: () => post<Paused>("api/resume", {}),
};

/** What to show for anything that was thrown. */
export function faultOf(thrown: unknown): Fault | null {
  if (thrown instanceof Fault) return thrown;
  if (isAbort(thrown)) return null;
  return new Fault("refused", String(thrown), t("faults.bug"));
}
