// One user: what they may, their password and second step, their sessions and tokens.

import { useSignal } from "@preact/signals";
import { api } from "../api";
import { moment, printable } from "../format";
import { t } from "../i18n";
import { useAct } from "../parts/act";
import { AskBack } from "../parts/ask-back";
import { Copyable } from "../parts/copy";
import { NewPassword } from "../parts/field";
import { Icon } from "../parts/icons";
import { Empty, Notice } from "../parts/notice";
import { Panel } from "../parts/panel";
import { RoleChoice } from "../parts/role-choice";
import { Sentence } from "../parts/sentence";
import { EndAll, SessionList } from "../parts/sessions";
import { TokenList } from "../parts/tokens";
import { usePolled } from "../poll";
import { roleName, roleWithin } from "../roles";
import { routeHash } from "../route";
import { go, me, refreshMe, today } from "../state";
import type { ApiToken, SignedIn, User } from "../user-model";

const USER_EVERY_MS = 10_000;

interface Known {
  user: User | null;
  sessions: SignedIn[];
  tokens: ApiToken[];
}

export function UserView({ name }: { name: string }) {
  const asked = usePolled(`user ${name}`, USER_EVERY_MS, async (signal): Promise<Known> => {
    const [{ users }, { sessions }, { tokens }] = await Promise.all([api.users(signal), api.sessions(signal), api.tokens(signal)]);
    return {
      user: users.find((one) => one.name === name) ?? null,
      sessions: sessions.filter((one) => one.user === name),
      tokens: tokens.filter((one) => one.owner === name),
    };
  });
  const user = asked.data?.user;
  const isOwn = me.value?.kind === "user" && me.value.name === name;
  return (
    <>
      <p class="back">
        <a href={routeHash("people")}>
          <Icon name="back" />
          {t("user.all")}
        </a>
      </p>
      <div class="view-head">
        <h1 class="client-title">
          {printable(name)}
          {isOwn && <span class="tag">{t("people.you")}</span>}
          {user?.single_sign_on && <span class="tag">{t("people.singleSignOn")}</span>}
        </h1>
      </div>
      {asked.fault && asked.fault.kind === "refused" && <Notice tone="fault" fault={asked.fault} />}
      {asked.data && !user && <Empty title={t("user.missing")}>{t("user.missingText")}</Empty>}
      {asked.data && user && <About user={user} known={asked.data} isOwn={isOwn} onChanged={asked.refresh} />}
    </>
  );
}

interface AboutProps {
  user: User;
  known: Known;
  isOwn: boolean;
  onChanged: () => void;
}

function About({ user, known, isOwn, onChanged }: AboutProps) {
  return (
    <div class="columns columns-2">
      <div class="stack">
        <RolePanel key={user.role} user={user} onChanged={onChanged} />
        {isOwn ? (
          <Panel id="own-title" title={t("account.passwordAndStep")}>
            <p>
              <Sentence of="user.own" parts={{ link: (content) => <a href={routeHash("account")}>{content}</a> }} />
            </p>
          </Panel>
        ) : (
          <WayIn user={user} onChanged={onChanged} />
        )}
        <RemoveUser user={user} isOwn={isOwn} />
      </div>
      <div class="stack">
        <Panel id="user-sessions" title={t("account.signedIn")}>
          {known.sessions.length === 0 && <p class="quiet">{t("user.nowhere")}</p>}
          <SessionList sessions={known.sessions} onChanged={onChanged} />
          <EndAll user={user.name} sessions={known.sessions} onChanged={onChanged} />
        </Panel>
        <Panel id="user-tokens" title={t("account.tokens")}>
          {known.tokens.length === 0 && <p class="quiet">{t("user.noTokens")}</p>}
          <TokenList tokens={known.tokens} onChanged={onChanged} />
        </Panel>
        <Facts user={user} />
      </div>
    </div>
  );
}

