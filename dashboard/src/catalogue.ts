// Well-known lists, for who looks for one. The addresses are their authors' own.

import { type MessageKey } from "./i18n";

export interface KnownList {
  name: string;
  title: string;
  url: string;
  /** Null where the authors have words of their own for it. */
  licence: string | null;
  /** What it keeps away, and what it may break. */
  about: MessageKey;
}

export const CATALOGUE: readonly KnownList[] = [
  {
    name: "adguard-dns",
    title: "AdGuard DNS filter",
    url: "https://adguardteam.github.io/HostlistsRegistry/assets/filter_1.txt",
    licence: "GPL-3.0",
    about: "addList.about.adguard",
  },
  {
    name: "easylist",
    title: "EasyList",
    url: "https://easylist.to/easylist/easylist.txt",
    licence: "GPL-3.0 / CC BY-SA 3.0",
    about: "addList.about.easylist",
  },
  {
    name: "easyprivacy",
    title: "EasyPrivacy",
    url: "https://easylist.to/easylist/easyprivacy.txt",
    licence: "GPL-3.0 / CC BY-SA 3.0",
    about: "addList.about.easyprivacy",
  },
  {
    name: "oisd-small",
    title: "OISD small",
    url: "https://small.oisd.nl",
    licence: "GPL-3.0",
    about: "addList.about.oisd",
  },
  {
    name: "stevenblack",
    title: "StevenBlack hosts",
    url: "https://raw.githubusercontent.com/StevenBlack/hosts/master/hosts",
    licence: "MIT",
    about: "addList.about.stevenblack",
  },
  {
    name: "peter-lowe",
    title: "Peter Lowe's list",
    url: "https://pgl.yoyo.org/adservers/serverlist.php?hostformat=hosts&showintro=1&mimetype=plaintext",
    licence: null,
    about: "addList.about.peterLowe",
  },
  {
    name: "urlhaus",
    title: "URLhaus",
    url: "https://urlhaus.abuse.ch/downloads/hostfile/",
    licence: "CC0",
    about: "addList.about.urlhaus",
  },
];

/** Those of the catalogue that no list in force is fetched from. */
export function notYetThere(urls: readonly (string | undefined)[]): KnownList[] {
  const there = new Set(urls);
  return CATALOGUE.filter((known) => !there.has(known.url));
}
