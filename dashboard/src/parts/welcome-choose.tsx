// Whom Tidegate asks, what it blocks at first, and the writing of it.

import { useSignal } from "@preact/signals";
import { api } from "../api";
import { orderOf, portsInTheWay, type StepProps } from "../first-run";
import type { FirstRunAnswer } from "../first-run-model";
import { waitFor } from "../first-run-wait";
import { doorName } from "../explain";
import { asSentence, printable } from "../format";
import { t } from "../i18n";
import { routeHash } from "../route";
import { useAct } from "./act";
import { Checks } from "./checks";
import { DashboardAt, isElsewhere } from "./dashboard-at";
import { Marked, Notice } from "./notice";
import { Sentence } from "./sentence";

export function UpstreamsStep({ known, chosen, onChange }: StepProps) {
  // One that is set already stays among them, though it is not offered.
  const urls = new Set(known.upstreams.map((one) => one.url));
  const own = chosen.upstreams.filter((url) => !urls.has(url));
  return (
    <div class="welcome-content">
      <p>{t("welcome.upstreamsIntro")}</p>
      <Checks
        legend={t("welcome.upstreams")}
        options={[
          ...known.upstreams.map((one) => ({ value: one.url, text: printable(one.name), note: printable(one.note) })),
          ...own.map((url) => ({ value: url, text: printable(url), note: "" })),
        ]}
        chosen={chosen.upstreams}
        onChange={(upstreams) => onChange({ upstreams })}
      />
      {chosen.upstreams.length === 0 && (
        <Notice tone="land">
          <p>{t("welcome.noUpstream")}</p>
        </Notice>
      )}
      <p class="quiet">{t("welcome.upstreamsMore")}</p>
    </div>
  );
}

export function ListsStep({ known, chosen, onChange }: StepProps) {
  return (
    <div class="welcome-content">
      <p>{t("welcome.listsIntro")}</p>
      <Checks
        legend={t("welcome.lists")}
        options={known.lists.map((list) => ({ value: list.name, text: printable(list.name) }))}
        chosen={chosen.lists}
        onChange={(lists) => onChange({ lists })}
      />
      {chosen.lists.length === 0 && (
        <Notice tone="land">
          <p>{t("welcome.noList")}</p>
        </Notice>
      )}
      <p class="quiet">
        <Sentence of="welcome.listsMore" parts={{ link: (content) => <a href={routeHash("lists")}>{content}</a> }} />
      </p>
    </div>
  );
}

export function WriteStep({ known, chosen, refresh }: StepProps) {
  const answer = useSignal<FirstRunAnswer | null>(null);
  const { busy, fault, act } = useAct();
  const write = async (): Promise<void> => {
    answer.value = null;
    await act(async () => {
      const told = await api.writeFirstRun(orderOf(chosen));
      if (told.confirm_within_s !== null) waitFor(told.confirm_within_s);
      answer.value = told;
    });
    refresh();
  };
  const isWhole = chosen.address !== "" && chosen.doors.length > 0 && chosen.upstreams.length > 0;
  const inTheWay = portsInTheWay(known.ports, chosen.doors).length;
  return (
    <div class="welcome-content">
      <p>
        {known.config === null ? t("welcome.writeIntroNew") : <Sentence of="welcome.writeIntro" values={{ file: <code>{printable(known.config)}</code> }} />}
      </p>
      <dl class="facts">
        <Fact name={t("welcome.address")} value={chosen.address} />
        <Fact name={t("welcome.doors")} value={chosen.doors.map(doorName).join(", ")} />
        <Fact name={t("welcome.upstreams")} value={chosen.upstreams.map((url) => known.upstreams.find((one) => one.url === url)?.name ?? url).join(", ")} />
        <Fact name={t("welcome.lists")} value={chosen.lists.join(", ")} />
      </dl>
      {!known.can_write && (
        <Notice tone="land">
          <p>{t("welcome.cannotWrite")}</p>
          {known.why_not && (
            <p class="welcome-why-not">
              <Marked text={asSentence(printable(known.why_not))} />
            </p>
          )}
        </Notice>
      )}
      {inTheWay > 0 && (
        <Notice tone="land">
          <p>
            <Sentence of="welcome.stillInTheWay" values={{ count: inTheWay }} parts={{ link: (content) => <a href={routeHash("welcome", { step: "address" })}>{content}</a> }} />
          </p>
        </Notice>
      )}
      {fault.value && <Notice tone="fault" fault={fault.value} />}
      {answer.value && <Answer answer={answer.value} />}
      {known.can_write && known.waiting === null && (
        <div class="foot">
          <button type="button" class="button button-main" disabled={busy.value || !isWhole} onClick={() => void write()}>
            {t(busy.value ? "welcome.writing" : "welcome.write")}
          </button>
          <p class="quiet">{t("welcome.writeThen")}</p>
        </div>
      )}
    </div>
  );
}

function Fact({ name, value }: { name: string; value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value === "" ? t("welcome.nothing") : printable(value)}</dd>
    </div>
  );
}

function Answer({ answer }: { answer: FirstRunAnswer }) {
  const key = answer.confirm_within_s === null ? "welcome.sameAsBefore" : "welcome.written";
  return (
    <Notice tone="good">
      <p>{isElsewhere(answer.dashboard) ? <DashboardAt url={answer.dashboard} /> : t(key)}</p>
      {answer.complaints.length > 0 && (
        <ul class="complaints">
          {answer.complaints.map((complaint) => (
            <li key={complaint}>{printable(complaint)}</li>
          ))}
        </ul>
      )}
    </Notice>
  );
}
