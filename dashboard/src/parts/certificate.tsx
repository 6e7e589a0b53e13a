// The certificate authority for a device: the download, its fingerprint, and how each platform is told to
// trust it.

import type { ComponentChildren } from "preact";
import { t } from "../i18n";
import { Icon } from "./icons";
import { Sentence } from "./sentence";

/** A fingerprint in parts of eight bytes, which the eye can compare. */
function eights(fingerprint: string): string[] {
  return fingerprint.match(/(?:[0-9A-F]{2}:?){1,8}/gi) ?? [fingerprint];
}

export function Certificate({ fingerprint }: { fingerprint: string | null }) {
  return (
    <div class="columns columns-even">
      <div class="setup">
        <p>{t("setup.certificateAbout")}</p>
        <p>
          <a class="button button-main" href="api/ca.pem" download="tidegate-ca.pem">
            <Icon name="download" />
            {t("setup.download")}
          </a>
        </p>
        {fingerprint && (
          <p class="fingerprint">
            <span class="quiet">{t("setup.fingerprint")}</span>
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

function Platforms() {
  return (
    <div class="platforms">
      <Platform name={t("setup.android.title")}>
        <ol>
          <li>{t("setup.android.open")}</li>
          <li>{t("setup.android.install")}</li>
        </ol>
        <p>{t("setup.android.apps")}</p>
      </Platform>
      <Platform name={t("setup.apple.title")}>
        <ol>
          <li>{t("setup.apple.download")}</li>
          <li>{t("setup.apple.install")}</li>
          <li>{t("setup.apple.trust")}</li>
        </ol>
      </Platform>
      <Platform name={t("setup.windows.title")}>
        <ol>
          <li>{t("setup.windows.rename")}</li>
          <li>{t("setup.windows.install")}</li>
        </ol>
        <p>
          <Sentence of="setup.windows.command" />
        </p>
      </Platform>
      <Platform name={t("setup.macos.title")}>
        <p>
          <Sentence of="setup.macos.command" />
        </p>
      </Platform>
      <Platform name={t("setup.linux.title")}>
        <p>{t("setup.linux.debian")}</p>
        <p>
          <Sentence of="setup.linux.debianCommand" />
        </p>
        <p>
          <Sentence of="setup.linux.fedora" />
        </p>
      </Platform>
      <Platform name={t("setup.firefox.title")}>
        <p>{t("setup.firefox.steps")}</p>
      </Platform>
    </div>
  );
}
