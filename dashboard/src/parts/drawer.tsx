// One request in full, beside the log: what happened then, and what the policy says now.

import { useEffect, useRef } from "preact/hooks";
import { api } from "../api";
import { doorName, sourceText, targetOf } from "../explain";
import { bytes, micros, moment, subjectParts } from "../format";
import { t } from "../i18n";
import type { RequestRow } from "../model";
import { usePolled } from "../poll";
import { routeHash } from "../route";
import { today } from "../state";
import { ByHand } from "./by-hand";
import { Explanation, Verdict } from "./explanation";
import { Icon } from "./icons";
import { Notice } from "./notice";
import { Outcome } from "./outcome";
import { PageLink } from "./page-link";

const ASK_AGAIN_MS = 60_000;

export function Drawer({ row, onClose }: { row: RequestRow; onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  const ask = { target: targetOf(row.subject), client: row.client, kind: row.kind, door: row.door };
  const why = usePolled(`why ${row.id}`, ASK_AGAIN_MS, (signal) => api.why(ask, signal));
  const parts = subjectParts(row.subject);
  const changed = why.data !== null && row.cause !== "not_asked" && why.data.action !== row.action;
  return (
    // oxlint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/no-noninteractive-element-interactions -- Escape closes a dialog by itself
    <dialog
      ref={dialog}
      class="drawer"
      aria-labelledby="drawer-title"
      onClose={onClose}
      onClick={(event) => {
        if (event.target === dialog.current) dialog.current?.close();
      }}
    >
      <div class="drawer-sheet">
        <div class="drawer-head">
          <Outcome row={row} />
          <span class="quiet">{moment(row.at, today.value)}</span>
          <button type="button" class="button button-bare button-square" aria-label={t("words.close")} onClick={() => dialog.current?.close()}>
            <Icon name="close" />
          </button>
        </div>
        <h2 class="drawer-title" id="drawer-title">
          <span class="subject-quiet">{parts.before}</span>
          {parts.host}
          <span class="subject-quiet">{parts.after}</span>
        </h2>
        <Verdict action={row.action} cause={row.cause} rule={row.rule} />
        <dl class="facts facts-grid">
          <div>
            <dt>{t("words.door")}</dt>
            <dd>{doorName(row.door)}</dd>
          </div>
          <div>
            <dt>{t("words.kind")}</dt>
            <dd>{row.kind}</dd>
          </div>
          <div>
            <dt>{t("words.client")}</dt>
            <dd>
              <a href={routeHash("clients", { client: row.client })} onClick={() => dialog.current?.close()}>
                <code>{row.client}</code>
              </a>
            </dd>
          </div>
          <div>
            <dt>{t("drawer.number")}</dt>
            <dd>
              <code>{row.number}</code>
            </dd>
          </div>
          <div>
            <dt>{t("drawer.status")}</dt>
            <dd>{row.status_text}</dd>
          </div>
          <div>
            <dt>{t("drawer.took")}</dt>
            <dd>{micros(row.took_us)}</dd>
          </div>
          <div>
            <dt>{t("drawer.size")}</dt>
            <dd>{bytes(row.bytes)}</dd>
          </div>
          <div class="facts-wide">
            <dt>{t("drawer.answerFrom")}</dt>
            <dd>{sourceText(row.source)}</dd>
          </div>
          {row.cache_text && (
            <div class="facts-wide">
              <dt>{t("drawer.cache")}</dt>
              <dd>
                <code>{row.not_stored ?? row.cache}</code> {row.cache_text}
              </dd>
            </div>
          )}
        </dl>
        {why.data?.site && <PageLink client={row.client} site={why.data.site} at={row.at} onClick={() => dialog.current?.close()} />}
        {why.data && <ByHand why={why.data} onChanged={why.refresh} />}
        <section class="drawer-now" aria-label={t("drawer.policyNow")}>
          <h2>{t("drawer.askedAgain")}</h2>
          {changed && (
            <Notice tone="land">
              <p>{t("drawer.changed")}</p>
            </Notice>
          )}
          {why.fault && <Notice tone="fault" fault={why.fault} />}
          {why.data && <Explanation why={why.data} around="given" />}
          {!why.data && !why.fault && <p class="quiet">{t("drawer.asking")}</p>}
        </section>
      </div>
    </dialog>
  );
}
