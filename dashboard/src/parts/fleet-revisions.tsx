// What is published for a fleet: the newest revision with how far it has come, and those before it.

import { progressOf } from "../fleet";
import type { FleetRevision, FleetRevisions } from "../fleet-model";
import { bytes, count, moment, printable, withUnits } from "../format";
import { t } from "../i18n";
import { today } from "../state";
import { Empty, Marked, Notice } from "./notice";

/** The newest revision: who, when and why, and which machines have it. */
export function Published({ fleet }: { fleet: FleetRevisions }) {
  const { newest, own, trouble } = fleet;
  return (
    <section class="panel published" aria-labelledby="published-title">
      <div class="panel-head">
        <h2 class="panel-title published-title" id="published-title">
          {newest ? t("fleet.revision", { number: String(newest.revision) }) : t("fleet.revisions")}
        </h2>
        <span class="published-place" title={t("fleet.readAt", { at: moment(fleet.read, today.value) })}>
          {printable(fleet.place)}
        </span>
      </div>
      {trouble !== null && (
        <Notice tone="land">
          <p>{t("fleet.placeTrouble", { why: printable(withUnits(trouble)) })}</p>
        </Notice>
      )}
      {newest ? (
        <>
          <p class="published-why">{newest.why === "" ? <span class="quiet">{t("fleet.noReason")}</span> : printable(newest.why)}</p>
          <p class="published-facts">{factsOf(newest).join(" · ")}</p>
          <Progress fleet={fleet} newest={newest} />
        </>
      ) : (
        trouble === null && <Empty title={t("fleet.nothingPublished")}>
            <Marked text={t("fleet.nothingPublishedText")} />
          </Empty>
      )}
      <p class="published-own">{ownWords(fleet)}</p>
      {own.refused && (
        <ul class="fleet-complaints">
          {own.refused.complaints.map((complaint) => (
            <li key={complaint}>
              <Marked text={printable(complaint)} />
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function Progress({ fleet, newest }: { fleet: FleetRevisions; newest: FleetRevision }) {
  const { rollout } = fleet;
  const { has, refused } = progressOf(rollout);
  const words = [t("fleet.haveIt", { count: rollout.in_force, edges: rollout.edges })];
  if (rollout.refused > 0) words.push(t("fleet.refusedBy", { count: rollout.refused }));
  const hidden = fleet.edges_joined - fleet.edges.filter((edge) => edge.is_joined).length;
  if (hidden > 0) words.push(t("fleet.notShown", { count: hidden }));
  return (
    <div class="progress">
      <svg class="progress-bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
        <rect class="bar-all" width={has} height="8" />
        <rect class="bar-blocked" x={has} width={refused} height="8" />
      </svg>
      <p class="progress-words">{words.join(", ")}</p>
      {newest.canary && (
        <p class="progress-words">
          <span class="tag">{t("fleet.canary")}</span>{" "}
          {t("fleet.canaryWords", { who: canaryOf(newest.canary), count: rollout.first, has: count(rollout.first_in_force) })}
        </p>
      )}
    </div>
  );
}

/** Which edges go first: "10 %, ring=first". */
function canaryOf({ percent, labels }: NonNullable<FleetRevision["canary"]>): string {
  const named = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
  return [...(percent > 0 ? [`${percent}\u00a0%`] : []), ...(named.length > 0 ? [named.join(" + ")] : [])].join(", ");
}

/** What this machine runs, in a sentence. */
function ownWords({ own, newest }: FleetRevisions): string {
  const edge = printable(own.edge);
  if (own.in_force === null) return t("fleet.ownNone", { edge });
  const number = String(own.in_force);
  if (own.refused) return t("fleet.ownRefuses", { edge, number, refused: String(own.refused.revision) });
  if (own.state === "waits_for_canary") return t("fleet.ownWaits", { edge, number });
  return newest && newest.revision > own.in_force ? t("fleet.ownBehind", { edge, number }) : t("fleet.ownHas", { edge, number });
}

function factsOf(revision: FleetRevision): string[] {
  const facts = [
    moment(revision.made, today.value),
    t("fleet.by", { who: printable(revision.by) }),
    withUnits(t("fleet.files", { count: revision.files, bytes: bytes(revision.bytes) })),
  ];
  if (revision.rolls_back_to !== null) facts.push(t("fleet.rollsBack", { number: String(revision.rolls_back_to) }));
  if (revision.not_after !== null) facts.push(t("fleet.notAfter", { at: moment(revision.not_after, today.value) }));
  return facts;
}

/** The revisions, the newest first. */
export function Revisions({ fleet, newest }: { fleet: FleetRevisions; newest: FleetRevision }) {
  return (
    <section class="fleet-history" aria-labelledby="history-title">
      <h2 class="panel-title" id="history-title">
        {t("fleet.history")}
      </h2>
      <ol class="changes">
        {[newest, ...fleet.before].map((revision) => (
          <li key={revision.revision} class="change revision">
            <span class="change-number">{revision.revision}</span>
            <span class="change-why">
              {revision.why === "" ? <span class="quiet">{t("fleet.noReason")}</span> : printable(revision.why)}
              {revision.canary && <span class="tag">{t("fleet.canary")}</span>}
              {revision.revision === fleet.own.in_force && <span class="tag">{t("fleet.inForceHere")}</span>}
              {revision.revision === fleet.own.refused?.revision && <span class="tag tag-block">{t("fleet.refusedHere")}</span>}
            </span>
            <span class="change-facts">{factsOf(revision).join(" · ")}</span>
          </li>
        ))}
      </ol>
    </section>
  );
}
