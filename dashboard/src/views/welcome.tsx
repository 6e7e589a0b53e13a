// The first run: step by step from the addresses of the machine to a device that asks Tidegate. Each
// step shows what is there now; nothing is written before the fourth.

import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { api } from "../api";
import { firstDraft, isDone, stepAfter, stepBefore, STEPS, type Draft, type Step, type StepProps } from "../first-run";
import type { FirstRun } from "../first-run-model";
import { lapsed, noteWaiting } from "../first-run-wait";
import { t } from "../i18n";
import { Icon } from "../parts/icons";
import { Notice } from "../parts/notice";
import { ReadOnly } from "../parts/read-only";
import { WaitingNotice } from "../parts/waiting-notice";
import { AddressStep } from "../parts/welcome-address";
import { ListsStep, UpstreamsStep, WriteStep } from "../parts/welcome-choose";
import { CertificateStep, DeviceStep, UserStep } from "../parts/welcome-device";
import { usePolled } from "../poll";
import { routeHash } from "../route";
import { may, route } from "../state";

const ASKED_EVERY_MS = 2_500;

/** What was chosen; a look at another page loses nothing. */
const draft = signal<Draft | null>(null);

export function WelcomeView() {
  return (
    <>
      <div class="view-head">
        <h1>{t("welcome.title")}</h1>
      </div>
      <ReadOnly needs="administrator" can={t("welcome.administratorCan")} />
      {may("administrator") && <Asked />}
    </>
  );
}

function Asked() {
  const address = draft.value?.address ?? "";
  const asked = usePolled(`first run ${address}`, ASKED_EVERY_MS, async (stop) => {
    const known = await api.firstRun(address, stop);
    noteWaiting(known.waiting?.until ?? null);
    draft.value ??= firstDraft(known);
    return known;
  });
  const { data, fault } = asked;
  return (
    <>
      {fault && fault.kind === "refused" && <Notice tone="fault" fault={fault} />}
      {data?.waiting && <WaitingNotice waiting={data.waiting} onConfirmed={asked.refresh} />}
      {lapsed.value && (
        <Notice tone="land">
          <p>{t("welcome.lapsed")}</p>
        </Notice>
      )}
      {data && draft.value && <Steps known={data} chosen={draft.value} refresh={asked.refresh} />}
      {!data && !fault && <div class="hero-wait" />}
    </>
  );
}

/** The step of the address; else the first that is not done. */
function stepNow(known: FirstRun): Step {
  const word = route.value.words["step"];
  return STEPS.find((step) => step === word) ?? STEPS.find((step) => !isDone(step, known)) ?? "address";
}

interface StepsProps {
  known: FirstRun;
  chosen: Draft;
  refresh: () => void;
}

function Steps({ known, chosen, refresh }: StepsProps) {
  const step = stepNow(known);
  const title = useRef<HTMLHeadingElement>(null);
  const shown = useRef<Step>(step);
  // Who goes on to the next step reads on there.
  useEffect(() => {
    if (shown.current === step) return;
    shown.current = step;
    title.current?.focus({ preventScroll: true });
    scrollTo({ top: 0 });
  }, [step]);
  return (
    <div class="welcome">
      <nav class="welcome-steps" aria-label={t("welcome.steps")}>
        <p class="welcome-where">{t("welcome.stepOf", { number: STEPS.indexOf(step) + 1, all: STEPS.length })}</p>
        <ol>
          {STEPS.map((one, n) => (
            <li key={one}>
              <a class={isDone(one, known) ? "welcome-step welcome-step-done" : "welcome-step"} href={routeHash("welcome", { step: one })} aria-current={one === step ? "step" : undefined}>
                <span class="welcome-number">{isDone(one, known) ? <Icon name="done" /> : n + 1}</span>
                <span class="welcome-name">
                  {t(`welcome.step.${one}`)}
                  {isDone(one, known) && <span class="unseen"> {t("welcome.done")}</span>}
                </span>
              </a>
            </li>
          ))}
        </ol>
      </nav>
      <section class="panel welcome-panel" aria-labelledby="welcome-step-title">
        <h2 id="welcome-step-title" class="welcome-title" tabIndex={-1} ref={title}>
          {t(`welcome.heading.${step}`)}
        </h2>
        <Content
          step={step}
          known={known}
          chosen={chosen}
          refresh={refresh}
          onChange={(part) => {
            draft.value = { ...chosen, ...part };
          }}
        />
        <Foot step={step} />
      </section>
    </div>
  );
}

function Content({ step, ...props }: StepProps & { step: Step }) {
  switch (step) {
    case "address":
      return <AddressStep {...props} />;
    case "upstreams":
      return <UpstreamsStep {...props} />;
    case "lists":
      return <ListsStep {...props} />;
    case "write":
      return <WriteStep {...props} />;
    case "certificate":
      return <CertificateStep {...props} />;
    case "user":
      return <UserStep {...props} />;
    case "device":
      return <DeviceStep {...props} />;
  }
}

function Foot({ step }: { step: Step }) {
  const before = stepBefore(step);
  const after = stepAfter(step);
  return (
    <div class="welcome-foot">
      {before && (
        <a class="button" href={routeHash("welcome", { step: before })}>
          <Icon name="back" />
          {t("welcome.back")}
        </a>
      )}
      {after ? (
        <a class={step === "write" ? "button" : "button button-main"} href={routeHash("welcome", { step: after })}>
          {t("welcome.next", { step: t(`welcome.step.${after}`) })}
        </a>
      ) : (
        <a class="button button-main" href={routeHash("overview")}>
          {t("welcome.finish")}
        </a>
      )}
    </div>
  );
}
