//! Entries of a router's lists: whose they are, and which were written of late.
//!
//! The comment of an entry has the form that OxiDNS gives it, so that a router's entries are known
//! whichever of the two wrote them. It sends nothing. Called by [`super::session`].

use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;
use vocab::Now;

/// Addresses that are remembered, at most; at the cap those that are over go, or all.
const WRITTEN_MAX: usize = 65_536;
/// An address in use is written again after so long at the latest.
const REFRESH_MAX_MS: u64 = 60_000;
/// And so long before its time is over.
const LEAD_MIN_MS: u64 = 1_000;
const LEAD_MAX_MS: u64 = 60_000;

/// Tells how long an entry is to stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntryLife {
    /// So many seconds.
    Seconds(u32),
    /// Until it is removed.
    Lasting,
}

/// Tells what an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntryKind {
    /// An address of an answer.
    Dynamic,
    /// One that is set.
    Persistent,
}

/// Owner of entries: us.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EntryOwner {
    pub(super) prefix: String,
    pub(super) tag: String,
}

impl EntryOwner {
    /// The comment of an entry.
    pub(super) fn comment(&self, kind: EntryKind, name: Option<&str>) -> String {
        let (prefix, tag) = (&self.prefix, &self.tag);
        let letter = match kind {
            EntryKind::Dynamic => 'D',
            EntryKind::Persistent => 'P',
        };
        let mut comment = format!("{prefix};pg={tag};kind={letter}");
        if let Some(name) = name {
            comment.push_str(";dm=");
            // Names are anybody's: nothing of theirs may read as another part of the comment.
            let plain = |it: char| it.is_ascii_alphanumeric() || matches!(it, '.' | '-' | '_');
            comment.extend(name.chars().map(|it| if plain(it) { it } else { '?' }));
        }
        comment
    }

    /// The kind of the entry with this comment, if it is ours.
    pub(super) fn kind_of(&self, comment: Option<&str>) -> Option<EntryKind> {
        let rest = comment?.strip_prefix(self.prefix.as_str())?.strip_prefix(';')?;
        let part = |name: &str| {
            rest.split(';').find_map(|part| part.trim().strip_prefix(name)?.strip_prefix('='))
        };
        if part("pg")? != self.tag {
            return None;
        }
        match part("kind")? {
            "D" => Some(EntryKind::Dynamic),
            "P" => Some(EntryKind::Persistent),
            _ => None,
        }
    }
}

/// An address as lists hold it, with the bits of its network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ListedNetwork {
    pub(super) address: IpAddr,
    bits: u8,
}

impl ListedNetwork {
    /// An address alone.
    pub(super) const fn host(address: IpAddr) -> Self {
        Self { address, bits: if address.is_ipv4() { 32 } else { 128 } }
    }

    /// True if every address of its family is in it.
    pub(super) const fn is_everything(&self) -> bool {
        self.bits == 0
    }

    /// The same with its bits, whatever they are.
    pub(super) fn in_full(&self) -> String {
        format!("{}/{}", self.address, self.bits)
    }
}

impl fmt::Display for ListedNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::host(self.address) {
            self.address.fmt(f)
        } else {
            f.write_str(&self.in_full())
        }
    }
}

/// A network as routers and people write it.
pub(super) fn network(text: &str) -> Option<ListedNetwork> {
    let (address, bits) = match text.trim().split_once('/') {
        Some((address, bits)) => (address, Some(bits.parse::<u8>().ok()?)),
        None => (text.trim(), None),
    };
    let address: IpAddr = address.parse().ok()?;
    let most = if address.is_ipv4() { 32 } else { 128 };
    let bits = bits.unwrap_or(most);
    (bits <= most).then(|| ListedNetwork { address: masked(address, bits), bits })
}

fn masked(address: IpAddr, bits: u8) -> IpAddr {
    match address {
        IpAddr::V4(v4) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(bits)).unwrap_or(0);
            IpAddr::V4((u32::from(v4) & mask).into())
        }
        IpAddr::V6(v6) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0);
            IpAddr::V6((u128::from(v6) & mask).into())
        }
    }
}

/// Addresses that were written of late.
#[derive(Debug, Default)]
pub(super) struct WrittenEntries(HashMap<IpAddr, WrittenEntry>);

#[derive(Clone, Copy, Debug)]
struct WrittenEntry {
    life: EntryLife,
    over_ms: u64,
    again_ms: u64,
}

impl WrittenEntries {
    /// True if `address` is to be written now.
    pub(super) fn is_due(&self, address: IpAddr, life: EntryLife, now: Now) -> bool {
        let Some(written) = self.0.get(&address) else { return true };
        match (life, written.life) {
            (EntryLife::Lasting, EntryLife::Lasting) => false,
            (EntryLife::Lasting, EntryLife::Seconds(_))
            | (EntryLife::Seconds(_), EntryLife::Lasting) => true,
            (EntryLife::Seconds(wanted), EntryLife::Seconds(given)) => {
                wanted > given || now.mono_ms >= written.again_ms
            }
        }
    }

