// The people: users with what they may, all sessions, all tokens, and the audit log. For
// administrators.

import { api } from "../api";
import { moment, printable } from "../format";
import { t } from "../i18n";
import { AddUser } from "../parts/add-user";
import { AuditLog } from "../parts/audit-log";
import { Empty, Notice } from "../parts/notice";
import { Panel } from "../parts/panel";
import { ReadOnly } from "../parts/read-only";
import { SessionList } from "../parts/sessions";
import { MakeToken, TokenList } from "../parts/tokens";
import { usePolled } from "../poll";
import { roleName } from "../roles";
import { routeHash } from "../route";
import { may, me, route, today } from "../state";
import type { User } from "../user-model";
import { UserView } from "./user";

const USERS_EVERY_MS = 10_000;

const PARTS = [
  { show: "", name: "people.parts.users" },
  { show: "sessions", name: "people.parts.sessions" },
  { show: "tokens", name: "people.parts.tokens" },
  { show: "audit", name: "people.parts.audit" },
] as const;

export function PeopleView() {
  const { words } = route.value;
  if (!may("administrator")) {
    return (
      <>
        <div class="view-head">
          <h1>{t("nav.people")}</h1>
        </div>
        <ReadOnly needs="administrator" can={t("people.can")} />
      </>
    );
  }
  if (words["user"]) return <UserView key={words["user"]} name={words["user"]} />;
  const shown = PARTS.find((part) => part.show === words["show"])?.show ?? "";
  return (
    <>
      <div class="view-head">
        <h1>{t("nav.people")}</h1>
        <nav class="choice parts" aria-label={t("people.ofThePeople")}>
          {PARTS.map((part) => (
            <a key={part.show} href={routeHash("people", { show: part.show })} aria-current={part.show === shown ? "page" : undefined}>
              {t(part.name)}
            </a>
          ))}
        </nav>
      </div>
      {shown === "" && <Users />}
      {shown === "sessions" && <AllSessions />}
      {shown === "tokens" && <AllTokens />}
      {shown === "audit" && <AuditLog />}
    </>
  );
}

function Users() {
  const asked = usePolled("users", USERS_EVERY_MS, (signal) => api.users(signal));
  const users = asked.data?.users;
  return (
    <>
      {asked.fault && asked.fault.kind === "refused" && <Notice tone="fault" fault={asked.fault} />}
      {users && (
        <div class={users.length === 0 ? "columns people-first" : "columns people-users"}>
          {users.length === 0 ? (
            <section class="panel hero" aria-label={t("people.parts.users")}>
              <Empty title={t("people.onlyToken")}>
                {t("people.onlyTokenText")}
              </Empty>
            </section>
          ) : (
            <section class="panel panel-flush" aria-label={t("people.parts.users")}>
              <UserTable users={users} />
            </section>
          )}
          <AddUser isFirst={users.length === 0} onAdded={asked.refresh} />
        </div>
      )}
    </>
  );
}

function UserTable({ users }: { users: readonly User[] }) {
  return (
    <table class="table users">
      <thead>
        <tr>
          <th scope="col">{t("words.name")}</th>
          <th scope="col">{t("words.role")}</th>
          <th scope="col">{t("people.twoStep")}</th>
          <th scope="col">{t("words.lastSeen")}</th>
          <th scope="col" class="number">
            {t("people.parts.sessions")}
          </th>
        </tr>
      </thead>
      <tbody>
        {users.map((user) => (
          <tr key={user.name} class="client">
            <td class="u-name">
              <a class="client-name" href={routeHash("people", { user: user.name })}>
                {printable(user.name)}
              </a>
              {me.value?.kind === "user" && me.value.name === user.name && <span class="tag">{t("people.you")}</span>}
            </td>
            <td class="u-role">{roleName(user.role)}</td>
            <td class="u-totp" data-name={t("people.twoStepShort")}>
              <Step user={user} />
            </td>
            <td class="u-seen">{user.last_seen === null ? <span class="quiet">{t("words.never")}</span> : moment(user.last_seen, today.value)}</td>
            <td class="number u-sessions">{user.sessions}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Step({ user }: { user: User }) {
  if (user.single_sign_on) return <span class="quiet">{t("people.singleSignOn")}</span>;
  return user.totp ? <span class="tag">{t("words.on")}</span> : <span class="quiet u-off">{t("words.off")}</span>;
}

function AllSessions() {
  const asked = usePolled("sessions", USERS_EVERY_MS, (signal) => api.sessions(signal));
  const sessions = asked.data?.sessions ?? [];
  return (
    <>
      {asked.fault && asked.fault.kind === "refused" && <Notice tone="fault" fault={asked.fault} />}
      {asked.data && (
        <Panel id="all-sessions" title={t("people.signedIn", { count: sessions.length })}>
          <SessionList sessions={sessions} withUser onChanged={asked.refresh} />
        </Panel>
      )}
    </>
  );
}

function AllTokens() {
  const asked = usePolled("tokens", USERS_EVERY_MS, (signal) => api.tokens(signal));
  const tokens = asked.data?.tokens ?? [];
  return (
    <>
      {asked.fault && asked.fault.kind === "refused" && <Notice tone="fault" fault={asked.fault} />}
      {asked.data && (
        <Panel id="all-tokens" title={t("people.tokensOfPrograms")}>
          {tokens.length === 0 && <p class="quiet">{t("people.noTokens")}</p>}
          <TokenList tokens={tokens} withOwner onChanged={asked.refresh} />
          <MakeToken onMade={asked.refresh} />
        </Panel>
      )}
    </>
  );
}
