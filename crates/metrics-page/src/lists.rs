//! The lists of the policy: rules, age, failed fetches.

use crate::family::{FamilyHead, write_family};
use ledger::Collector;
use ledger::prometheus_client::encoding::DescriptorEncoder;
use std::fmt;

/// One list.
#[derive(Clone, Debug, Default)]
pub struct ListRow {
    /// Name.
    pub name: String,
    /// Rules in force.
    pub rules: u64,
    /// Lines that were skipped.
    pub skipped: u64,
    /// True if something of it is in force, or it is meant to be empty.
    pub in_force: bool,
    /// Since when its text is unchanged, in seconds since 1970; 0 if unknown.
    pub changed_s: u64,
    /// Download of the text; none for a list without URL.
    pub fetched: Option<FetchedRow>,
}

/// The download of a list.
#[derive(Clone, Copy, Debug, Default)]
pub struct FetchedRow {
    /// When the text in force was fetched, in seconds since 1970; 0 before the first.
    pub fetched_s: u64,
    /// When its server was asked last; 0 if never.
    pub checked_s: u64,
    /// Tries that failed since the last that did not.
    pub failures: u64,
}

/// All lists.
#[derive(Debug, Default)]
pub struct ListFigures(pub Vec<ListRow>);

impl Collector for ListFigures {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let to = &mut encoder;
        let rows = |of: fn(&ListRow) -> u64| {
            self.0.iter().map(move |it| ([("list", it.name.as_str())], of(it)))
        };
        let head = FamilyHead::gauge("tidegate_list_rules", "Rules of a list that are in force");
        write_family(to, head, rows(|it| it.rules))?;
        let head =
            FamilyHead::gauge("tidegate_list_lines_skipped", "Lines of it that were skipped");
        write_family(to, head, rows(|it| it.skipped))?;
        let help =
            "Whether something of the list is in force (1), or nothing though it has lines (0)";
        write_family(
            to,
            FamilyHead::gauge("tidegate_list_in_force", help),
            rows(|it| it.in_force.into()),
        )?;
        let help = "Since when its text is unchanged, in seconds since 1970";
        let head = FamilyHead::gauge("tidegate_list_change_timestamp_seconds", help);
        write_family(to, head, rows(|it| it.changed_s).filter(|(_, at)| *at > 0))?;
        let fetched = |of: fn(&FetchedRow) -> u64| {
            let with_url = self.0.iter().filter_map(|it| Some((it, it.fetched.as_ref()?)));
            with_url.map(move |(it, fetched)| ([("list", it.name.as_str())], of(fetched)))
        };
        let help = "When the text in force was fetched, in seconds since 1970; 0 before the first";
        let head = FamilyHead::gauge("tidegate_list_fetch_timestamp_seconds", help);
        write_family(to, head, fetched(|it| it.fetched_s))?;
        let help = "When its server was asked last, in seconds since 1970; 0 if never";
        let head = FamilyHead::gauge("tidegate_list_check_timestamp_seconds", help);
        write_family(to, head, fetched(|it| it.checked_s))?;
        let help = "Fetches that failed since the last that did not";
        let head = FamilyHead::gauge("tidegate_list_fetch_failures", help);
        write_family(to, head, fetched(|it| it.failures))
    }
}
