// Browsers that are signed in: whose, which, where and when; each can be ended.

import { agentText } from "../agents";
import { api } from "../api";
import { day, moment, printable } from "../format";
import { ROLE_TEXT } from "../roles";
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
                {one.own && <span class="tag">this one</span>}
              </span>
              {!one.own && (
                <button
                  type="button"
                  class="button button-bare"
                  disabled={busy.value}
                  aria-label={`End ${withUser ? `the session of ${userText(one)}` : "the session"} from ${printable(one.client)}`}
                  onClick={() => void end(one.id)}
                >
                  End
                </button>
              )}
            </div>
            <div class="entry-sub">
              {withUser && <span>{ROLE_TEXT[one.role].name.toLowerCase()}</span>}
              {withUser && <span title={printable(one.agent)}>{agentText(one.agent)}</span>}
              <span>
                <code>{printable(one.client)}</code>
              </span>
              <span>seen {moment(one.seen, today.value)}</span>
              <span>since {moment(one.began, today.value)}</span>
              <span>till {day(new Date(one.until))}</span>
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
        text={isOwn ? "End all others …" : "End all …"}
        question={`End ${others} sessions? Whoever sits there has to sign in again.`}
        yes="End them"
        disabled={busy.value}
        onYes={end}
      />
    </div>
  );
}
