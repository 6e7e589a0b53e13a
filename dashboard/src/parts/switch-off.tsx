// Where each platform switches off what goes around this network, in its own words.

import type { Platform } from "../bypass";
import { t } from "../i18n";
import type { MessageKey } from "../i18n";

/** The lines of each platform, in their order. */
const LINES: Record<Platform, readonly MessageKey[]> = {
  apple: ["bypass.off.appleRelay", "bypass.off.appleNetwork", "bypass.off.appleMac", "bypass.off.appleProfile"],
  android: ["bypass.off.android", "bypass.off.androidAutomatic"],
  samsung: ["bypass.off.samsung", "bypass.off.samsungWifi"],
  chrome: ["bypass.off.chrome", "bypass.off.edge"],
  firefox: ["bypass.off.firefox", "bypass.off.firefoxDefault"],
  windows: ["bypass.off.windows"],
  vpn: ["bypass.off.vpnApp", "bypass.off.vpnSystem", "bypass.off.vpnBrowser"],
  tv: ["bypass.off.tvHand", "bypass.off.tvRouter"],
};

export function SwitchOff({ platforms }: { platforms: readonly Platform[] }) {
  return (
    <dl class="switch-off">
      {platforms.map((platform) => (
        <div key={platform}>
          <dt>{t(`bypass.platform.${platform}`)}</dt>
          <dd>
            {LINES[platform].map((line) => (
              <p key={line}>{t(line)}</p>
            ))}
          </dd>
        </div>
      ))}
    </dl>
  );
}
