// The last steps: the certificate on this device, the first user, and this device asking Tidegate.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { hostPort, reachOf } from "../address";
import type { StepProps } from "../first-run";
import { clock, printable } from "../format";
import { t } from "../i18n";
import { routeHash } from "../route";
import { status } from "../state";
import { imageLoads } from "../trust-check";
import { AddUser } from "./add-user";
import { Certificate } from "./certificate";
import { Copyable } from "./copy";
import { Icon } from "./icons";
import { Notice } from "./notice";
import { RadarSea } from "./radar-sea";
import { Sentence } from "./sentence";

const CHECK_EVERY_MS = 6_000;
const DNS_PORT = 53;

export function CertificateStep({ known }: StepProps) {
  return (
    <div class="welcome-content setup">
      <p>{t("welcome.certificateIntro")}</p>
      {known.check_url === null ? (
        <Notice tone="land">
          <p>{t("welcome.noCheck")}</p>
        </Notice>
      ) : (
        <TrustCheck url={known.check_url} />
      )}
      <Certificate fingerprint={status.value?.ca_fingerprint ?? null} />
    </div>
  );
}

/** Looks again and again whether an image over HTTPS loads, until it does. */
function TrustCheck({ url }: { url: string }) {
  const state = useSignal<"checking" | "trusts" | "not" | "reload">("checking");
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let ended = false;
    const check = async (): Promise<void> => {
      const outcome = document.hidden ? null : await imageLoads(url);
      if (ended) return;
      if (outcome !== null) state.value = outcome;
      if (state.value !== "trusts" && state.value !== "reload") timer = setTimeout(() => void check(), CHECK_EVERY_MS);
    };
    void check();
    return () => {
      ended = true;
      clearTimeout(timer);
    };
  }, [url, state]);
  return (
    <div class={`welcome-check welcome-check-${state.value}`}>
      {state.value === "trusts" ? <Icon name="done" /> : <span class="liveness-dot" aria-hidden="true" />}
      <p role="status">{t(`welcome.check.${state.value}`)}</p>
      {state.value === "reload" && (
        <button type="button" class="button" onClick={() => location.reload()}>
          {t("welcome.reloadPage")}
        </button>
      )}
    </div>
  );
}

export function UserStep({ known, refresh }: StepProps) {
  return (
    <div class="welcome-content">
      {known.people > 0 ? (
        <p>
          <Sentence of="welcome.usersThere" values={{ count: known.people }} parts={{ link: (content) => <a href={routeHash("people")}>{content}</a> }} />
        </p>
      ) : (
        <p>{t("welcome.userIntro")}</p>
      )}
      <div class="welcome-user">
        <AddUser isFirst={known.people === 0} onAdded={refresh} />
      </div>
    </div>
  );
}

export function DeviceStep({ known, chosen }: StepProps) {
  const { client, asks_dns: asks, asked_at: at } = known.this_device;
  const reach = status.value ? reachOf(status.value.listeners, "dns", "udp", location.hostname) : null;
  const server = reach && !reach.onlyHere ? (reach.port === DNS_PORT ? reach.host : hostPort(reach)) : chosen.address;
  return (
    <div class="welcome-content">
      <p>{t("welcome.deviceIntro")}</p>
      <div class="welcome-server">
        <Copyable label={t("setup.dnsServer")} text={server} />
      </div>
      <ul class="welcome-where-to">
        <li>{t("welcome.where.router")}</li>
        <li>{t("welcome.where.phone")}</li>
        <li>{t("welcome.where.computer")}</li>
      </ul>
      <div class={asks ? "welcome-watch welcome-watch-asks" : "welcome-watch"} role="status">
        <RadarSea />
        <div>
          <p class="welcome-watch-title">{t(asks ? "welcome.asks" : "welcome.waitsForDevice")}</p>
          <p class="quiet">
            {asks ? t("welcome.asksSince", { client: printable(client), at: at ? clock(new Date(at)) : "–" }) : t("welcome.waitsHint", { client: printable(client) })}
          </p>
          {asks && (
            <p class="welcome-links">
              <a href={routeHash("log", { client })}>{t("welcome.seeLog")}</a>
              <a href={routeHash("bypass")}>{t("welcome.seeRadar")}</a>
            </p>
          )}
        </div>
      </div>
    </div>
  );
}
