//! Names and types that are answered without asking anybody.

use super::{MadePart, SimpleBuilder, StepFate};
use crate::kept_reason::KeptReason;
use crate::names::{self, NamedRules};
use crate::records;
use crate::steps::{FixedAnswer, NameTest};
use pipeline::program::{BlackHole, HoleMisfits};
use serde_json::json;
use std::net::IpAddr;

/// Answer of all blocked names.
enum BlockedAnswer {
    /// A word of `dns.blocked`.
    Style(&'static str),
    /// Addresses that are ours to give as records.
    Addresses(Vec<IpAddr>),
}

const CHANGED: &str = "the answer tells clients that it is a block, and how long to keep it";

impl<'f> SimpleBuilder<'_, 'f> {
    pub(super) fn block(&mut self, test: NameTest<'f>, answer: &FixedAnswer) -> StepFate {
        let found = names::names(test, self.book)?;
        if !self.views.is_empty() || found.may_meet(&self.routed) {
            return Err(KeptReason::Order("lists go before upstreams"));
        }
        for file in &found.files {
            names::check_file(file, self.book)?;
        }
        match blocked(answer)? {
            BlockedAnswer::Addresses(addresses) => {
                let lines = records::same_addresses(&found, &addresses)?;
                if found.may_meet(&self.owned) || found.may_meet(&self.blocked) {
                    return Err(KeptReason::Order("records go before lists"));
                }
                self.local.extend(lines);
                self.owned.extend(found.names);
                self.made.insert(MadePart::Answers);
                Ok(Some("other types of these names are empty, as records: dns.local"))
            }
            BlockedAnswer::Style(style) => {
                self.take_style(style)?;
                if matches!(answer, FixedAnswer::Hole(_)) {
                    self.draft.sections.set("dns", "blocked_ttl", "5m");
                }
                self.list(found);
                Ok(Some(CHANGED))
            }
        }
    }

    fn take_style(&mut self, style: &'static str) -> Result<(), KeptReason> {
        if self.style.is_some_and(|known| known != style) {
            return Err(KeptReason::Several("the answer for blocked names (dns.blocked)"));
        }
        self.style = Some(style);
        self.made.insert(MadePart::Answers);
        self.made.insert(MadePart::Blocks);
        Ok(())
    }

    /// A list of the names of a rule, and one of each file.
    fn list(&mut self, found: NamedRules) {
        let number = self.lists.len() + 1;
        let rules: Vec<String> =
            found.names.iter().map(names::NamedRule::listed).chain(found.filters).collect();
        if !rules.is_empty() {
            self.lists.push(json!({ "name": format!("blocked {number}"), "rules": rules }));
        }
        for file in &found.files {
            let stem = file.path.rsplit('/').next().unwrap_or(&file.path);
            let name = format!("{stem} {}", self.lists.len() + 1);
            self.lists.push(json!({ "name": name, "path": file.path }));
            if !file.path.starts_with('/') {
                let why = "a relative path starts where this file stands: keep it beside the list";
                let whole = self.book.files.whole();
                self.draft.report.changed(&whole, &file.path, "policy.lists", why);
            }
        }
        if found.files.is_empty() {
            self.blocked.extend(found.names);
        }
    }

    pub(super) fn refuse_types(&mut self, types: &[u16], answer: &FixedAnswer) -> StepFate {
        if !self.views.is_empty() || !self.routed.is_empty() {
            return Err(KeptReason::Order("types are refused before upstreams are asked"));
        }
        let words = types.iter().map(|it| type_word(*it));
        match blocked(answer)? {
            BlockedAnswer::Style("nodata") => {
                for word in words {
                    self.draft.sections.push("dns", "filter_types", word);
                }
                self.made.insert(MadePart::Answers);
                Ok(None)
            }
            BlockedAnswer::Style(style) => {
                self.take_style(style)?;
                let rules: Vec<String> = words.map(|it| format!("*$dnstype={it}")).collect();
                let name = format!("types {}", self.lists.len() + 1);
                self.lists.push(json!({ "name": name, "rules": rules }));
                Ok(Some("policy.lists: as a rule for these types of all names"))
            }
            BlockedAnswer::Addresses(_) => Err(KeptReason::Conditional("black_hole")),
        }
    }
}

/// A fixed answer as settings have it.
fn blocked(answer: &FixedAnswer) -> Result<BlockedAnswer, KeptReason> {
    use BlockedAnswer::Style;
    match answer {
        FixedAnswer::Code(0) | FixedAnswer::Hole(BlackHole::Empty) => Ok(Style("nodata")),
        FixedAnswer::Code(3) | FixedAnswer::Hole(BlackHole::NxDomain) => Ok(Style("nxdomain")),
        FixedAnswer::Code(5) | FixedAnswer::Hole(BlackHole::Refused) => Ok(Style("refused")),
        FixedAnswer::Hole(BlackHole::Null) => Ok(Style("null")),
        FixedAnswer::Code(code) => Err(KeptReason::Code(*code)),
        FixedAnswer::Hole(BlackHole::Addresses { addresses, misfits, .. }) => {
            let has = |v4: bool| addresses.iter().any(|it| it.is_ipv4() == v4);
            let has_both = has(true) && has(false);
            // Of a family without an address mosdns asks on, and of other types.
            if *misfits == HoleMisfits::Pass && !has_both {
                return Err(KeptReason::Value("black hole with addresses of one family"));
            }
            if addresses.iter().all(IpAddr::is_unspecified) && has_both {
                return Ok(Style("null"));
            }
            Ok(BlockedAnswer::Addresses(addresses.to_vec()))
        }
    }
}

/// The name of a type, as rules and settings have it.
fn type_word(number: u16) -> String {
    let names = [
        (1, "A"),
        (2, "NS"),
        (5, "CNAME"),
        (6, "SOA"),
        (12, "PTR"),
        (15, "MX"),
        (16, "TXT"),
        (28, "AAAA"),
        (33, "SRV"),
        (64, "SVCB"),
        (65, "HTTPS"),
    ];
    let known = names.iter().find(|(it, _)| *it == number);
    known.map_or_else(|| format!("TYPE{number}"), |(_, name)| (*name).to_owned())
}
