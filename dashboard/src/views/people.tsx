// The people: users with what they may, all sessions, all tokens, and the audit log. For
// administrators.

import { api } from "../api";
import { moment, plural, printable } from "../format";
import { AddUser } from "../parts/add-user";
import { AuditLog } from "../parts/audit-log";
import { Empty, Notice } from "../parts/notice";
import { Panel } from "../parts/panel";
import { ReadOnly } from "../parts/read-only";
import { SessionList } from "../parts/sessions";
import { MakeToken, TokenList } from "../parts/tokens";
import { usePolled } from "../poll";
import { ROLE_TEXT } from "../roles";
import { routeHash } from "../route";
import { may, me, route, today } from "../state";
import type { User } from "../user-model";
import { UserView } from "./user";

const USERS_EVERY_MS = 10_000;

const PARTS = [
  { show: "", name: "Users" },
  { show: "sessions", name: "Sessions" },
  { show: "tokens", name: "Tokens" },
  { show: "audit", name: "Audit log" },
] as const;

export function PeopleView() {
  const { words } = route.value;
  if (!may("administrator")) {
    return (
      <>
        <div class="view-head">
          <h1>People</h1>
        </div>
        <ReadOnly needs="administrator" can="see and change who comes in" />
      </>
    );
  }
  if (words["user"]) return <UserView key={words["user"]} name={words["user"]} />;
  const shown = PARTS.find((part) => part.show === words["show"])?.show ?? "";
  return (
    <>
      <div class="view-head">
        <h1>People</h1>
        <nav class="choice parts" aria-label="Of the people">
          {PARTS.map((part) => (
            <a key={part.show} href={routeHash("people", { show: part.show })} aria-current={part.show === shown ? "page" : undefined}>
              {part.name}
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
            <section class="panel hero" aria-label="Users">
              <Empty title="Only the token opens this Tidegate">
                Add yourself as an administrator. Everybody then comes in by a name of their own, with what they may, and the audit log says who did
                what. The token stays as a way in.
              </Empty>
            </section>
          ) : (
            <section class="panel panel-flush" aria-label="Users">
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
          <th scope="col">Name</th>
          <th scope="col">Role</th>
          <th scope="col">Two-step</th>
          <th scope="col">Last seen</th>
          <th scope="col" class="number">
            Sessions
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
              {me.value?.kind === "user" && me.value.name === user.name && <span class="tag">you</span>}
            </td>
            <td class="u-role">{ROLE_TEXT[user.role].name}</td>
            <td class="u-totp">
              <Step user={user} />
            </td>
            <td class="u-seen">{user.last_seen === null ? <span class="quiet">never</span> : moment(user.last_seen, today.value)}</td>
            <td class="number u-sessions">{user.sessions}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Step({ user }: { user: User }) {
  if (user.single_sign_on) return <span class="quiet">single sign-on</span>;
  return user.totp ? <span class="tag">on</span> : <span class="quiet u-off">off</span>;
}

function AllSessions() {
  const asked = usePolled("sessions", USERS_EVERY_MS, (signal) => api.sessions(signal));
  const sessions = asked.data?.sessions ?? [];
  return (
    <>
      {asked.fault && asked.fault.kind === "refused" && <Notice tone="fault" fault={asked.fault} />}
      {asked.data && (
        <Panel id="all-sessions" title={`${plural(sessions.length, "browser is", "browsers are")} signed in`}>
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
        <Panel id="all-tokens" title="Tokens of programs">
          {tokens.length === 0 && <p class="quiet">None yet. A program with one does what its scope allows, without a user and a browser.</p>}
          <TokenList tokens={tokens} withOwner onChanged={asked.refresh} />
          <MakeToken onMade={asked.refresh} />
        </Panel>
      )}
    </>
  );
}