function Facts({ user }: { user: User }) {
  return (
    <Panel
      id="user-facts"
      title={t("user.known")}
      aside={
        <a class="button" href={routeHash("people", { show: "audit", filter: user.name })}>
          {t("user.did")}
        </a>
      }
    >
      <dl class="facts">
        <div>
          <dt>{t("user.added")}</dt>
          <dd>{moment(user.created, today.value)}</dd>
        </div>
        <div>
          <dt>{t("words.lastSeen")}</dt>
          <dd>{user.last_seen === null ? t("words.never") : moment(user.last_seen, today.value)}</dd>
        </div>
      </dl>
    </Panel>
  );
}

function RolePanel({ user, onChanged }: { user: User; onChanged: () => void }) {
  const role = useSignal(user.role);
  const done = useSignal(false);
  const { busy, fault, act } = useAct();
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    done.value = await act(() => api.changeUser({ name: user.name, role: role.value }));
    await refreshMe();
    onChanged();
  };
  return (
    <Panel id="role-title" title={t("words.role")} aside={<span class="tag">{roleName(user.role)}</span>}>
      <form class="put-in" onSubmit={(event) => void submit(event)}>
        <RoleChoice value={role} name="role" />
        {fault.value && <Notice tone="fault" fault={fault.value} />}
        {role.value !== user.role && (
          <div class="foot">
            <button type="submit" class="button button-main" disabled={busy.value}>
              {t("user.make", { name: printable(user.name), role: roleWithin(role.value) })}
            </button>
            <span class="quiet">{t("user.sessionsEnd")}</span>
          </div>
        )}
      </form>
    </Panel>
  );
}

/** A password is set anew, and the second step switched off for who lost the phone. */
function WayIn({ user, onChanged }: { user: User; onChanged: () => void }) {
  const password = useSignal("");
  const set = useSignal<string | null>(null);
  const { busy, fault, act } = useAct();
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    const text = password.value;
    if (!(await act(() => api.changeUser({ name: user.name, password: text })))) return;
    set.value = text;
    password.value = "";
    onChanged();
  };
  const switchOff = async (): Promise<void> => {
    await act(() => api.changeUser({ name: user.name, totp: "off" }));
    onChanged();
  };
  return (
    <Panel id="way-in-title" title={t("account.passwordAndStep")}>
      <form class="put-in" onSubmit={(event) => void submit(event)}>
        <NewPassword name={t("account.newPassword")} value={password} />
        {fault.value && <Notice tone="fault" fault={fault.value} />}
        {set.value !== null && (
          <Notice tone="good">
            <p>{t("user.passwordSet")}</p>
            <Copyable text={set.value} label={t("addUser.thePassword")} />
          </Notice>
        )}
        <div class="foot">
          <button type="submit" class="button button-main" disabled={busy.value || password.value === ""}>
            {t("user.setIt")}
          </button>
        </div>
      </form>
      <div class="second-step">
        <p>
          {user.totp ? t("user.asksCode") : t("user.stepOff")}
        </p>
        {user.totp && (
          <AskBack
            text={t("user.switchOff")}
            question={t("user.switchOffQuestion", { name: printable(user.name) })}
            yes={t("user.switchItOff")}
            disabled={busy.value}
            onYes={switchOff}
          />
        )}
      </div>
    </Panel>
  );
}

function RemoveUser({ user, isOwn }: { user: User; isOwn: boolean }) {
  const { busy, fault, act } = useAct();
  const remove = async (): Promise<void> => {
    if (await act(() => api.removeUser(user.name))) go("people");
  };
  return (
    <div class="remove-user">
      {fault.value && <Notice tone="fault" fault={fault.value} />}
      <AskBack
        text={t("words.removeDots")}
        label={t("user.remove", { name: printable(user.name) })}
        question={t(isOwn ? "user.removeOwnQuestion" : "user.removeQuestion", { name: printable(user.name) })}
        yes={t("words.remove")}
        disabled={busy.value}
        onYes={remove}
      />
    </div>
  );
}
