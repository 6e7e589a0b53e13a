// A question to the policy, typed: a name or URL, for whom, as what, at which door.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { api } from "../api";
import { doorName, KINDS } from "../explain";
import { t } from "../i18n";
import { DOORS, type WhyQuery } from "../model";
import { ByHand } from "../parts/by-hand";
import { Choice } from "../parts/choice";
import { Explanation } from "../parts/explanation";
import { FleetVerdicts } from "../parts/fleet-verdicts";
import { Empty, Notice } from "../parts/notice";
import { PageLink } from "../parts/page-link";
import { usePolled } from "../poll";
import { go, route, status } from "../state";

/** An answer holds until the lists change; asking again now and then shows a reload. */
const ASK_AGAIN_MS = 30_000;

function asked(): WhyQuery {
  const { words } = route.value;
  return {
    target: words["target"] ?? "",
    client: words["client"] ?? "",
    kind: words["kind"] ?? "",
    door: words["door"] ?? "",
  };
}

export function WhyView() {
  const question = asked();
  const key = JSON.stringify(question);
  const asksFleet = status.value?.asks_fleet === true;
  const ofFleet = asksFleet && route.value.words["of"] === "fleet";
  return (
    <>
      <div class="view-head">
        <h1>{t("why.title")}</h1>
        {asksFleet && <WhoSays ofFleet={ofFleet} question={question} />}
      </div>
      <Question key={`q ${key}`} question={question} ofFleet={ofFleet} />
      {question.target === "" ? (
        <Empty title={t("why.ask")}>
          {t("why.askText")}
        </Empty>
      ) : ofFleet ? (
        <FleetVerdicts key={`f ${key}`} question={question} />
      ) : (
        <Answer key={`a ${key}`} question={question} />
      )}
    </>
  );
}

function WhoSays({ ofFleet, question }: { ofFleet: boolean; question: WhyQuery }) {
  return (
    <Choice
      label={t("fleet.asked")}
      name="asked"
      options={[
        { value: "", text: t("fleet.thisMachine") },
        { value: "fleet", text: t("fleet.wholeFleet") },
      ]}
      value={ofFleet ? "fleet" : ""}
      onChoose={(of) => go("why", { ...question, of })}
    />
  );
}

function Question({ question, ofFleet }: { question: WhyQuery; ofFleet: boolean }) {
  const target = useSignal(question.target);
  const client = useSignal(question.client);
  const kind = useSignal(question.kind);
  const door = useSignal(question.door);
  useEffect(() => {
    // On a phone the keyboard would cover the view.
    if (question.target === "" && matchMedia("(pointer: fine)").matches) document.getElementById("why-target")?.focus();
  }, []);
  const submit = (event: Event): void => {
    event.preventDefault();
    go("why", {
      target: target.value.trim(),
      client: client.value.trim(),
      kind: kind.value,
      door: door.value,
      of: ofFleet ? "fleet" : "",
    });
  };
  return (
    <form class="question panel" onSubmit={submit}>
      <label class="field field-main">
        <span class="field-name">{t("why.nameOrUrl")}</span>
        <input
          id="why-target"
          class="input input-mono"
          type="text"
          inputMode="url"
          placeholder="ads.example"
          autocapitalize="none"
          autocomplete="off"
          spellcheck={false}
          required
          value={target.value}
          onInput={(event) => {
            target.value = event.currentTarget.value;
          }}
        />
      </label>
      <label class="field">
        <span class="field-name">{t("words.client")}</span>
        <input
          class="input input-mono"
          type="text"
          placeholder="127.0.0.1"
          autocapitalize="none"
          autocomplete="off"
          spellcheck={false}
          value={client.value}
          onInput={(event) => {
            client.value = event.currentTarget.value;
          }}
        />
      </label>
      <label class="field">
        <span class="field-name">{t("words.kind")}</span>
        <select
          class="input"
          value={kind.value}
          onChange={(event) => {
            kind.value = event.currentTarget.value;
          }}
        >
          <option value="">{t("why.automatic")}</option>
          {Object.entries(KINDS).map(([group, kinds]) => (
            <optgroup key={group} label={t(`why.kinds.${group as keyof typeof KINDS}`)}>
              {kinds.map((one) => (
                <option key={one} value={one}>
                  {one}
                </option>
              ))}
            </optgroup>
          ))}
        </select>
      </label>
      <label class="field">
        <span class="field-name">{t("words.door")}</span>
        <select
          class="input"
          value={door.value}
          onChange={(event) => {
            door.value = event.currentTarget.value;
          }}
        >
          <option value="">{t("why.automatic")}</option>
          {DOORS.map((one) => (
            <option key={one} value={one}>
              {doorName(one)}
            </option>
          ))}
        </select>
      </label>
      <button type="submit" class="button button-main">
        {t("why.askButton")}
      </button>
    </form>
  );
}

function Answer({ question }: { question: WhyQuery }) {
  const answer = usePolled("answer", ASK_AGAIN_MS, (signal) => api.why(question, signal));
  return (
    <section aria-live="polite" aria-label={t("why.answer")}>
      {answer.fault && <Notice tone="fault" fault={answer.fault} />}
      {answer.data && (
        <div class="panel panel-answer">
          <h2 class="unseen">{t("why.answer")}</h2>
          <Explanation why={answer.data} around="wanted" />
          {answer.data.site && <PageLink client={answer.data.client} site={answer.data.site} />}
          <ByHand why={answer.data} onChanged={answer.refresh} />
        </div>
      )}
    </section>
  );
}
