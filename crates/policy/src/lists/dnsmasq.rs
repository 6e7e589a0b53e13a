//! Lines of dnsmasq configurations that block names: `address=/name/`, `server=/name/`,
//! `local=/name/`.
//!
//! An address other than null is a record and a server is a route: neither blocks. Called by
//! `detect` for lines that begin like a dnsmasq setting.

use super::line::before_comment;
use crate::names::NameForm;
use crate::report::SkipReason;

/// Settings that say nothing of names to block, by how they begin.
const OTHERS: &[&str] = &[
    "conf-file=",
    "conf-dir=",
    "ipset=",
    "nftset=",
    "bogus-nxdomain=",
    "cache-size=",
    "no-resolv",
    "resolv-file=",
    "listen-address=",
    "interface=",
    "rebind-domain-ok=",
    "host-record=",
    "cname=",
    "dhcp-",
    "addn-hosts=",
    "domain-needed",
    "bogus-priv",
    "log-queries",
    "no-hosts",
];

/// The names of a blocking line, between slashes, and its form; none if it is no such setting.
pub(crate) fn read(line: &str) -> Option<Result<(NameForm, &str), SkipReason>> {
    let (form, rest) = if let Some(rest) = line.strip_prefix("address=/") {
        (NameForm::DnsmasqAddress, rest)
    } else if let Some(rest) = line.strip_prefix("server=/") {
        (NameForm::DnsmasqServer, rest)
    } else if let Some(rest) = line.strip_prefix("local=/") {
        (NameForm::DnsmasqLocal, rest)
    } else {
        let is_other = OTHERS.iter().any(|start| line.starts_with(start));
        return is_other.then_some(Err(SkipReason::NotABlock));
    };
    let Some((names, value)) = before_comment(rest).rsplit_once('/') else {
        return Some(Err(SkipReason::BadModifier));
    };
    let is_null = matches!(value, "#" | "0.0.0.0" | "::" | "127.0.0.1" | "::1");
    let blocks = value.is_empty() || (form == NameForm::DnsmasqAddress && is_null);
    let refused =
        if form == NameForm::DnsmasqAddress { SkipReason::Record } else { SkipReason::NotABlock };
    Some(if blocks { Ok((form, names)) } else { Err(refused) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_addresses_and_servers_block() {
        let check = |line, expected| assert_eq!(read(line), expected, "{line}");
        check("address=/a.example/", Some(Ok((NameForm::DnsmasqAddress, "a.example"))));
        check("address=/a.example/#", Some(Ok((NameForm::DnsmasqAddress, "a.example"))));
        check(
            "address=/a.example/b.example/::",
            Some(Ok((NameForm::DnsmasqAddress, "a.example/b.example"))),
        );
        check("server=/a.example/", Some(Ok((NameForm::DnsmasqServer, "a.example"))));
        check("local=/a.example/", Some(Ok((NameForm::DnsmasqLocal, "a.example"))));
        check("address=/a.example/192.0.2.1", Some(Err(SkipReason::Record)));
        check("server=/a.example/192.0.2.1", Some(Err(SkipReason::NotABlock)));
        check("address=/a.example/ # seen", Some(Ok((NameForm::DnsmasqAddress, "a.example"))));
        check("cache-size=1000", Some(Err(SkipReason::NotABlock)));
        check("a.example", None);
    }
}
