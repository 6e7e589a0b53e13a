//! The examples, by the names of their commands.
//!
//! Each line is one that works, and tests hold it against the command line: a line may begin with
//! `sudo` and end in a pipe or a redirection. A command that is not named here has none. Read by
//! this crate alone.

/// One line to type, and its purpose.
#[derive(Debug)]
pub(crate) struct CommandExample {
    pub(crate) line: &'static str,
    pub(crate) what: &'static str,
}

/// Examples of one command.
pub(crate) fn of(path: &str) -> &'static [CommandExample] {
    EXAMPLES.iter().find(|(name, _)| *name == path).map_or(&[], |(_, shown)| shown)
}

const fn of_line(line: &'static str, what: &'static str) -> CommandExample {
    CommandExample { line, what }
}

type CommandExamples = (&'static str, &'static [CommandExample]);

pub(crate) const EXAMPLES: &[CommandExamples] = &[
    (
        "",
        &[
            of_line("tidegate run", "All five doors on this machine, to try"),
            of_line("tidegate check --config tidegate.yaml", "Is the configuration right?"),
            of_line("sudo tidegate run --config tidegate.yaml", "Run; root is given up at once"),
            of_line("tidegate why ads.example", "Is the name blocked, and by which rule?"),
        ],
    ),
    (
        "run",
        &[
            of_line(
                "tidegate run",
                "By ./tidegate.yaml, or the service's configuration, or the built-in one",
            ),
            of_line(
                "sudo tidegate run --config /etc/tidegate/tidegate.yaml --state /var/lib/tidegate",
                "As a service does it",
            ),
        ],
    ),
    (
        "serve",
        &[
            of_line("tidegate serve", "This folder, at http://127.0.0.1:8000"),
            of_line("tidegate serve ~/site --port 9000", "Another folder at another port"),
        ],
    ),
    (
        "pixelserv",
        &[of_line(
            "sudo tidegate pixelserv 192.168.1.3 -p 80 -k 443",
            "Answer at the address to which a router's dnsmasq sends blocked names",
        )],
    ),
    (
        "check",
        &[
            of_line("tidegate check --config tidegate.yaml", "Every complaint at once, with lines"),
            of_line("tidegate check --strict", "Fail where there is a warning too, as for CI"),
            of_line("tidegate check --diff", "What a reload would change in the one that runs"),
        ],
    ),
    (
        "replay",
        &[
            of_line("tidegate replay new.yaml", "What it would change of the last 7 days"),
            of_line("tidegate replay new.yaml --since 24h --json", "Of a day, as JSON"),
        ],
    ),
    (
        "why",
        &[
            of_line("tidegate why ads.example", "A name, at the DNS door"),
            of_line(
                "tidegate why https://ads.example/tag.js --kind script --page news.example",
                "A script of a page, at the proxy",
            ),
            of_line("tidegate why ads.example --client 192.168.1.70", "For another client"),
            of_line("tidegate why ads.example --fleet", "At every machine of the fleet"),
            of_line("tidegate why - < names.txt", "Many names, one JSON line each"),
        ],
    ),
    ("lists", &[of_line("tidegate lists", "The state of each list")]),
    ("lists stats", &[of_line("tidegate lists stats --offline", "From the configuration alone")]),
    (
        "lists update",
        &[
            of_line("tidegate lists update", "Fetch all lists that have a URL"),
            of_line("tidegate lists update easylist", "Fetch one"),
        ],
    ),
    (
        "lists test",
        &[of_line("tidegate lists test hosts.txt", "Is it a list, and what is skipped?")],
    ),
    ("cert", &[of_line("tidegate cert", "Where the certificate is, and how to install it")]),
    (
        "cert ca",
        &[of_line("tidegate cert ca --pem > tidegate-ca.pem", "The certificate as a file")],
    ),
    ("ctl", &[of_line("tidegate ctl status", "What runs, and since when")]),
    (
        "ctl top",
        &[of_line("tidegate ctl top", "Doors, rates, latencies and names, as they change")],
    ),
    (
        "ctl requests",
        &[
            of_line("tidegate ctl requests --action block", "What was blocked here last"),
            of_line(
                "tidegate ctl requests --fleet --name shop.example",
                "What was asked of a site at all machines of the fleet",
            ),
        ],
    ),
    ("ctl trace", &[of_line("tidegate ctl trace 192.168.1.70", "What one device asks for, live")]),
    (
        "upgrade",
        &[of_line(
            "sudo tidegate upgrade",
            "This binary in the place of the running one; no client notices",
        )],
    ),
    ("doctor", &[of_line("tidegate doctor --config tidegate.yaml", "What stands in the way here")]),
    (
        "backup",
        &[of_line(
            "sudo tidegate backup tidegate.backup",
            "State and configuration in one file, while it runs",
        )],
    ),
    (
        "restore",
        &[of_line("sudo tidegate restore tidegate.backup", "Put them back; Tidegate is stopped")],
    ),
    ("ctl status", &[of_line("tidegate ctl status", "What runs, and since when")]),
    ("ctl reload", &[of_line("tidegate ctl reload", "Take over a changed configuration")]),
    ("ctl pause", &[of_line("tidegate ctl pause 30", "Block nothing for half an hour")]),
    ("ctl resume", &[of_line("tidegate ctl resume", "Block again before that")]),
    (
        "ctl allow",
        &[
            of_line("tidegate ctl allow shop.example --for 10m", "Let a name pass for a while"),
            of_line(
                "tidegate ctl allow shop.example --always --client 192.168.1.70",
                "Always, and for one client",
            ),
        ],
    ),
    ("ctl allows", &[of_line("tidegate ctl allows", "What was let through")]),
    ("ctl revoke", &[of_line("tidegate ctl revoke shop.example", "Block it again")]),
    (
        "ctl block",
        &[
            of_line("tidegate ctl block game.example --profile kids --for 2h", "For a profile"),
            of_line("tidegate ctl block ads.example --always", "For everybody, until it is ended"),
        ],
    ),
    ("ctl blocks", &[of_line("tidegate ctl blocks", "What was blocked by hand")]),
    ("ctl unblock", &[of_line("tidegate ctl unblock ads.example", "Let the lists decide again")]),
    (
        "ctl purge",
        &[
            of_line("tidegate ctl purge www.example", "Ask the resolvers for the name again"),
            of_line("tidegate ctl purge --prefix https://www.example/img/", "Stored pictures"),
            of_line("tidegate ctl purge --stored --door proxy", "All that the proxy has stored"),
        ],
    ),
    (
        "ctl cache",
        &[
            of_line("tidegate ctl cache", "Sites, with what is stored of each"),
            of_line("tidegate ctl cache www.example", "URLs of one site"),
        ],
    ),
    ("ctl inspected", &[of_line("tidegate ctl inspected", "What was posted to blocked hosts")]),
    ("ctl pools", &[of_line("tidegate ctl pools", "Pools, and how their servers do")]),
    (
        "ctl pools replace",
        &[of_line(
            "tidegate ctl pools replace app http://10.0.0.21:8080 http://10.0.0.22:8080",
            "Two new servers in place of all others",
        )],
    ),
    ("ctl config", &[of_line("tidegate ctl config", "The configuration that runs")]),
    (
        "ctl config history",
        &[of_line("tidegate ctl config history", "Who changed what in the configuration, and why")],
    ),
    (
        "ctl config restore",
        &[of_line(
            "tidegate ctl config restore 12 --why outage",
            "The files as they were before change 12",
        )],
    ),
    ("ctl get", &[of_line("tidegate ctl get dns.cache", "One section, defaults included")]),
    ("ctl set", &[of_line("tidegate ctl set dns.cache.size 128MiB", "A larger cache, at once")]),
    ("ctl unset", &[of_line("tidegate ctl unset dns.cache.size", "The default again")]),
    (
        "ctl server",
        &[of_line("tidegate ctl server drain app http://10.0.0.21:8080", "No new clients for it")],
    ),
    (
        "ctl server add",
        &[of_line("tidegate ctl server add app http://10.0.0.23:8080", "One more server")],
    ),
    (
        "ctl server remove",
        &[of_line("tidegate ctl server remove app http://10.0.0.23:8080", "One server fewer")],
    ),
    (
        "ctl server drain",
        &[of_line("tidegate ctl server drain app http://10.0.0.21:8080", "Before it is stopped")],
    ),
    (
        "ctl server undrain",
        &[of_line("tidegate ctl server undrain app http://10.0.0.21:8080", "It is back")],
    ),
    (
        "ctl server weigh",
        &[of_line("tidegate ctl server weigh app http://10.0.0.21:8080 3", "Three times as much")],
    ),
    (
        "get",
        &[
            of_line("tidegate get https://www.example/disk.iso", "Into this folder; resumes"),
            of_line("tidegate get https://www.example/list.txt -o list.txt", "Under another name"),
        ],
    ),
    (
        "import",
        &[
            of_line("tidegate import polipo /etc/polipo/config > tidegate.yaml", "From Polipo"),
            of_line("tidegate import perlbal perlbal.conf > tidegate.yaml", "From Perlbal"),
            of_line("tidegate import mosdns config.yaml --compare", "Line by line, from mosdns"),
        ],
    ),
    ("script", &[of_line("tidegate script test hello.luau", "Does the script do as it should?")]),
    ("script test", &[of_line("tidegate script test hello.luau", "By hello.test.yaml beside it")]),
    ("script types", &[of_line("tidegate script types > tidegate.d.luau", "For an editor")]),
    ("schema", &[of_line("tidegate schema > tidegate.schema.json", "For an editor")]),
    (
        "completions",
        &[of_line(
            "tidegate completions bash > ~/.local/share/bash-completion/completions/tidegate",
            "Completions of bash, for one user",
        )],
    ),
    (
        "man",
        &[
            of_line("tidegate man why | man -l -", "Read the page of a command"),
            of_line("tidegate man --all /usr/local/share/man/man1", "Install every page"),
        ],
    ),
    ("fleet", &[of_line("tidegate fleet status /srv/fleet", "How do the machines do?")]),
    (
        "fleet init",
        &[of_line(
            "tidegate fleet init /srv/fleet --bundles https://bundles.example/home --key ~/fleet.key",
            "A fleet whose bundles lie at an HTTP server that takes PUT",
        )],
    ),
    (
        "fleet publish",
        &[
            of_line(
                "tidegate fleet publish /srv/fleet --key ~/fleet.key --why strict-lists",
                "For all machines at once",
            ),
            of_line(
                "tidegate fleet publish /srv/fleet --key ~/fleet.key --canary 10% --watch 10m",
                "A tenth of them first; for all after ten minutes without trouble",
            ),
            of_line("tidegate fleet publish /srv/fleet --key ~/fleet.key --dry-run", "Only check"),
        ],
    ),
    (
        "fleet sign",
        &[of_line("tidegate fleet sign /srv/fleet --key ~/second.key", "The second of two")],
    ),
    (
        "fleet promote",
        &[of_line("tidegate fleet promote /srv/fleet --key ~/fleet.key", "The canaries are fine")],
    ),
    (
        "fleet rollback",
        &[of_line(
            "tidegate fleet rollback /srv/fleet --key ~/fleet.key --to 11",
            "The files of revision 11 again, as a new revision",
        )],
    ),
    ("fleet diff", &[of_line("tidegate fleet diff /srv/fleet", "What would be published?")]),
    (
        "fleet status",
        &[
            of_line("tidegate fleet status /srv/fleet", "Every machine, with what troubles it"),
            of_line("sudo tidegate fleet status", "The revision of this machine"),
        ],
    ),
    (
        "fleet invite",
        &[of_line(
            "tidegate fleet invite /srv/fleet --edge harbour-1 --label site=harbour",
            "A token for one machine",
        )],
    ),
    (
        "fleet admit",
        &[of_line("tidegate fleet admit /srv/fleet --key ~/fleet.key", "Whoever has joined")],
    ),
    (
        "fleet drain",
        &[of_line(
            "tidegate fleet drain /srv/fleet --key ~/fleet.key --edge harbour-1",
            "Its /readyz says 503",
        )],
    ),
    (
        "fleet undrain",
        &[of_line(
            "tidegate fleet undrain /srv/fleet --key ~/fleet.key --edge harbour-1",
            "It serves again",
        )],
    ),
    (
        "fleet revoke",
        &[of_line(
            "tidegate fleet revoke /srv/fleet --key ~/fleet.key --edge harbour-1",
            "It was stolen",
        )],
    ),
    (
        "fleet join",
        &[of_line("sudo tidegate fleet join - < token", "On the machine that is to join")],
    ),
    ("service", &[of_line("tidegate service status", "Is there a unit, and does it run?")]),
    (
        "service install",
        &[of_line(
            "sudo tidegate service install --config /etc/tidegate/tidegate.yaml",
            "Start with the machine from now on",
        )],
    ),
    ("service remove", &[of_line("sudo tidegate service remove", "Stop, and no more start")]),
    ("service status", &[of_line("tidegate service status", "Is there a unit, and does it run?")]),
];
