// Well-known lists, for who looks for one. The addresses are their authors' own.

export interface KnownList {
  name: string;
  title: string;
  url: string;
  licence: string;
  /** What it keeps away, and what it may break. */
  about: string;
}

export const CATALOGUE: readonly KnownList[] = [
  {
    name: "adguard-dns",
    title: "AdGuard DNS filter",
    url: "https://adguardteam.github.io/HostlistsRegistry/assets/filter_1.txt",
    licence: "GPL-3.0",
    about: "Ads and trackers, kept for DNS. Breaks little.",
  },
  {
    name: "easylist",
    title: "EasyList",
    url: "https://easylist.to/easylist/easylist.txt",
    licence: "GPL-3.0 or CC BY-SA 3.0",
    about: "Ads, by name and by URL. Its rules about URLs count at the proxy.",
  },
  {
    name: "easyprivacy",
    title: "EasyPrivacy",
    url: "https://easylist.to/easylist/easyprivacy.txt",
    licence: "GPL-3.0 or CC BY-SA 3.0",
    about: "Trackers, by name and by URL. Links in newsletters may stop working.",
  },
  {
    name: "oisd-small",
    title: "OISD small",
    url: "https://small.oisd.nl",
    licence: "GPL-3.0",
    about: "Ads and trackers; made so that nobody notices it.",
  },
  {
    name: "stevenblack",
    title: "StevenBlack hosts",
    url: "https://raw.githubusercontent.com/StevenBlack/hosts/master/hosts",
    licence: "MIT",
    about: "Ads and malware, joined from several hosts files.",
  },
  {
    name: "peter-lowe",
    title: "Peter Lowe's list",
    url: "https://pgl.yoyo.org/adservers/serverlist.php?hostformat=hosts&showintro=1&mimetype=plaintext",
    licence: "own, free for use",
    about: "Servers of ads and trackers; short, and kept by hand.",
  },
  {
    name: "urlhaus",
    title: "URLhaus",
    url: "https://urlhaus.abuse.ch/downloads/hostfile/",
    licence: "CC0",
    about: "Hosts that spread malware now. Changes often.",
  },
];

/** Those of the catalogue that no list in force is fetched from. */
export function notYetThere(urls: readonly (string | undefined)[]): KnownList[] {
  const there = new Set(urls);
  return CATALOGUE.filter((known) => !there.has(known.url));
}
