//! The table of names: which plain names the lists hold, without their texts.
//!
//! A row is 16 bytes and its share of empty places another 15: a fingerprint of 80 bits, the line,
//! and a tag that says list, form and effect. A name in several lists has several rows. What
//! `rule_text` shows is written anew from the name that matched and the row's form. Filled by
//! `compile`, walked by every decision.

mod cell;
mod lines;
mod prefetch;
mod records;
mod sieve;

use crate::fingerprint::{HashKeys, NameFingerprint, NameSuffixes};
use crate::report::ListSyntax;
use bytes::Bytes;
pub(crate) use cell::{CELL_BYTES, NameCell};
use lines::{LineLook, RowLines};
pub use records::TablesDiffer;
use std::ops::Range;
use vocab::{ListId, RuleRef};

/// Tells how a name was written in its list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum NameForm {
    /// `0.0.0.0 name`.
    HostsNull,
    /// `127.0.0.1 name`.
    HostsLoopback,
    /// `:: name`.
    HostsNullV6,
    /// `::1 name`.
    HostsLoopbackV6,
    /// `name`.
    Plain,
    /// `*.name`.
    Wildcard,
    /// `.name`.
    Dotted,
    /// `||name^`.
    Adblock,
    /// `@@||name^`.
    AdblockException,
    /// `address=/name/`.
    DnsmasqAddress,
    /// `server=/name/`.
    DnsmasqServer,
    /// `local=/name/`.
    DnsmasqLocal,
    /// `domain:name`.
    GeositeDomain,
    /// `full:name`.
    GeositeFull,
    /// `local-zone: "name" always_nxdomain`.
    UnboundZone,
    /// `local-data: "name A 0.0.0.0"`.
    UnboundData,
}

const FORMS: [NameForm; 16] = [
    NameForm::HostsNull,
    NameForm::HostsLoopback,
    NameForm::HostsNullV6,
    NameForm::HostsLoopbackV6,
    NameForm::Plain,
    NameForm::Wildcard,
    NameForm::Dotted,
    NameForm::Adblock,
    NameForm::AdblockException,
    NameForm::DnsmasqAddress,
    NameForm::DnsmasqServer,
    NameForm::DnsmasqLocal,
    NameForm::GeositeDomain,
    NameForm::GeositeFull,
    NameForm::UnboundZone,
    NameForm::UnboundData,
];

// A 17th would set the bit that makes a block an exception.
const _: () = assert!(FORMS.len() <= 1 << 4, "a form has four bits of a tag");
const _: () = assert!(
    FORMS[FORMS.len() - 1] as usize == FORMS.len() - 1,
    "all forms, in the order of their numbers"
);

impl NameForm {
    /// True if the line is of a hosts file, which any other rule outranks.
    pub(crate) const fn is_hosts(self) -> bool {
        matches!(
            self,
            Self::HostsNull | Self::HostsLoopback | Self::HostsNullV6 | Self::HostsLoopbackV6
        )
    }

    /// True if it holds for the name alone, not for those below.
    pub(crate) const fn is_exact(self) -> bool {
        self.is_hosts() || matches!(self, Self::Plain | Self::GeositeFull | Self::UnboundData)
    }

    /// The rule about `name`, as it stands in a list of this syntax. Syntaxes without a form of
    /// their own are told by what most of the list is written in.
    pub(crate) fn write_in(self, name: &str, syntax: ListSyntax) -> String {
        match (syntax, self) {
            (ListSyntax::Surge, Self::GeositeDomain) => format!("DOMAIN-SUFFIX,{name}"),
            (ListSyntax::Surge, Self::GeositeFull) => format!("DOMAIN,{name}"),
            (ListSyntax::ResponsePolicyZone, Self::Wildcard) => format!("*.{name} CNAME ."),
            (ListSyntax::ResponsePolicyZone, Self::Plain) => format!("{name} CNAME ."),
            (_, form) => form.write(name),
        }
    }

    /// The rule about `name` in the syntax that the form is of.
    pub(crate) fn write(self, name: &str) -> String {
        let (before, after) = match self {
            Self::HostsNull => ("0.0.0.0 ", ""),
            Self::HostsLoopback => ("127.0.0.1 ", ""),
            Self::HostsNullV6 => (":: ", ""),
            Self::HostsLoopbackV6 => ("::1 ", ""),
            Self::Plain => ("", ""),
            Self::Wildcard => ("*.", ""),
            Self::Dotted => (".", ""),
            Self::Adblock => ("||", "^"),
            Self::AdblockException => ("@@||", "^"),
            Self::DnsmasqAddress => ("address=/", "/"),
            Self::DnsmasqServer => ("server=/", "/"),
            Self::DnsmasqLocal => ("local=/", "/"),
            Self::GeositeDomain => ("domain:", ""),
            Self::GeositeFull => ("full:", ""),
            Self::UnboundZone => ("local-zone: \"", "\" always_nxdomain"),
            Self::UnboundData => ("local-data: \"", " A 0.0.0.0\""),
        };
        format!("{before}{name}{after}")
    }
}

