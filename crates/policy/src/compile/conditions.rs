//! The values of modifiers, read into numbers: `domain=`, `to=`, `denyallow=`, `dnstype=`,
//! `client=`.
//!
//! A value with one wrong entry refuses its rule: without that entry the rule might hold for all.

use crate::clients::tags::ClientTags;
use crate::fingerprint::HashKeys;
use crate::lists::options::{RuleOptions, split};
use crate::report::SkipReason;
use crate::urls::conditions::{ADDRESSES, EntryPart, RuleClient, RuleConditions, TagPart};
use crate::urls::rule::RuleTable;
use vocab::{DomainName, RequestKind};

/// Entries asked for and entries refused.
#[derive(Default)]
struct ConditionEntries<T> {
    only: Vec<T>,
    never: Vec<T>,
}

/// Reads the values and writes them into the table; none if there are none.
pub(super) fn read(
    options: &RuleOptions<'_>,
    table: &mut RuleTable,
    keys: &HashKeys,
) -> Result<Option<u32>, SkipReason> {
    if !options.restricts() {
        return Ok(None);
    }
    let pages = names(options.domain, keys)?;
    let mut hosts = names(options.to, keys)?;
    let denied = names(options.denyallow, keys)?;
    if !denied.never.is_empty() {
        return Err(SkipReason::BadModifier);
    }
    if !denied.only.is_empty() {
        // It spares names, and would hit every address.
        hosts.never.push(ADDRESSES);
    }
    hosts.never.extend(denied.only);
    let record_types = record_types(options.dnstype)?;
    let clients = entries(options.client, client)?;
    let tags =
        entries(options.ctag, |word| ClientTags::by_name(word).ok_or(SkipReason::ClientTag))?;
    let tags =
        TagPart { only: ClientTags::all_of(&tags.only), never: ClientTags::all_of(&tags.never) };
    let conditions = RuleConditions {
        pages: numbers(pages, &mut table.numbers)?,
        hosts: numbers(hosts, &mut table.numbers)?,
        record_types: numbers(record_types, &mut table.numbers)?,
        clients: part(clients, &mut table.clients)?,
        tags,
    };
    table.conditions.push(conditions);
    Ok(Some(table.conditions.len() as u32 - 1))
}

fn entries<T>(
    value: Option<&str>,
    mut read: impl FnMut(&str) -> Result<T, SkipReason>,
) -> Result<ConditionEntries<T>, SkipReason> {
    let mut entries = ConditionEntries { only: Vec::new(), never: Vec::new() };
    for word in value.into_iter().flat_map(|value| split(value, '|')) {
        match word.trim().strip_prefix('~') {
            Some(word) => entries.never.push(read(word)?),
            None => entries.only.push(read(word.trim())?),
        }
    }
    Ok(entries)
}

/// `A|~AAAA` of filter rules, or `A,AAAA` and `!A,AAAA` of Pi-hole's expressions.
fn record_types(value: Option<&str>) -> Result<ConditionEntries<u64>, SkipReason> {
    let read = |word: &str| {
        let code = RequestKind::record_type(word.trim()).map(u64::from);
        code.ok_or(SkipReason::BadModifier)
    };
    let list = |value: &str| value.split(',').map(read).collect::<Result<Vec<_>, _>>();
    match value {
        Some(value) if value.starts_with('!') => {
            Ok(ConditionEntries { only: Vec::new(), never: list(&value[1..])? })
        }
        Some(value) if value.contains(',') => {
            Ok(ConditionEntries { only: list(value)?, never: Vec::new() })
        }
        Some(_) | None => entries(value, read),
    }
}

fn names(value: Option<&str>, keys: &HashKeys) -> Result<ConditionEntries<u64>, SkipReason> {
    entries(value, |word| {
        if !word.is_ascii() {
            return Err(SkipReason::NotAscii);
        }
        // `example.*` is the label `*` below nothing: so does a page know itself, too.
        let (name, entity) = match word.strip_suffix(".*") {
            Some(stem) => (stem, true),
            None => (word, false),
        };
        let name = DomainName::parse(name).map_err(|_| SkipReason::BadModifier)?;
        let name = name.as_str();
        let found = if entity { keys.of(&format!("{name}.*")) } else { keys.of(name) };
        Ok(found.hash)
    })
}

/// An address, a network or the name of a profile, perhaps in quotes, with `\` before what would
/// end it.
fn client(word: &str) -> Result<RuleClient, SkipReason> {
    let quoted = |quote| word.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    let bare = quoted('\'').or_else(|| quoted('"')).unwrap_or(word);
    let mut name = String::with_capacity(bare.len());
    let mut chars = bare.chars();
    while let Some(c) = chars.next() {
        name.push(if c == '\\' { chars.next().unwrap_or(c) } else { c });
    }
    if name.is_empty() {
        return Err(SkipReason::BadModifier);
    }
    Ok(name.parse().map_or_else(|_| RuleClient::Name(name), RuleClient::Network))
}

fn numbers(
    mut entries: ConditionEntries<u64>,
    into: &mut Vec<u64>,
) -> Result<EntryPart, SkipReason> {
    for half in [&mut entries.only, &mut entries.never] {
        half.sort_unstable();
        half.dedup();
    }
    part(entries, into)
}

fn part<T>(entries: ConditionEntries<T>, into: &mut Vec<T>) -> Result<EntryPart, SkipReason> {
    let length = |half: &[T]| u16::try_from(half.len()).map_err(|_| SkipReason::TooLong);
    let (only, never) = (length(&entries.only)?, length(&entries.never)?);
    if only == 0 && never == 0 {
        return Ok(EntryPart::default());
    }
    let start = u32::try_from(into.len()).map_err(|_| SkipReason::TooMany)?;
    into.extend(entries.only);
    into.extend(entries.never);
    Ok(EntryPart { start, only, never })
}
