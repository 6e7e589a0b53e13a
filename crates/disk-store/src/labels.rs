//! Labels by which a purge finds a record, besides its key: the URL and the tags.
//!
//! They stand before the head in every record, so that the disk tier keeps its word about purges
//! without knowing what a head is. Nothing here allocates but the encoder. Called by the writer and
//! by whoever reads records.

use crate::format::LABELS_BYTES_MAX;
use crate::not_stored::NotStored;

/// The labels of a record, as they lie in its bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordLabels<'a> {
    pub(crate) url: &'a str,
    tags: &'a [u8],
}

/// Writes URL and tags, each with its length in two bytes.
pub(crate) fn encode(url: &str, tags: &[&str], text: &mut Vec<u8>) -> Result<(), NotStored> {
    for word in [url].iter().chain(tags) {
        let len = u16::try_from(word.len()).map_err(|_| NotStored::LabelsTooLarge)?;
        text.extend(len.to_le_bytes());
        text.extend(word.as_bytes());
        if text.len() > LABELS_BYTES_MAX as usize {
            return Err(NotStored::LabelsTooLarge);
        }
    }
    Ok(())
}

/// One word and what follows it.
fn word(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let (len, rest) = bytes.split_first_chunk::<2>()?;
    let (word, rest) = rest.split_at_checked(u16::from_le_bytes(*len).into())?;
    Some((std::str::from_utf8(word).ok()?, rest))
}

impl<'a> RecordLabels<'a> {
    /// Reads them; `None` where the bytes are no labels.
    pub(crate) fn decode(bytes: &'a [u8]) -> Option<Self> {
        let (url, tags) = word(bytes)?;
        let mut rest = tags;
        while !rest.is_empty() {
            (_, rest) = word(rest)?;
        }
        Some(Self { url, tags })
    }

    /// Returns its tags, in the order in which they were given.
    pub(crate) fn tags(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let mut rest = self.tags;
        std::iter::from_fn(move || {
            let (tag, after) = word(rest)?;
            rest = after;
            Some(tag)
        })
    }

    /// The host of the URL, without its port; empty where the URL has none.
    pub(crate) fn host(&self) -> &'a str {
        let Some((_, rest)) = self.url.split_once("://") else { return "" };
        let authority = rest.split(['/', '?', '#']).next().unwrap_or("");
        let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        // The colons of an IPv6 address stand in brackets; a port stands behind them.
        match host.find(']') {
            Some(end) => &host[..=end],
            None => host.split(':').next().unwrap_or(""),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_read_as_they_were_written() {
        let mut text = Vec::new();
        encode("http://a.example/x", &["news", "", "page 1"], &mut text).unwrap();
        let labels = RecordLabels::decode(&text).unwrap();
        assert_eq!(labels.url, "http://a.example/x");
        assert_eq!(labels.tags().collect::<Vec<_>>(), ["news", "", "page 1"]);
        for end in 1..text.len() {
            let cut = RecordLabels::decode(&text[..end]).map(|cut| cut.tags().count());
            assert!(cut.is_none_or(|tags| tags < 3), "cut at {end}");
        }
    }

    #[test]
    fn too_much_is_refused() {
        let long = "x".repeat(70_000);
        assert_eq!(encode(&long, &[], &mut Vec::new()), Err(NotStored::LabelsTooLarge));
        let many = vec!["0123456789"; 20_000];
        assert_eq!(encode("u", &many, &mut Vec::new()), Err(NotStored::LabelsTooLarge));
    }

    #[test]
    fn a_host_is_found_in_every_form_of_authority() {
        let host = |url| {
            let mut text = Vec::new();
            encode(url, &[], &mut text).unwrap();
            RecordLabels::decode(&text).unwrap().host().to_owned()
        };
        assert_eq!(host("http://a.example/x:1"), "a.example");
        assert_eq!(host("https://a.example:8443"), "a.example");
        assert_eq!(host("http://me:pw@a.example?q=@b"), "a.example");
        assert_eq!(host("http://[2001:db8::1]:81/"), "[2001:db8::1]");
        assert_eq!(host("nothing"), "");
    }
}
