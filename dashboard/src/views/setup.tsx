// How to point a device at Tidegate, with this installation's own addresses.

import { hostPort, reachOf, type Reach } from "../address";
import { doorName } from "../explain";
import { t } from "../i18n";
import { Certificate } from "../parts/certificate";
import { Copyable } from "../parts/copy";
import { Notice } from "../parts/notice";
import { Sentence } from "../parts/sentence";
import { routeHash } from "../route";
import { may, status } from "../state";

const DNS_PORT = 53;

/** What to write in the configuration for a door that other machines cannot reach. */
function OnlyHere({ door, listen }: { door: string; listen: string[] }) {
  return (
    <Notice tone="land">
      <p>{t("setup.onlyHere", { door: doorName(door) })}</p>
      <pre class="snippet">
        <code>{[`${door}:`, "  listen:", ...listen.map((url) => `    - ${url}`)].join("\n")}</code>
      </pre>
    </Notice>
  );
}

function Missing({ door }: { door: string }) {
  return (
    <Notice tone="land">
      <p>
        <Sentence of="setup.missing" values={{ name: doorName(door), door: <code>{door}:</code> }} />
      </p>
    </Notice>
  );
}

function Names({ reach }: { reach: Reach | null }) {
  if (!reach) return <Missing door="dns" />;
  return (
    <>
      <p>{t("setup.namesAbout")}</p>
      <Copyable label={t("setup.dnsServer")} text={reach.port === DNS_PORT ? reach.host : hostPort(reach)} />
      {reach.port !== DNS_PORT && (
        <p class="quiet">
          <Sentence of="setup.otherPort" values={{ port: String(DNS_PORT), command: <code>{`dig @${reach.host} -p ${reach.port} example.com`}</code> }} />
        </p>
      )}
      {reach.onlyHere && <OnlyHere door="dns" listen={["udp://192.168.1.2:53", "tcp://192.168.1.2:53"]} />}
    </>
  );
}

function Proxy({ reach }: { reach: Reach | null }) {
  if (!reach) return <Missing door="proxy" />;
  return (
    <>
      <p>{t("setup.proxyAbout")}</p>
      <Copyable label={t("setup.proxyAddress")} text={hostPort(reach)} />
      <p class="quiet">
        <Sentence of="setup.tryProxy" values={{ command: <code>{`curl -x http://${hostPort(reach)} http://example.com/`}</code> }} />
      </p>
      {reach.onlyHere && <OnlyHere door="proxy" listen={["http://192.168.1.2:3128"]} />}
    </>
  );
}

export function Setup() {
  const { value } = status;
  if (!value) return <div class="hero-wait" />;
  const page = location.hostname;
  return (
    <>
      <div class="view-head">
        <h1>{t("setup.title")}</h1>
        {may("administrator") && (
          <a class="button" href={routeHash("welcome")}>
            {t("nav.welcome")}
          </a>
        )}
      </div>
      <div class="columns columns-even">
        <section class="panel setup" aria-labelledby="setup-dns">
          <h2 id="setup-dns">{t("setup.names")}</h2>
          <Names reach={reachOf(value.listeners, "dns", "udp", page)} />
        </section>
        <section class="panel setup" aria-labelledby="setup-proxy">
          <h2 id="setup-proxy">{t("setup.pages")}</h2>
          <Proxy reach={reachOf(value.listeners, "proxy", "http", page)} />
        </section>
      </div>
      <section class="panel setup setup-ca" aria-labelledby="setup-ca">
        <h2 id="setup-ca">{t("setup.trust")}</h2>
        {value.ca_fingerprint === null ? (
          <Notice tone="land">
            <p>
              <Sentence of="setup.noAuthority" />
            </p>
          </Notice>
        ) : (
          <Certificate fingerprint={value.ca_fingerprint} />
        )}
      </section>
    </>
  );
}