    /// Notes that `address` was written.
    pub(super) fn note(&mut self, address: IpAddr, life: EntryLife, now: Now) {
        if self.0.len() >= WRITTEN_MAX {
            self.0.retain(|_, it| it.over_ms > now.mono_ms);
            if self.0.len() >= WRITTEN_MAX {
                // They are written once more, no worse.
                self.0.clear();
            }
        }
        let (over_ms, again_ms) = match life {
            EntryLife::Lasting => (u64::MAX, u64::MAX),
            EntryLife::Seconds(seconds) => {
                let long_ms = u64::from(seconds) * 1000;
                let lead = (long_ms / 4).clamp(LEAD_MIN_MS, LEAD_MAX_MS);
                let again = long_ms.saturating_sub(lead).min(REFRESH_MAX_MS);
                (now.mono_ms + long_ms, now.mono_ms + again)
            }
        };
        self.0.insert(address, WrittenEntry { life, over_ms, again_ms });
    }

    /// Forgets an address: what became of it is not known.
    pub(super) fn forget(&mut self, address: IpAddr) {
        self.0.remove(&address);
    }

    /// Forgets all.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A test fails by panicking.
    use super::*;

    fn owner() -> EntryOwner {
        EntryOwner { prefix: "fdns".into(), tag: "list".into() }
    }

    #[test]
    fn entries_are_ours_by_their_comment_alone() {
        let own = owner();
        let dynamic = own.comment(EntryKind::Dynamic, Some("www.test"));
        assert_eq!(dynamic, "fdns;pg=list;kind=D;dm=www.test");
        assert_eq!(own.kind_of(Some(&dynamic)), Some(EntryKind::Dynamic));
        let persistent = own.comment(EntryKind::Persistent, None);
        assert_eq!(own.kind_of(Some(&persistent)), Some(EntryKind::Persistent));
        // A name cannot make itself another kind, or another's.
        let forged = own.comment(EntryKind::Dynamic, Some("x;kind=P;pg=y.test"));
        assert_eq!(forged, "fdns;pg=list;kind=D;dm=x?kind?P?pg?y.test");
        for other in [
            None,
            Some(""),
            Some("printer"),
            Some("fdns"),
            Some("fdns2;pg=list;kind=D"),
            Some("fdns;pg=other;kind=D"),
            Some("fdns;pg=list"),
            Some("fdns;pg=list;kind=X"),
        ] {
            assert_eq!(own.kind_of(other), None, "{other:?}");
        }
    }

    #[test]
    fn addresses_are_read_as_routers_write_them() {
        let read = |text| network(text).map(|it| it.in_full());
        assert_eq!(read("192.0.2.1").unwrap(), "192.0.2.1/32");
        assert_eq!(read(" 192.0.2.77/24 ").unwrap(), "192.0.2.0/24");
        assert_eq!(read("2001:db8::1/128").unwrap(), "2001:db8::1/128");
        assert_eq!(read("2001:db8::1/32").unwrap(), "2001:db8::/32");
        assert_eq!(read("0.0.0.0/0").unwrap(), "0.0.0.0/0");
        for wrong in ["", "x", "192.0.2.1/33", "192.0.2.1/x", "192.0.2.1-192.0.2.9"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn an_address_in_use_is_written_again_before_its_time_is_over() {
        let at = |ms| Now { unix_ms: 0, mono_ms: ms };
        let address: IpAddr = "192.0.2.1".parse().unwrap();
        let mut written = WrittenEntries::default();
        let life = EntryLife::Seconds(60);
        assert!(written.is_due(address, life, at(0)));
        written.note(address, life, at(0));
        assert!(!written.is_due(address, life, at(44_999)));
        assert!(written.is_due(address, life, at(45_000)));
        // A longer time is worth it at once, a shorter one is not.
        assert!(written.is_due(address, EntryLife::Seconds(61), at(1)));
        assert!(!written.is_due(address, EntryLife::Seconds(5), at(1)));
        // Long ones are written once a minute all the same.
        written.note(address, EntryLife::Seconds(3600), at(0));
        assert!(written.is_due(address, EntryLife::Seconds(3600), at(60_000)));
        written.note(address, EntryLife::Lasting, at(0));
        assert!(!written.is_due(address, EntryLife::Lasting, at(u64::MAX)));
        assert!(written.is_due(address, life, at(1)));
    }

    #[test]
    fn what_is_remembered_has_a_cap() {
        let now = Now { unix_ms: 0, mono_ms: 0 };
        let mut written = WrittenEntries::default();
        for number in 0..=WRITTEN_MAX as u32 {
            written.note(IpAddr::V4(number.into()), EntryLife::Lasting, now);
        }
        assert_eq!(written.0.len(), 1);
    }
}
