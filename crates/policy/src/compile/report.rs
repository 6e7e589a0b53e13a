//! Counts what lines became while a list is compiled.

use super::ListSource;
use crate::lists::fitness::UnfitList;
use crate::report::{
    FileLines, ListReport, ListSyntax, SKIPPED_KEPT_MAX, SkipReason, SkippedLine, excerpt,
};

const SYNTAXES: [ListSyntax; 11] = [
    ListSyntax::Hosts,
    ListSyntax::Names,
    ListSyntax::Wildcards,
    ListSyntax::Dnsmasq,
    ListSyntax::Geosite,
    ListSyntax::Unbound,
    ListSyntax::UrlRegex,
    ListSyntax::NameRegex,
    ListSyntax::Surge,
    ListSyntax::ResponsePolicyZone,
    ListSyntax::Adblock,
];

/// The counts of one list.
#[derive(Default)]
pub(super) struct ListTally {
    lines: u32,
    /// Where each file begins, if the list is a folder.
    files: Vec<FileLines>,
    names: u32,
    urls: u32,
    /// Lines in each syntax, in the order of `SYNTAXES`.
    syntaxes: [u32; SYNTAXES.len()],
    /// Skipped lines for each reason, by its number.
    skips: [u32; SkipReason::ALL.len()],
    skipped: Vec<SkippedLine>,
}

impl ListTally {
    /// Counts a line and gives its number; none when numbers are used up.
    pub(super) fn next_line(&mut self) -> Option<u32> {
        self.lines = self.lines.checked_add(1)?;
        Some(self.lines)
    }

    /// Notes that the next line is the first of this file.
    pub(super) fn file(&mut self, name: &str) {
        let first_line = self.lines.saturating_add(1);
        self.files.push(FileLines { name: name.to_owned(), first_line });
    }

    pub(super) fn names(&mut self, syntax: ListSyntax, count: u32) {
        self.names = self.names.saturating_add(count);
        self.syntax(syntax);
    }

    fn syntax(&mut self, syntax: ListSyntax) {
        if let Some(at) = SYNTAXES.iter().position(|other| *other == syntax) {
            self.syntaxes[at] += 1;
        }
    }

    pub(super) fn url(&mut self, syntax: ListSyntax) {
        self.urls += 1;
        self.syntax(syntax);
    }

    /// The report of a text that is no list.
    pub(super) fn unfit(self, why: UnfitList, source: &ListSource<'_>) -> ListReport {
        ListReport { unfit: Some(why), ..self.report(source) }
    }

    /// True if nothing came of the list, and all that was skipped could not be read at all.
    fn says_nothing(&self) -> bool {
        let unreadable = [SkipReason::NotARule, SkipReason::BadName, SkipReason::NotAscii];
        let count = |reason: &SkipReason| self.skips[usize::from(reason.code())];
        let unread: u32 = unreadable.iter().map(count).sum();
        self.names == 0 && self.urls == 0 && unread > 0 && unread == self.skips.iter().sum::<u32>()
    }

    /// Counts a line, or one of the names on it, as skipped.
    pub(super) fn skip(&mut self, reason: SkipReason, line: &[u8]) {
        self.skips[usize::from(reason.code())] += 1;
        if self.skipped.len() < SKIPPED_KEPT_MAX {
            self.skipped.push(SkippedLine { line: self.lines, reason, text: excerpt(line) });
        }
    }

    pub(super) fn report(self, source: &ListSource<'_>) -> ListReport {
        let unfit = self.says_nothing().then_some(UnfitList::NoRules);
        let most = self.syntaxes.iter().enumerate().rev().max_by_key(|(_, count)| **count);
        let syntax = match most {
            Some((at, count)) if *count > 0 => SYNTAXES[at],
            Some(_) | None => ListSyntax::Empty,
        };
        let mut skipped_by_reason: Vec<(SkipReason, u32)> = SkipReason::ALL
            .iter()
            .map(|reason| (*reason, self.skips[usize::from(reason.code())]))
            .filter(|(_, count)| *count > 0)
            .collect();
        skipped_by_reason.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        ListReport {
            name: source.name.to_owned(),
            kind: source.kind,
            syntax,
            unfit,
            lines: self.lines,
            files: self.files,
            rules_names: self.names,
            rules_urls: self.urls,
            skipped: self.skipped,
            skipped_by_reason,
        }
    }
}
