// A verdict and its reasoning, the same in the log's drawer and in the "why" view.

import { sentence, whyCommand, doorName } from "../explain";
import { moment, printable, withUnits } from "../format";
import { t } from "../i18n";
import type { Rule, Why } from "../model";
import { routeHash } from "../route";
import { status, today } from "../state";
import { Copyable } from "./copy";
import { Sentence, type SentenceProps } from "./sentence";

/** The note of the rule that decides, where there is no more to say of it. */
const DECIDES = "decides";

const word: NonNullable<SentenceProps["parts"]>[string] = (content) => <span class="verdict-word">{content}</span>;

/** "Blocked: rule `||ads.example^` on line 12 of list starter." */
export function Verdict(props: { action: string; cause: string; rule: Rule | null; summary?: string }) {
  const said = sentence(props);
  return (
    <p class={`verdict verdict-${props.action === "block" ? "block" : "pass"}`}>
      {said.rule ? (
        <Sentence
          of="why.verdictByRule"
          values={{
            verdict: said.verdict,
            reason: said.reason,
            rule: <code class="rule">{printable(said.rule.text)}</code>,
            line: String(said.rule.line),
            list: <em class="list-name">{said.rule.list}</em>,
          }}
          parts={{ word }}
        />
      ) : (
        <Sentence of="why.verdict" values={{ verdict: said.verdict, reason: said.reason }} parts={{ word }} />
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
          <dt>{t("why.door", { door: doorName(why.door) })}</dt>
          <dd>{printable(why.door_outcome)}</dd>
        </div>
        {around === "wanted" && (
          <div>
            <dt>{t("why.askedFor")}</dt>
            <dd>
              <Sentence of="why.askedAs" values={{ target: <code>{printable(why.target)}</code>, kind: printable(why.kind) }} />
            </dd>
          </div>
        )}
        {why.stored.length > 0 && (
          <div>
            <dt>{t("why.stored")}</dt>
            <dd>
              {why.stored.map((variant) => (
                <p key={variant}>{withUnits(printable(variant))}</p>
              ))}
            </dd>
          </div>
        )}
        {why.list_changed_at && (
          <div>
            <dt>{t("words.list")}</dt>
            <dd>{t("why.unchanged", { at: moment(why.list_changed_at, today.value) })}</dd>
          </div>
        )}
        <div>
          <dt>{around === "wanted" ? t("words.client") : t("words.profile")}</dt>
          <dd>
            {around === "wanted" ? (
              <Sentence
                of="why.clientProfile"
                values={{
                  client: (
                    <a href={routeHash("clients", { client: why.client })}>
                      <code>{printable(why.client)}</code>
                    </a>
                  ),
                  profile: why.profile,
                }}
              />
            ) : (
              why.profile
            )}
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
      <h3>{t("why.considered")}</h3>
      {why.matches.length === 0 ? (
        <p class="quiet">{t("why.noRule")}</p>
      ) : (
        <ol class="matches">
          {why.matches.map((match) => (
            <li key={`${match.list}:${match.line}`} class={match.decides ? `match match-decides match-${why.action}` : "match"}>
              <code class="rule">{printable(match.text)}</code>
              <span class="match-place">
                {t("why.line", { list: match.list, line: String(match.line) })}
              </span>
              <span class="match-note">
                {match.decides ? <b>{t("why.decides")}</b> : null}
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
      <h3>{t("why.terminal")}</h3>
      <Copyable label={t("why.command")} text={whyCommand(why, status.value?.state)} />
    </section>
  );
}