/// Holds what a row says besides the name: list (6 bits), form (4), effect, weight, modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RowTag(pub(crate) u16);

impl RowTag {
    const EXCEPTION: u16 = 1 << 10;
    const IMPORTANT: u16 = 1 << 11;
    const MODIFIED: u16 = 1 << 12;
    /// The bits that a tag has; those above are for whoever stores it.
    pub(crate) const MASK: u16 = (1 << 13) - 1;

    pub(crate) fn new(list: u8, form: NameForm) -> Self {
        Self(u16::from(list & 63) | (form as u16) << 6)
    }

    pub(crate) fn exception(self) -> Self {
        Self(self.0 | Self::EXCEPTION)
    }

    pub(crate) fn important(self) -> Self {
        Self(self.0 | Self::IMPORTANT)
    }

    /// The row's line is the number of a rule with modifiers.
    pub(crate) fn modified(self) -> Self {
        Self(self.0 | Self::MODIFIED)
    }

    pub(crate) const fn list(self) -> u8 {
        (self.0 & 63) as u8
    }

    pub(crate) fn form(self) -> NameForm {
        // A tag is only ever made above, or checked when a snapshot is read.
        FORMS[usize::from(self.0 >> 6 & 15).min(FORMS.len() - 1)]
    }

    pub(crate) const fn is_exception(self) -> bool {
        self.0 & Self::EXCEPTION != 0
    }

    pub(crate) const fn is_important(self) -> bool {
        self.0 & Self::IMPORTANT != 0
    }

    pub(crate) const fn is_modified(self) -> bool {
        self.0 & Self::MODIFIED != 0
    }
}

/// A row whose name is that of a host, or of a parent of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NameRow {
    pub(crate) tag: RowTag,
    /// The line, or the number of a rule with modifiers.
    pub(crate) line: u32,
    /// Where in the host its name begins.
    pub(crate) start: usize,
}

impl NameRow {
    pub(crate) fn rule(self) -> RuleRef {
        RuleRef { list: ListId(self.tag.list()), line: self.line }
    }
}

/// Most rules with modifiers about one name in one list and form: each request for the name tries
/// all.
const MODIFIED_MAX: usize = 64;

/// Names that are looked for at a time, of a host and its parents. Their rows lie far apart; one
/// after the other each would be waited for, together all are waited for once.
const PREFETCH: usize = 8;

/// The table.
#[derive(Debug, Default)]
pub(crate) struct NameTable {
    lines: RowLines,
}

/// Rows on their way into the table.
#[derive(Default)]
pub(crate) struct NamesBuilder {
    cells: Vec<NameCell>,
}

/// The table of names, and the rules that have no room in it.
pub(crate) struct CompiledNames {
    pub(crate) table: NameTable,
    /// Rules with modifiers beyond [`MODIFIED_MAX`] of one name.
    pub(crate) crowded: Vec<u32>,
}

impl NamesBuilder {
    pub(crate) fn push(&mut self, name: NameFingerprint, tag: RowTag, line: u32) {
        self.cells.push(NameCell { hash: name.hash, check: name.check, tag, line });
    }

    /// The table of these rows and of others that come in their order.
    pub(crate) fn build_with(self, kept: impl Iterator<Item = NameCell> + Clone) -> CompiledNames {
        let (new, crowded) = self.sorted();
        let count = new.len() + kept.clone().count();
        let (mut new, mut kept) = (new.into_iter().peekable(), kept.peekable());
        let merged = std::iter::from_fn(|| match kept.peek() {
            Some(next) => new.next_if(|cell| cell < next).or_else(|| kept.next()),
            None => new.next(),
        });
        CompiledNames { table: NameTable { lines: RowLines::build(count, merged) }, crowded }
    }

    /// The table of these rows.
    pub(crate) fn build(self) -> CompiledNames {
        let (cells, crowded) = self.sorted();
        let lines = RowLines::build(cells.len(), cells.into_iter());
        CompiledNames { table: NameTable { lines }, crowded }
    }

