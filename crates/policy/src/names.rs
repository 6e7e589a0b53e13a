//! The table of names: which plain names the lists hold, without their texts.
//!
//! A row is 20 bytes and its share of the index two: a fingerprint of 96 bits, the line, and a tag
//! that says list, form and effect. A name in several lists has several rows, side by side. What
//! `rule_text` shows is written anew from the name that matched and the row's form. Filled by
//! `compile`, walked by every decision.

use crate::buckets::Buckets;
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
}

const FORMS: [Form; 12] = [
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
        self.is_hosts() || matches!(self, Self::Plain)
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

/// The table.
#[derive(Debug, Default)]
pub(crate) struct Names {
    pub(crate) index: Buckets,
    /// In the order of the hashes. All of a row stands together: a hit costs one more cache line.
    pub(crate) cells: Vec<Cell>,
}

/// What is kept of a name besides its hash.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cell {
    pub(crate) check: u32,
    pub(crate) line: u32,
    pub(crate) tag: Tag,
}

/// Rows on their way into the table.
#[derive(Default)]
pub(crate) struct NamesBuilder {
    rows: Vec<(u64, u32, Tag, u32)>,
}

impl NamesBuilder {
    pub(crate) fn push(&mut self, name: Fingerprint, tag: Tag, line: u32) {
        self.rows.push((name.hash, name.check, tag, line));
    }

    /// Sorts the rows; of equal names in equal form and list the first line stays.
    pub(crate) fn build(mut self) -> Names {
        self.rows.sort_unstable();
        self.rows.dedup_by(|next, kept| {
            (next.0, next.1, next.2) == (kept.0, kept.1, kept.2) && !next.2.is_modified()
        });
        // The tables are made to measure: what a vector keeps in hand would be charged to a name.
        let cell = |row: &(u64, u32, Tag, u32)| Cell { check: row.1, line: row.3, tag: row.2 };
        Names {
            cells: self.rows.iter().map(cell).collect(),
            index: Buckets::build(self.rows.iter().map(|row| row.0).collect()),
        }
    }
}

impl Names {
    /// Shows every row that holds for `host`: for its own name, and for parents in forms that
    /// reach below.
    #[inline]
    pub(crate) fn visit(&self, keys: &Keys, host: &str, mut found: impl FnMut(Row)) {
        if self.cells.is_empty() {
            return;
        }
        for (name, start) in keys.suffixes(host) {
            for cell in &self.cells[self.index.find(name.hash)] {
                let Cell { check, line, tag } = *cell;
                if check == name.check && (start == 0 || !tag.form().is_exact()) {
                    found(Row { tag, line, start });
                }
            }
        }
    }

    /// How many rows there are.
    pub(crate) fn len(&self) -> usize {
        self.cells.len()
    }

    /// Bytes of memory.
    pub(crate) fn bytes(&self) -> u64 {
        self.index.bytes() + (self.cells.capacity() * size_of::<Cell>()) as u64
    }

    /// Whether a stored table fits together, and into `lists` lists and `rules` rules.
    pub(crate) fn is_whole(&self, lists: usize, rules: usize) -> bool {
        self.index.len() == self.cells.len()
            && self.cells.iter().all(|Cell { check: _, line, tag }| {
                usize::from(tag.list()) < lists
                    && usize::from(tag.0 >> 6 & 15) < FORMS.len()
                    && (!tag.is_modified() || (*line as usize) < rules)
            })
    }
}
