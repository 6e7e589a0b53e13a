//! Providers: sets of names, addresses and rules that matchers share.
//!
//! Files are named here and read by [`crate::compile`]. Called by [`super::plugins`].

use super::learning::{self, DynamicDomainSet};
use super::position::{PlacedWord, ReadNotes, SourcePosition};
use super::tree::{ConfigSection, UnknownKeys};
use serde_json::Value;

/// A provider and its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Provider {
    /// Names.
    DomainSet(SetArgs),
    /// Addresses.
    IpSet(SetArgs),
    /// Names out of a geosite file.
    Geosite(DatArgs),
    /// Addresses out of a geoip file.
    Geoip(DatArgs),
    /// Rules in AdGuard's syntax.
    AdguardRule(SetArgs),
    /// Names that sequences learn.
    DynamicDomainSet(DynamicDomainSet),
}

/// Rules in place, in files, and other providers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetArgs {
    /// Rules.
    pub rules: Vec<PlacedWord>,
    /// Files of them.
    pub files: Vec<PlacedWord>,
    /// Tags of other providers that are part of this one.
    pub sets: Vec<PlacedWord>,
}

/// A file of v2ray and what is taken from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatArgs {
    /// The file.
    pub file: PlacedWord,
    /// `code` or `code@attribute`; all of it if empty.
    pub selectors: Vec<PlacedWord>,
}

/// All types of providers; mosdns has the first two.
pub(super) const TYPES: &[&str] =
    &["domain_set", "ip_set", "geosite", "geoip", "adguard_rule", "dynamic_domain_set"];

/// The provider of type `name`; none if there is no such type, or it was refused with a complaint.
pub(super) fn read(
    name: &str,
    args: &Value,
    place: &SourcePosition,
    notes: &ReadNotes,
) -> Option<Provider> {
    let mut section = ConfigSection::new(args, place, notes);
    if name == "dynamic_domain_set" {
        let set = learning::set(&mut section);
        section.finish(UnknownKeys::Refused);
        return set.map(Provider::DynamicDomainSet);
    }
    let mut set = |rules: &'static str| SetArgs {
        rules: section.texts(rules),
        files: section.texts("files"),
        sets: if name == "adguard_rule" { Vec::new() } else { section.texts("sets") },
    };
    let provider = match name {
        "domain_set" => Some(Provider::DomainSet(set("exps"))),
        "ip_set" => Some(Provider::IpSet(set("ips"))),
        "adguard_rule" => Some(Provider::AdguardRule(set("rules"))),
        "geosite" => dat(&mut section).map(Provider::Geosite),
        "geoip" => dat(&mut section).map(Provider::Geoip),
        _ => return None,
    };
    section.finish(UnknownKeys::AsUsual);
    provider
}

fn dat(section: &mut ConfigSection<'_>) -> Option<DatArgs> {
    let file = section.needed("file");
    let selectors = section.texts("selectors");
    Some(DatArgs { file: file?, selectors })
}
