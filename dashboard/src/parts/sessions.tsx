// Browsers that are signed in: whose, which, where and when; each can be ended.

import { agentText } from "../agents";
import { api } from "../api";
import { day, moment, printable } from "../format";
import { t } from "../i18n";
import { roleWithin } from "../roles";
import { today } from "../state";
import type { SignedIn } from "../user-model";
import { useAct } from "./act";
import { AskBack } from "./ask-back";
import { Notice } from "./notice";

interface SessionListProps {
  sessions: readonly SignedIn[];
  /** Whose they are is told, and their role. */
  withUser?: boolean;
  onChanged: () => void;
}

export function SessionList({ sessions, withUser, onChanged }: SessionListProps) {
  const { busy, fault, act } = useAct();
  const end = async (id: string): Promise<void> => {
    await act(() => api.endSessions({ id }));
    onChanged();
  };
  return (
    <>
      {fault.value && <Notice tone="fault" fault={fault.value} />}
      <ul class="entries">
        {sorted(sessions).map((one) => (
          <li class="entry" key={one.id}>
            <div class="entry-main">
              <span class="entry-name" title={printable(one.agent)}>
                {withUser ? userText(one) : agentText(one.agent)}
                {one.own && <span class="tag">{t("sessions.thisOne")}</span>}
              </span>
              {!one.own && (
                <button
                  type="button"
                  class="button button-bare"
                  disabled={busy.value}
                  aria-label={withUser ? t("sessions.endOf", { user: userText(one), client: printable(one.client) }) : t("sessions.end", { client: printable(one.client) })}
                  onClick={() => void end(one.id)}
                >
                  {t("sessions.endOne")}
                </button>
              )}
            </div>
            <div class="entry-sub">
              {withUser && <span>{roleWithin(one.role)}</span>}
              {withUser && <span title={printable(one.agent)}>{agentText(one.agent)}</span>}
              <span>
                <code>{printable(one.client)}</code>
              </span>
              <span>{t("sessions.seen", { at: moment(one.seen, today.value) })}</span>
              <span>{t("sessions.since", { at: moment(one.began, today.value) })}</span>
              <span>{t("sessions.till", { day: day(new Date(one.until)) })}</span>
            </div>
          </li>
        ))}
      </ul>
    </>
  );
}

/** This one first, then by when it was seen. */
function sorted(sessions: readonly SignedIn[]): SignedIn[] {
  return sessions.toSorted((a, b) => Number(b.own) - Number(a.own) || b.seen.localeCompare(a.seen));
}

function userText(one: SignedIn): string {
  return one.user === null ? "admin.token" : printable(one.user);
}

/** Ends all sessions of a user but the one of this page. */
export function EndAll({ user, sessions, onChanged }: { user: string; sessions: readonly SignedIn[]; onChanged: () => void }) {
  const { busy, fault, act } = useAct();
  const others = sessions.filter((one) => !one.own).length;
  if (others < 2) return null;
  const isOwn = others < sessions.length;
  const end = async (): Promise<void> => {
    await act(() => api.endSessions({ user }));
    onChanged();
  };
  return (
    <div class="entry-buttons end-all">
      {fault.value && <Notice tone="fault" fault={fault.value} />}
      <AskBack
        text={isOwn ? t("sessions.endOthers") : t("sessions.endAll")}
        question={t("sessions.endQuestion", { count: others })}
        yes={t("sessions.endThem")}
        disabled={busy.value}
        onYes={end}
      />
    </div>
  );
}
