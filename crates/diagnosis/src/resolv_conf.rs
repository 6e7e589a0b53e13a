//! `resolv.conf`: whether names that Tidegate itself needs would come back to it.

use crate::DiagnosisSubject;
use crate::finding::{CheckGroup, MachineFinding};
use crate::surroundings::{MachineFolders, text};
use std::net::{IpAddr, SocketAddr};
use transport::is_own_address;
use vocab::Scheme;

const GROUP: CheckGroup = CheckGroup::ResolvConf;
const STUB: &str = "127.0.0.53";
const NAMESERVERS_MAX: usize = 16;

pub(crate) fn check(subject: &DiagnosisSubject) -> Vec<MachineFinding> {
    let asked = name_servers(&subject.machine);
    if asked.is_empty() {
        return vec![
            MachineFinding::note(
                GROUP,
                "/etc/resolv.conf names no server: nothing here finds names",
            )
            .remedy("write `nameserver ADDRESS` into it, such as that of your router"),
        ];
    }
    let Some(back) = asked.iter().find(|it| leads_here(subject, **it)) else {
        let list: Vec<_> = asked.iter().map(ToString::to_string).collect();
        let what = format!("programs of this machine ask {} for names", list.join(", "));
        return vec![MachineFinding::fine(GROUP, what)];
    };
    let needing: Vec<_> = names_to_find(subject);
    if needing.is_empty() {
        return vec![MachineFinding::fine(
            GROUP,
            format!("programs of this machine ask us, at {back}"),
        )];
    }
    let what = format!(
        "/etc/resolv.conf leads back to Tidegate ({back}), which needs it to find {}: a loop",
        needing.join(", ")
    );
    vec![MachineFinding::obstacle(GROUP, what).remedy(
        "write `bootstrap: [9.9.9.9]` below `dns`, or name an upstream by its address, such as \
         udp://9.9.9.9",
    )]
}

/// Addresses that programs of this machine ask for names. Behind its stub, systemd-resolved asks
/// those that follow.
pub fn name_servers(machine: &MachineFolders) -> Vec<IpAddr> {
    let asked = servers(&text(&machine.etc.join("resolv.conf")).unwrap_or_default());
    if asked.is_empty() || asked.iter().any(|it| it.to_string() != STUB) {
        return asked;
    }
    let behind = text(&machine.run.join("systemd/resolve/resolv.conf")).unwrap_or_default();
    [asked, servers(&behind)].concat()
}

/// Addresses of `nameserver` lines.
fn servers(text: &str) -> Vec<IpAddr> {
    let of = |line: &str| {
        let mut words = line.split_whitespace();
        let is_server = words.next() == Some("nameserver");
        // A zone may follow: fe80::1%eth0.
        is_server.then(|| words.next()?.split('%').next()?.parse().ok())?
    };
    text.lines().filter_map(of).take(NAMESERVERS_MAX).collect()
}

/// True if a question to port 53 there comes to the DNS door.
fn leads_here(subject: &DiagnosisSubject, server: IpAddr) -> bool {
    let is_ours = |listen: SocketAddr| {
        listen.port() == 53
            && (listen.ip() == server || listen.ip().is_unspecified() && is_own_address(server))
    };
    let listeners = subject.plan.listen_settings();
    let dns = listeners.iter().filter(|(path, _)| path.starts_with("dns."));
    let mut plain = dns.filter(|(_, listen)| matches!(listen.scheme, Scheme::Udp | Scheme::Tcp));
    plain.any(|(_, listen)| is_ours(listen.address))
}

/// Upstreams given by name, where nothing but `resolv.conf` finds their addresses.
fn names_to_find(subject: &DiagnosisSubject) -> Vec<String> {
    let settings = subject.plan.file.dns.clone().unwrap_or_default().resolver();
    let by_name = |group: &resolver::GroupSettings| {
        let is_ip = |host: &str| host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
        let hosts: Vec<String> =
            group.upstreams.iter().filter_map(|it| host(it.address())).collect();
        let plain = group.upstreams.iter().any(|it| {
            let address = it.address();
            let is_udp = address.starts_with("udp://") || !address.contains("://");
            is_udp && host(address).is_some_and(|host| is_ip(&host))
        });
        if plain || !group.bootstrap.is_empty() {
            return Vec::new();
        }
        hosts.into_iter().filter(|host| !is_ip(host)).collect()
    };
    settings.groups.iter().flat_map(by_name).collect()
}

/// The host of an upstream's address.
pub(crate) fn host(address: &str) -> Option<String> {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let place = rest.split(['/', '?', '#']).next()?;
    if place.parse::<IpAddr>().is_ok() {
        return Some(place.to_owned());
    }
    if let Some(rest) = place.strip_prefix('[') {
        return Some(rest.split(']').next()?.to_owned());
    }
    Some(place.split(':').next()?.to_owned()).filter(|host| !host.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::FindingSeverity;
    use crate::surroundings::tests::FakeMachine;

    #[test]
    fn a_resolv_conf_that_leads_back_is_a_loop_where_upstreams_have_names() {
        let told = |resolv: &str, dns: &str| {
            let files = [("etc/resolv.conf", resolv)];
            let fake = FakeMachine::new("resolv", &files);
            let yaml = format!("dns: {{ listen: ['udp://127.0.0.1:53'], {dns} }}\n");
            check(&fake.subject(&yaml)).remove(0)
        };
        let by_name = "upstreams: ['https://dns.example/dns-query']";
        let looped = told("# x\nnameserver 127.0.0.1\n", by_name);
        assert_eq!(looped.severity, FindingSeverity::Obstacle);
        assert!(looped.what.contains("dns.example") && looped.remedy.is_some(), "{looped:?}");
        let helped = told("nameserver 127.0.0.1\n", "upstreams: ['9.9.9.9']");
        assert_eq!(helped.severity, FindingSeverity::Fine);
        let away = told("nameserver 192.0.2.1\nnameserver fe80::1%eth0", by_name);
        assert_eq!(away.severity, FindingSeverity::Fine);
        assert_eq!(told("search x\n", by_name).severity, FindingSeverity::Note);
    }

    #[test]
    fn hosts_are_read_from_every_way_to_write_an_upstream() {
        for (address, expected) in [
            ("https://dns.example/dns-query", "dns.example"),
            ("tls://1.1.1.1:853", "1.1.1.1"),
            ("9.9.9.9", "9.9.9.9"),
            ("2620:fe::fe", "2620:fe::fe"),
            ("udp://[2620:fe::fe]:53", "2620:fe::fe"),
        ] {
            assert_eq!(host(address).as_deref(), Some(expected));
        }
    }
}
