//! Records of one's own: `hosts`, `arbitrary`, `redirect`, and black holes with addresses.

use crate::book::PluginBook;
use crate::kept_reason::KeptReason;
use crate::names::{NamedRule, NamedRules};
use mosdns_compat::language::ListedRules;
use pipeline::sets::{DomainKind, without_comment};
use std::net::IpAddr;

/// Records, at most.
const RECORDS_MAX: usize = 50_000;

/// Lines of a plugin's rules, with the names that they are about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct OwnedLines {
    pub(crate) lines: Vec<String>,
    pub(crate) names: Vec<NamedRule>,
    /// True if some come from files.
    pub(crate) is_of_files: bool,
}

/// `hosts`: a name with its addresses, as records.
pub(crate) fn hosts(rules: &ListedRules, book: &PluginBook<'_>) -> Result<OwnedLines, KeptReason> {
    let mut made = OwnedLines::default();
    for line in &written(rules, book, &mut made.is_of_files)? {
        let mut words = line.split_whitespace();
        let Some(name) = words.next() else { continue };
        // What cannot be read is left out there too.
        let Some(rule) = NamedRule::parse(name, DomainKind::Full) else { continue };
        let owner = rule.owner()?;
        for word in words {
            let Ok(ip) = word.parse::<IpAddr>() else { continue };
            made.lines.push(record(&owner, ip));
        }
        made.names.push(rule);
    }
    bounded(made)
}

/// `arbitrary`: lines of a zone file.
pub(crate) fn zone(rules: &ListedRules, book: &PluginBook<'_>) -> Result<OwnedLines, KeptReason> {
    let mut made = OwnedLines::default();
    for line in written(rules, book, &mut made.is_of_files)? {
        let Some(owner) = line.split_whitespace().next() else { continue };
        if line.contains(['(', ')', '$']) {
            return Err(KeptReason::Value("record"));
        }
        if let Some(rule) = NamedRule::parse(owner, DomainKind::Full) {
            made.names.push(rule);
        }
        made.lines.push(line);
    }
    bounded(made)
}

/// `redirect`: a name and another one.
pub(crate) fn redirects(
    rules: &ListedRules,
    book: &PluginBook<'_>,
) -> Result<OwnedLines, KeptReason> {
    let mut made = OwnedLines::default();
    for line in &written(rules, book, &mut made.is_of_files)? {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [name, other] = words[..] else { continue };
        let Some(rule) = NamedRule::parse(name, DomainKind::Full) else { continue };
        made.lines.push(format!("{} {}", rule.owner()?, other.trim_end_matches('.')));
        made.names.push(rule);
    }
    bounded(made)
}

/// Names with the same addresses.
pub(crate) fn same_addresses(
    names: &NamedRules,
    addresses: &[IpAddr],
) -> Result<Vec<String>, KeptReason> {
    if !names.files.is_empty() || !names.filters.is_empty() {
        return Err(KeptReason::Value("address for names of a file"));
    }
    let mut lines = Vec::new();
    for rule in &names.names {
        let owner = rule.owner()?;
        lines.extend(addresses.iter().map(|ip| record(&owner, *ip)));
    }
    Ok(lines)
}

fn record(owner: &str, ip: IpAddr) -> String {
    let kind = if ip.is_ipv4() { "A" } else { "AAAA" };
    format!("{owner} {kind} {ip}")
}

fn bounded(made: OwnedLines) -> Result<OwnedLines, KeptReason> {
    if made.lines.len() > RECORDS_MAX { Err(KeptReason::TooLong) } else { Ok(made) }
}

/// The lines of a plugin: in place, then in its files.
fn written(
    rules: &ListedRules,
    book: &PluginBook<'_>,
    is_of_files: &mut bool,
) -> Result<Vec<String>, KeptReason> {
    let mut lines: Vec<String> = rules.rules.iter().map(|it| it.text.clone()).collect();
    for file in &rules.files {
        let text = book.files.text(&file.text);
        let text = text.map_err(|why| KeptReason::Unread(format!("{}: {why}", file.text)))?;
        lines.extend(text.lines().map(str::to_owned));
        *is_of_files = true;
    }
    let plain = lines.iter().map(|line| without_comment(line).trim().to_owned());
    Ok(plain.filter(|line| !line.is_empty()).collect())
}
