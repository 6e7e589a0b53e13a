// What a page tried to send to blocked hosts, as the inspector kept it.

import { bytes, moment, printable } from "../format";
import { t } from "../i18n";
import { may, today } from "../state";
import type { SentBody } from "../visit-model";
import { Empty } from "./notice";
import { Sentence } from "./sentence";

export function SentBodies({ bodies }: { bodies: SentBody[] }) {
  if (bodies.length === 0) {
    return (
      <Empty title={t("page.nothingSent")}>
        {may("administrator") ? <Sentence of="page.inspectHint" /> : t("page.inspectRole")}
      </Empty>
    );
  }
  return (
    <ul class="entries">
      {bodies.map((body) => (
        <li class="entry" key={`${body.at} ${body.url}`}>
          <div class="entry-main">
            <span class="entry-name sent-url">
              <span class="tag">{printable(body.method)}</span>
              {printable(body.url)}
            </span>
            <span class="entry-figure quiet">{bytes(body.bytes)}</span>
          </div>
          <div class="entry-sub">
            <span>{moment(body.at, today.value)}</span>
            {body.content_type && <span>{printable(body.content_type)}</span>}
          </div>
          {body.text === null ? <p class="quiet sent-none">{t("page.noText")}</p> : <Text body={body} text={body.text} />}
        </li>
      ))}
    </ul>
  );
}

function Text({ body, text }: { body: SentBody; text: string }) {
  return (
    <>
      <pre class="sent-text">
        <code>{text.split("\n").map(printable).join("\n")}</code>
      </pre>
      {body.shown_bytes < body.bytes && <p class="quiet sent-none">{t("page.begins", { shown: bytes(body.shown_bytes), all: bytes(body.bytes) })}</p>}
    </>
  );
}
