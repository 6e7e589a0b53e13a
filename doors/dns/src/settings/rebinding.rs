//! What can be set about answers from outside that point inside.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::Text;
use vocab::{Complaint, DomainName};

/// Names that may point inside, at most: they are looked through one by one, but only when an
/// answer does point inside.
const ALLOW_MAX: usize = 1000;

/// Services that answer with private addresses by design. Lists for mail servers say in 127/8 why
/// an address is listed (RFC 5782); Plex finds its servers at home by names of its own, which hold
/// the address; Windows looks for IPv6 by a name that has a unique local address.
const ALLOW_DEFAULT: [&str; 11] = [
    "plex.direct",
    "dns.msftncsi.com",
    "spamhaus.org",
    "spamhaus.net",
    "spamcop.net",
    "barracudacentral.org",
    "surbl.org",
    "uribl.com",
    "dnswl.org",
    "mailspike.net",
    "abusix.zone",
];

/// Answers of public upstreams that point at private addresses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RebindingSettings {
    /// True if answers with private addresses are emptied, with the extended error "blocked".
    /// Private are 10/8, 172.16/12, 192.168/16, 127/8, 169.254/16, 0/8, `::`, `::1`, `fc00::/7`,
    /// `fe80::/10`, `fec0::/10`, and what contains one of these (`::/96`, `::ffff:0:0/96`,
    /// `64:ff9b::/96`, `2002::/16`). Exempt are names of `local`, names at or below the `domains`
    /// of an upstream, and those that exist inside only: `home.arpa`, `internal`, `lan`, `local`,
    /// `localdomain`, `intranet`, `private`, `corp` and `home`. Default true; with a `pipeline`,
    /// false.
    pub protect: Option<bool>,
    /// Names that may point at private addresses, with all below them, as in `fritz.box`. At most
    /// 1000. Default: services that do so by design, `plex.direct`, `dns.msftncsi.com` and lists
    ///       for
    /// mail servers (`spamhaus.org`, `spamhaus.net`, `spamcop.net`, `barracudacentral.org`,
    /// `surbl.org`, `uribl.com`, `dnswl.org`, `mailspike.net`, `abusix.zone`); what is written
    /// takes their place.
    pub allow: Vec<Text<DomainName>>,
}

impl Default for RebindingSettings {
    fn default() -> Self {
        Self { protect: None, allow: ALLOW_DEFAULT.iter().map(name).collect() }
    }
}

impl RebindingSettings {
    /// Returns what is wrong, with paths relative to the section.
    pub(crate) fn check(&self) -> Vec<Complaint> {
        if self.allow.len() <= ALLOW_MAX {
            return Vec::new();
        }
        let message = format!("{} names are over the {ALLOW_MAX} allowed", self.allow.len());
        vec![Complaint::new("allow", message).remedy("write the names that they stand below")]
    }
}

/// A name of the table above.
fn name(text: &&str) -> Text<DomainName> {
    Text(DomainName::parse(text).expect("the table above holds names"))
}
