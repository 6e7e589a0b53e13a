//! Entries: what one edge was told by hand and all are to know, with an end.
//!
//! The newest entry of a key holds, by the server's clock. What is in them is the caller's affair.
//! Moments go over the wire as the server's, and are kept as this machine's: clocks an hour apart
//! do no harm.

/// Entry that all edges share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedEntry {
    /// Subject: a new entry takes the place of the one with this key.
    pub key: String,
    /// Words, and until when they hold; none takes back what was said.
    pub said: Option<EntryBody>,
}

/// Words of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryBody {
    /// Words of the caller's, in one line or many.
    pub text: String,
    /// End by this machine's clock, in milliseconds since 1970; none for until it is taken back.
    pub until_unix_ms: Option<u64>,
}

/// Largest key or text, in bytes: longer ones are not told.
pub(crate) const ENTRY_BYTES_MAX: usize = 4096;
/// Largest purge, in bytes: more is purged instead.
pub(crate) const PURGE_BYTES_MAX: usize = 4096;
/// Largest entry as the server holds it, in bytes: its text, and its head before that.
pub(crate) const STORED_BYTES_MAX: usize = ENTRY_BYTES_MAX + 128;
/// Time after its end for which the server keeps an entry, in milliseconds: edges that were away
/// learn within this time that something was taken back. Thirty days.
pub(crate) const KEPT_MS: u64 = 30 * 86_400_000;

/// Milliseconds left, as the script takes them.
pub(crate) fn left_ms(entry: &SharedEntry, now_unix_ms: u64) -> i64 {
    match entry.said.as_ref().map(|said| said.until_unix_ms) {
        None => -2,
        Some(None) => -1,
        Some(Some(until)) => until.saturating_sub(now_unix_ms).min(i64::MAX as u64).cast_signed(),
    }
}

/// Entry as the server holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredEntry {
    /// Moment at which it was made, by the server's clock.
    pub(crate) made_ms: u64,
    /// End by the server's clock; -1 for none, -2 for what was taken back.
    ends: i64,
    /// Process that made it.
    pub(crate) maker: String,
    text: String,
}

impl StoredEntry {
    /// Reads `MADE ENDS MAKER TEXT`.
    pub(crate) fn parse(stored: &str) -> Option<Self> {
        let mut parts = stored.splitn(4, ' ');
        let made_ms = parts.next()?.parse().ok()?;
        let ends = parts.next()?.parse().ok()?;
        let maker = parts.next()?.to_owned();
        let text = parts.next()?;
        (text.len() <= ENTRY_BYTES_MAX).then(|| Self { made_ms, ends, maker, text: text.into() })
    }

    /// The entry as this machine understands it; `ahead_ms` is how far its clock is before the
    /// server's.
    pub(crate) fn entry(&self, key: &str, ahead_ms: i64) -> SharedEntry {
        let until_unix_ms = match self.ends {
            -2 => return SharedEntry { key: key.into(), said: None },
            ends => u64::try_from(ends).ok().map(|it| it.saturating_add_signed(ahead_ms)),
        };
        let said = Some(EntryBody { text: self.text.clone(), until_unix_ms });
        SharedEntry { key: key.into(), said }
    }

    /// True if nobody needs it any more.
    pub(crate) fn is_forgotten(&self, server_ms: u64) -> bool {
        let ended = match self.ends {
            -1 => return false,
            -2 => self.made_ms,
            ends => ends.max(0).cast_unsigned(),
        };
        ended.saturating_add(KEPT_MS) < server_ms
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_carried_over_to_this_clock() {
        let stored = StoredEntry::parse("1000 61000 abc allow shop.example").unwrap();
        let entry = stored.entry("k", 3_600_000);
        let said = entry.said.as_ref().unwrap();
        assert_eq!(said.text, "allow shop.example");
        assert_eq!(said.until_unix_ms, Some(3_661_000));
        assert_eq!(left_ms(&entry, 3_601_000), 60_000, "a minute everywhere");
        assert_eq!(stored.entry("k", -1_000).said.unwrap().until_unix_ms, Some(60_000));
    }

    #[test]
    fn what_has_no_end_and_what_was_taken_back_are_told_apart() {
        let endless = StoredEntry::parse("1000 -1 abc x").unwrap();
        let entry = endless.entry("k", 5);
        assert_eq!(left_ms(&entry, 9), -1);
        assert!(!endless.is_forgotten(u64::MAX));
        let ended = StoredEntry::parse("1000 -2 abc ").unwrap();
        assert_eq!(ended.entry("k", 5), SharedEntry { key: "k".into(), said: None });
        assert_eq!(left_ms(&ended.entry("k", 5), 9), -2);
        assert!(!ended.is_forgotten(KEPT_MS));
        assert!(ended.is_forgotten(KEPT_MS + 1001));
    }

    #[test]
    fn what_is_no_entry_is_none() {
        let long = format!("1 2 a {}", "x".repeat(ENTRY_BYTES_MAX + 1));
        for stored in ["", "1", "1 2", "1 2 a", "x 2 a b", "1 x a b", "-1 2 a b", &long] {
            assert_eq!(StoredEntry::parse(stored), None, "{stored:.20}");
        }
    }
}
