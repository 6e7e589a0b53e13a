// The browser that a user agent speaks of, in words. Anybody can send any: what is not known is
// shown as it was sent.

import { printable } from "./format";
import { t } from "./i18n";

const BROWSERS: [RegExp, string][] = [
  [/\bEdgA?\/(\d+)/, "Edge"],
  [/\bOPR\/(\d+)/, "Opera"],
  [/\bVivaldi\/(\d+)/, "Vivaldi"],
  [/\bSamsungBrowser\/(\d+)/, "Samsung Internet"],
  [/\bFxiOS\/(\d+)/, "Firefox"],
  [/\bCriOS\/(\d+)/, "Chrome"],
  [/\bFirefox\/(\d+)/, "Firefox"],
  [/\b(?:Headless)?Chrome\/(\d+)/, "Chrome"],
  [/\bVersion\/(\d+)[\d.]* (?:Mobile\/\w+ )?Safari\//, "Safari"],
];

const SYSTEMS: [RegExp, string][] = [
  [/\biPhone\b/, "iPhone"],
  [/\biPad\b/, "iPad"],
  [/\bAndroid\b/, "Android"],
  [/\bCrOS\b/, "ChromeOS"],
  [/\bWindows\b/, "Windows"],
  [/\bMac OS X\b|\bMacintosh\b/, "macOS"],
  [/\bFreeBSD\b/, "FreeBSD"],
  [/\bLinux\b/, "Linux"],
];

/** "Firefox 128 on Linux"; "curl/8.9" as it is. */
export function agentText(agent: string): string {
  const browser = BROWSERS.flatMap(([shape, name]) => {
    const found = shape.exec(agent);
    return found ? [`${name} ${found[1] ?? ""}`] : [];
  })[0];
  if (browser === undefined) return printable(agent).slice(0, 80) || t("sessions.unknownProgram");
  const system = SYSTEMS.find(([shape]) => shape.test(agent))?.[1];
  return system === undefined ? browser : t("sessions.browserOn", { browser, system });
}
