//! The table of names: which plain names the lists hold, without their texts.
//!
//! A row is 16 bytes and its share of the index two to four: a fingerprint of 80 bits, the line, and
//! a tag that says list, form and effect. A name in several lists has several rows, side by side. What
//! `rule_text` shows is written anew from the name that matched and the row's form. Filled by
//! `compile`, walked by every decision.

use crate::buckets::{Directory, Look};
use crate::fingerprint::{Fingerprint, Keys};
use vocab::{ListId, RuleRef};

/// How a name was written in its list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Form {
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

const FORMS: [Form; 16] = [
    Form::HostsNull,
    Form::HostsLoopback,
    Form::HostsNullV6,
    Form::HostsLoopbackV6,
    Form::Plain,
    Form::Wildcard,
    Form::Dotted,
    Form::Adblock,
    Form::AdblockException,
    Form::DnsmasqAddress,
    Form::DnsmasqServer,
    Form::DnsmasqLocal,
    Form::GeositeDomain,
    Form::GeositeFull,
    Form::UnboundZone,
    Form::UnboundData,
];

impl Form {
    /// Whether the line is of a hosts file, which any other rule outranks.
    pub(crate) const fn is_hosts(self) -> bool {
        matches!(
            self,
            Self::HostsNull | Self::HostsLoopback | Self::HostsNullV6 | Self::HostsLoopbackV6
        )
    }

    /// Whether it holds for the name alone, not for those below.
    const fn is_exact(self) -> bool {
        self.is_hosts() || matches!(self, Self::Plain | Self::GeositeFull | Self::UnboundData)
    }

    /// The rule about `name`, as it stands in a list.
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

/// What a row says besides the name: list (6 bits), form (4), effect, weight, modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Tag(pub(crate) u16);

impl Tag {
    const EXCEPTION: u16 = 1 << 10;
    const IMPORTANT: u16 = 1 << 11;
    const MODIFIED: u16 = 1 << 12;

    pub(crate) fn new(list: u8, form: Form) -> Self {
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

    pub(crate) fn form(self) -> Form {
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
pub(crate) struct Row {
    pub(crate) tag: Tag,
    /// The line, or the number of a rule with modifiers.
    pub(crate) line: u32,
    /// Where in the host its name begins.
    pub(crate) start: usize,
}

impl Row {
    pub(crate) fn rule(self) -> RuleRef {
        RuleRef { list: ListId(self.tag.list()), line: self.line }
    }
}

/// Rows on average, or up to twice as many, to a bucket: one cache line of them, seldom two.
const BUCKET_ROWS: usize = 2;
/// Names of which the index is asked at a time. The words wanted lie far apart; asked one after the
/// other each would be waited for, asked together all are waited for once.
const LOOKS: usize = 8;

/// The table.
#[derive(Debug, Default)]
pub(crate) struct Names {
    directory: Directory,
    /// In the order of the hashes. All of a row stands together: a hit costs one more cache line.
    cells: Vec<Cell>,
}

/// What is kept of a name: 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Cell {
    pub(crate) hash: u64,
    pub(crate) check: u16,
    pub(crate) tag: Tag,
    pub(crate) line: u32,
}

/// Rows on their way into the table.
#[derive(Default)]
pub(crate) struct NamesBuilder {
    cells: Vec<Cell>,
}

impl NamesBuilder {
    pub(crate) fn push(&mut self, name: Fingerprint, tag: Tag, line: u32) {
        self.cells.push(Cell { hash: name.hash, check: name.check, tag, line });
    }

    /// The table of these rows and of others that come in their order.
    pub(crate) fn build_with(self, kept: impl Iterator<Item = Cell> + Clone) -> Names {
        let new = self.sorted();
        let mut cells = Vec::with_capacity(new.len() + kept.clone().count());
        let (mut new, mut kept) = (new.into_iter().peekable(), kept.peekable());
        while let Some(next) = kept.peek() {
            match new.next_if(|cell| cell < next) {
                Some(cell) => cells.push(cell),
                None => cells.extend(kept.next()),
            }
        }
        cells.extend(new);
        Names::of(cells)
    }

    /// The table of these rows.
    pub(crate) fn build(self) -> Names {
        Names::of(self.sorted())
    }

    /// The rows in their order; of equal names in equal form and list the first line stays.
    fn sorted(self) -> Vec<Cell> {
        let mut cells = self.cells;
        cells.sort_unstable();
        cells.dedup_by(|next, kept| {
            (next.hash, next.check, next.tag) == (kept.hash, kept.check, kept.tag)
                && !next.tag.is_modified()
        });
        // The table is made to measure: what a vector keeps in hand would be charged to a name.
        cells.shrink_to_fit();
        cells
    }
}

impl Names {
    fn of(cells: Vec<Cell>) -> Self {
        let hashes = cells.iter().map(|cell| cell.hash);
        Self { directory: Directory::build(hashes, BUCKET_ROWS), cells }
    }

    /// Takes rows that somebody else stored: none if they are not in order.
    pub(crate) fn from_stored(cells: Vec<Cell>) -> Option<Self> {
        cells.is_sorted_by_key(|cell| cell.hash).then(|| Self::of(cells))
    }

    pub(crate) fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// Shows every row that holds for `host`: for its own name, and for parents in forms that
    /// reach below.
    #[inline]
    pub(crate) fn visit(&self, keys: &Keys, host: &str, mut found: impl FnMut(Row)) {
        if self.cells.is_empty() {
            return;
        }
        let mut suffixes = keys.suffixes(host);
        loop {
            let mut looks = [(Fingerprint::default(), 0, Look::default()); LOOKS];
            let mut count = 0;
            for (slot, (name, start)) in looks.iter_mut().zip(suffixes.by_ref()) {
                *slot = (name, start, self.directory.look(name.hash));
                count += 1;
            }
            for (name, start, look) in &looks[..count] {
                if let Some(from) = look.start(name.hash) {
                    self.visit_bucket(from, *name, *start, &mut found);
                }
            }
            if count < LOOKS {
                return;
            }
        }
    }

    #[inline]
    fn visit_bucket(
        &self,
        from: usize,
        name: Fingerprint,
        start: usize,
        found: &mut impl FnMut(Row),
    ) {
        let cells = self.cells[from..].iter().take_while(|cell| cell.hash <= name.hash);
        for Cell { hash, check, tag, line } in cells {
            let is_it = *hash == name.hash && *check == name.check;
            if is_it && (start == 0 || !tag.form().is_exact()) {
                found(Row { tag: *tag, line: *line, start });
            }
        }
    }

    /// How many rows there are.
    pub(crate) fn len(&self) -> usize {
        self.cells.len()
    }

    /// Bytes of memory.
    pub(crate) fn bytes(&self) -> u64 {
        self.directory.bytes() + (self.cells.capacity() * size_of::<Cell>()) as u64
    }

    /// Whether a stored table fits into `lists` lists and `rules` rules.
    pub(crate) fn is_whole(&self, lists: usize, rules: usize) -> bool {
        self.cells.iter().all(|Cell { hash: _, check: _, tag, line }| {
            usize::from(tag.list()) < lists
                && usize::from(tag.0 >> 6 & 15) < FORMS.len()
                && (!tag.is_modified() || (*line as usize) < rules)
        })
    }
}
