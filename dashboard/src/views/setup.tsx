// How to point a device at Tidegate, with this installation's own addresses.

import type { ComponentChildren } from "preact";
import { hostPort, reachOf, type Reach } from "../address";
import { doorName } from "../explain";
import { Copyable } from "../parts/copy";
import { Icon } from "../parts/icons";
import { Notice } from "../parts/notice";
import { status } from "../state";

const DNS_PORT = 53;

function Platform({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <details class="platform" name="platform">
      <summary>
        <Icon name="chevron" />
        {name}
      </summary>
      <div class="platform-text">{children}</div>
    </details>
  );
}

/** What to write in the configuration for a door that other machines cannot reach. */
function OnlyHere({ door, listen }: { door: string; listen: string[] }) {
  return (
    <Notice tone="land">
      <p>
        The {doorName(door)} door listens on this machine only. For other devices, let it listen on an address of your
        network; 192.168.1.2 stands for this machine's:
      </p>
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
        The {doorName(door)} door is not running. Add a <code>{door}:</code> section to the configuration and restart.
      </p>
    </Notice>
  );
}

function Names({ reach }: { reach: Reach | null }) {
  if (!reach) return <Missing door="dns" />;
  return (
    <>
      <p>
        Enter this as the DNS server of a device, or of your router, so that it holds for every device at home. Enter
        no second server: devices would ask it whenever they like, and see the ads again.
      </p>
      <Copyable label="DNS server" text={reach.port === DNS_PORT ? reach.host : hostPort(reach)} />
      {reach.port !== DNS_PORT && (
        <p class="quiet">
          Most devices ask port {DNS_PORT} and cannot be told another. Try it with{" "}
          <code>{`dig @${reach.host} -p ${reach.port} example.com`}</code>
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
      <p>Enter this as the HTTP and HTTPS proxy of a browser or a device. It works beside DNS, or alone.</p>
      <Copyable label="proxy address" text={hostPort(reach)} />
      <p class="quiet">
        Try it with <code>{`curl -x http://${hostPort(reach)} http://example.com/`}</code>
      </p>
      {reach.onlyHere && <OnlyHere door="proxy" listen={["http://192.168.1.2:3128"]} />}
    </>
  );
}

/** A fingerprint in parts of eight bytes, which the eye can compare. */
function eights(fingerprint: string): string[] {
  return fingerprint.match(/(?:[0-9A-F]{2}:?){1,8}/gi) ?? [fingerprint];
}

function Certificate({ fingerprint }: { fingerprint: string | null }) {
  return (
    <div class="columns columns-even">
      <div class="setup">
      <p>
        Blocked hosts over HTTPS are answered with a certificate of Tidegate's own. A device that trusts it sees empty
        answers in place of errors. It signs only names that are blocked at that moment; it can stand in for no other
        site.
      </p>
      <p>
        <a class="button button-main" href="api/ca.pem" download="tidegate-ca.pem">
          <Icon name="download" />
          Download the certificate
        </a>
      </p>
      {fingerprint && (
        <p class="fingerprint">
          <span class="quiet">SHA-256, to compare on the device</span>
          <code>
            {eights(fingerprint).map((part) => (
              <span class="unbroken" key={part}>
                {part}
                <wbr />
              </span>
            ))}
          </code>
        </p>
      )}
      </div>
      <Platforms />
    </div>
  );
}

function Platforms() {
  return (
    <div class="platforms">
      <Platform name="Android">
        <ol>
          <li>Open the download. If it is not offered: Settings, Security, Encryption and credentials.</li>
          <li>Install a certificate, CA certificate, choose tidegate-ca.pem.</li>
        </ol>
        <p>Many apps trust only the system's own list; browsers take it.</p>
      </Platform>
      <Platform name="iPhone and iPad">
        <ol>
          <li>Open this page in Safari and download: a profile is offered.</li>
          <li>Settings, General, VPN and Device Management: install the profile.</li>
          <li>Settings, General, About, Certificate Trust Settings: switch it on.</li>
        </ol>
      </Platform>
      <Platform name="Windows">
        <ol>
          <li>Rename the file to tidegate-ca.crt and open it.</li>
          <li>Install Certificate, Local Machine, Trusted Root Certification Authorities.</li>
        </ol>
        <p>
          Or as administrator: <code>certutil -addstore Root tidegate-ca.pem</code>
        </p>
      </Platform>
      <Platform name="macOS">
        <p>
          <code>
            sudo security add-trusted-cert -d -r trustRoot -k /Library/Keychains/System.keychain tidegate-ca.pem
          </code>
        </p>
      </Platform>
      <Platform name="Linux">
        <p>Debian and Ubuntu:</p>
        <p>
          <code>
            sudo cp tidegate-ca.pem /usr/local/share/ca-certificates/tidegate.crt && sudo update-ca-certificates
          </code>
        </p>
        <p>
          Fedora and RHEL: <code>sudo trust anchor tidegate-ca.pem</code>
        </p>
      </Platform>
      <Platform name="Firefox, everywhere">
        <p>
          Settings, Privacy and Security, Certificates, View Certificates, Authorities, Import. Tick “Trust this CA to
          identify websites”.
        </p>
      </Platform>
    </div>
  );
}

export function Setup() {
  const { value } = status;
  if (!value) return <div class="hero-wait" />;
  const page = location.hostname;
  return (
    <>
      <div class="view-head">
        <h1>Set up a device</h1>
      </div>
      <div class="columns columns-even">
      <section class="panel setup" aria-labelledby="setup-dns">
        <h2 id="setup-dns">Names: DNS</h2>
        <Names reach={reachOf(value.listeners, "dns", "udp", page)} />
      </section>
      <section class="panel setup" aria-labelledby="setup-proxy">
        <h2 id="setup-proxy">Pages: proxy</h2>
        <Proxy reach={reachOf(value.listeners, "proxy", "http", page)} />
      </section>
      </div>
      <section class="panel setup setup-ca" aria-labelledby="setup-ca">
        <h2 id="setup-ca">Trust: certificate</h2>
        {value.ca_fingerprint === null ? (
          <Notice tone="land">
            <p>
              No door signs certificates: the Pixel door has no <code>https://</code> listener.
            </p>
          </Notice>
        ) : (
          <Certificate fingerprint={value.ca_fingerprint} />
        )}
      </section>
    </>
  );
}