    /// The rows in their order; of equal names in equal form and list the first line stays, and of
    /// those with modifiers the first [`MODIFIED_MAX`].
    fn sorted(self) -> (Vec<NameCell>, Vec<u32>) {
        let mut cells = self.cells;
        cells.sort_unstable();
        cells.dedup_by(|next, kept| {
            (next.hash, next.check, next.tag) == (kept.hash, kept.check, kept.tag)
                && !next.tag.is_modified()
        });
        let (mut crowded, mut before, mut count) = (Vec::new(), None, 0);
        cells.retain(|cell| {
            if !cell.tag.is_modified() {
                return true;
            }
            let place = Some((cell.hash, cell.check, cell.tag));
            count = if place == before { count + 1 } else { 1 };
            before = place;
            if count > MODIFIED_MAX {
                crowded.push(cell.line);
            }
            count <= MODIFIED_MAX
        });
        (cells, crowded)
    }
}

impl NameTable {
    /// Takes rows that somebody else stored: none if they are not in order, or do not fit into so
    /// many lists and rules.
    pub(crate) fn from_stored(
        cells: impl ExactSizeIterator<Item = NameCell> + Clone,
        lists: usize,
        rules: usize,
    ) -> Option<Self> {
        let fits = |NameCell { hash: _, check: _, tag, line }: NameCell| {
            tag.0 & !RowTag::MASK == 0
                && usize::from(tag.list()) < lists
                && (!tag.is_modified() || (line as usize) < rules)
        };
        let whole = cells.clone().all(fits) && cells.clone().is_sorted_by_key(|cell| cell.hash);
        whole.then(|| Self { lines: RowLines::build(cells.len(), cells) })
    }

    /// Every row, in their order.
    pub(crate) fn cells(&self) -> impl Iterator<Item = NameCell> + Clone {
        self.lines.cells()
    }

    /// Has the rows fetched that may hold for `host`, and waits for none.
    #[inline]
    pub(crate) fn look<'t, 'h>(&'t self, keys: &'t HashKeys, host: &'h str) -> HostLooks<'t, 'h> {
        let mut looks = HostLooks {
            lines: &self.lines,
            suffixes: keys.suffixes(if self.len() == 0 { "" } else { host }),
            prefetched: [(NameFingerprint::default(), 0, LineLook::default()); PREFETCH],
            count: 0,
        };
        looks.prefetch_next();
        looks
    }

    /// Shows every row that holds for `host`.
    pub(crate) fn visit(&self, keys: &HashKeys, host: &str, found: impl FnMut(NameRow)) {
        self.look(keys, host).visit(found);
    }

    /// Returns how many rows there are.
    pub(crate) fn len(&self) -> usize {
        self.lines.len()
    }

    /// Where the tables lie in memory that every look-up reads.
    pub(crate) fn places(&self) -> [Range<usize>; 2] {
        self.lines.places()
    }

    /// Pieces of the tables' bytes, one behind the other.
    pub(crate) fn pieces(&self) -> [&[u8]; 4] {
        self.lines.pieces()
    }

    /// Reads the tables from `shared` from now on, if it has the same bytes.
    pub(crate) fn share(&mut self, shared: &Bytes) -> Result<(), TablesDiffer> {
        self.lines.share(shared)
    }

    /// Bytes of memory.
    pub(crate) fn bytes(&self) -> u64 {
        self.lines.bytes()
    }
}

/// A host and its parents, on the way to their rows.
pub(crate) struct HostLooks<'t, 'h> {
    lines: &'t RowLines,
    suffixes: NameSuffixes<'t, 'h>,
    /// Each name, where in the host it begins, and its row's place.
    prefetched: [(NameFingerprint, usize, LineLook); PREFETCH],
    count: usize,
}

impl HostLooks<'_, '_> {
    #[inline]
    fn prefetch_next(&mut self) {
        self.count = 0;
        while let Some(slot) = self.prefetched.get_mut(self.count)
            && let Some((name, start)) = self.suffixes.next()
        {
            *slot = (name, start, self.lines.look(name.hash));
            self.count += 1;
        }
    }

    /// Shows every row that holds: for the host's own name, and for parents in forms that reach
    /// below.
    #[inline]
    pub(crate) fn visit(&mut self, mut found: impl FnMut(NameRow)) {
        loop {
            for (name, start, look) in &self.prefetched[..self.count] {
                self.lines.visit(*look, *name, |tag, line| {
                    if *start == 0 || !tag.form().is_exact() {
                        found(NameRow { tag, line, start: *start });
                    }
                });
            }
            if self.count < PREFETCH {
                return;
            }
            self.prefetch_next();
        }
    }
}
