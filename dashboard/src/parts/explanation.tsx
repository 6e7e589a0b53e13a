// A verdict and its reasoning, the same in the log's drawer and in the "why" view.

import { sentence, whyCommand, doorName } from "../explain";
import { moment, printable, withUnits } from "../format";
import type { Rule, Why } from "../model";
import { routeHash } from "../route";
import { status, today } from "../state";
import { Copyable } from "./copy";

/** The note of the rule that decides, where there is no more to say of it. */
const DECIDES = "decides";

/** "Blocked: rule `||ads.example^` on line 12 of list starter." */
export function Verdict(props: { action: string; cause: string; rule: Rule | null; summary?: string }) {
  const said = sentence(props);
  return (
    <p class={`verdict verdict-${props.action === "block" ? "block" : "pass"}`}>
      <span class="verdict-word">{said.verdict}:</span> {said.reason}
      {said.rule && (
        <>
          {" "}
          <code class="rule">{printable(said.rule.text)}</code> on line {said.rule.line} of list{" "}
          <em class="list-name">{said.rule.list}</em>.
        </>
      )}
    </p>
  );
}

/** An answer in full; where the request is shown beside it already, `around` is "given". */
export function Explanation({ why, around }: { why: Why; around: "given" | "wanted" }) {
  return (
    <div class="explanation">
      <Verdict action={why.action} cause={why.cause} rule={why.rule} summary={why.summary} />
      <dl class="facts">
        <div>
          <dt>{doorName(why.door)} door</dt>
          <dd>{printable(why.door_outcome)}</dd>
        </div>
        {around === "wanted" && (
          <div>
            <dt>Asked for</dt>
            <dd>
              <code>{printable(why.target)}</code> as {printable(why.kind)}
            </dd>
          </div>
        )}
        {why.stored.length > 0 && (
          <div>
            <dt>Stored</dt>
            <dd>
              {why.stored.map((variant) => (
                <p key={variant}>{withUnits(printable(variant))}</p>
              ))}
            </dd>
          </div>
        )}
        {why.list_changed_at && (
          <div>
            <dt>List</dt>
            <dd>unchanged since {moment(why.list_changed_at, today.value)}</dd>
          </div>
        )}
        <div>
          <dt>{around === "wanted" ? "Client" : "Profile"}</dt>
          <dd>
            {around === "wanted" && (
              <>
                <a href={routeHash("clients", { client: why.client })}>
                  <code>{printable(why.client)}</code>
                </a>
                , profile{" "}
              </>
            )}
            {why.profile}
          </dd>
        </div>
      </dl>
      <Considered why={why} />
      <Terminal why={why} />
    </div>
  );
}

/** Every rule that matched, with why it won or lost. */
function Considered({ why }: { why: Why }) {
  return (
    <section class="considered">
      <h3>Rules considered</h3>
      {why.matches.length === 0 ? (
        <p class="quiet">No rule on the client's lists matches this.</p>
      ) : (
        <ol class="matches">
          {why.matches.map((match) => (
            <li key={`${match.list}:${match.line}`} class={match.decides ? `match match-decides match-${why.action}` : "match"}>
              <code class="rule">{printable(match.text)}</code>
              <span class="match-place">
                {match.list}, line {match.line}
              </span>
              <span class="match-note">
                {match.decides ? <b>Decides</b> : null}
                {match.decides && match.note !== DECIDES && ": "}
                {match.note !== DECIDES && printable(match.note)}
              </span>
            </li>
          ))}
        </ol>
      )}
    </section>
  );
}

function Terminal({ why }: { why: Why }) {
  return (
    <section class="terminal">
      <h3>The same on a terminal</h3>
      <Copyable label="command" text={whyCommand(why, status.value?.state)} />
    </section>
  );
}
