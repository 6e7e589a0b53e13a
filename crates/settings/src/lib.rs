//! What every part's `Settings` are made of.
//!
//! A part declares its settings as a plain struct that derives serde and schemars; its field
//! comments are the manual. This crate lends it the written forms of the shared words
//! ([`Text`]): `64MiB`, `24h`, `udp://127.0.0.1:53`. It exists because `vocab` knows no serde and
//! the parts must not know one another. It reads no file.

mod secret_text;

pub use secret_text::SecretText;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::net::{IpAddr, SocketAddr};
use std::ops::Deref;
use std::str::FromStr;
use vocab::{ByteSize, DomainName, Listen, Network, PortRange, TimeSpan};

/// A word that stands in a configuration as text.
pub trait WrittenWord: FromStr<Err: fmt::Display> + fmt::Display {
    /// The name of its form, which the schema carries as `format` and `config` checks by.
    const FORMAT: &'static str;
    /// One that is right.
    const EXAMPLE: &'static str;

    /// `text` as a complaint may show it. Forms that carry passwords leave those out, because
    /// complaints go to terminals and logs.
    fn redacted(text: &str) -> Cow<'_, str> {
        text.into()
    }
}

/// `text` with what stands before its last `@` left out: the name and password of a URL or an
/// authority.
pub fn without_credentials(text: &str) -> Cow<'_, str> {
    let Some((before, host)) = text.rsplit_once('@') else { return text.into() };
    let scheme = before.find("://").map_or("", |at| &before[..at + 3]);
    format!("{scheme}…@{host}").into()
}

impl WrittenWord for ByteSize {
    const FORMAT: &'static str = "size";
    const EXAMPLE: &'static str = "64MiB";
}
impl WrittenWord for TimeSpan {
    const FORMAT: &'static str = "span";
    const EXAMPLE: &'static str = "24h";
}
impl WrittenWord for Listen {
    const FORMAT: &'static str = "listen";
    const EXAMPLE: &'static str = "udp://127.0.0.1:5353";
}
impl WrittenWord for DomainName {
    const FORMAT: &'static str = "name";
    const EXAMPLE: &'static str = "www.example";
}
impl WrittenWord for SocketAddr {
    const FORMAT: &'static str = "address";
    const EXAMPLE: &'static str = "127.0.0.1:9053";
}
impl WrittenWord for IpAddr {
    const FORMAT: &'static str = "ip";
    const EXAMPLE: &'static str = "192.168.1.2";
}
impl WrittenWord for Network {
    const FORMAT: &'static str = "network";
    const EXAMPLE: &'static str = "192.168.0.0/16";
}
impl WrittenWord for PortRange {
    const FORMAT: &'static str = "ports";
    const EXAMPLE: &'static str = "1024-65535";
}

/// A word read from text where it stands, so that a wrong one is a complaint with its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Text<T>(pub T);

impl<T> Deref for Text<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> From<T> for Text<T> {
    fn from(word: T) -> Self {
        Self(word)
    }
}

impl<T: WrittenWord> fmt::Display for Text<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<T: WrittenWord> Serialize for Text<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de, T: WrittenWord> Deserialize<'de> for Text<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextReader<T>(PhantomData<T>);
        impl<T: WrittenWord> Visitor<'_> for TextReader<T> {
            type Value = Text<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a {} such as {}", T::FORMAT, T::EXAMPLE)
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                text.parse().map(Text).map_err(|why| E::custom(not_written::<T>(text, &why)))
            }
            // YAML reads an unquoted `512` as a number; as a size it is right.
            fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
                self.visit_str(&number.to_string())
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<Self::Value, E> {
                u64::try_from(number)
                    .map_err(|_| E::invalid_value(Unexpected::Signed(number), &self))
                    .and_then(|number| Self(PhantomData).visit_u64(number))
            }
        }
        deserializer.deserialize_any(TextReader(PhantomData))
    }
}

impl<T: WrittenWord> JsonSchema for Text<T> {
    fn schema_name() -> Cow<'static, str> {
        T::FORMAT.into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": T::FORMAT, "examples": [T::EXAMPLE] })
    }
}

/// Reads `text` as a `T`, or says why it is none, with an example of one that is right.
pub fn check_written<T: WrittenWord>(text: &str) -> Result<(), String> {
    match text.parse::<T>() {
        Ok(_) => Ok(()),
        Err(why) => Err(not_written::<T>(text, &why)),
    }
}

fn not_written<T: WrittenWord>(text: &str, why: &T::Err) -> String {
    format!("{:?} is no {}: {why}, as in {}", T::redacted(text), T::FORMAT, T::EXAMPLE)
}

/// Reads `text` in the written form called `format`, one of those that all parts share; none where
/// the form is a part's own. `config` asks this for every text of a file, so that all wrong ones
/// are reported at once.
pub fn check_format(format: &str, text: &str) -> Option<Result<(), String>> {
    let check = match format {
        ByteSize::FORMAT => check_written::<ByteSize>,
        TimeSpan::FORMAT => check_written::<TimeSpan>,
        Listen::FORMAT => check_written::<Listen>,
        DomainName::FORMAT => check_written::<DomainName>,
        SocketAddr::FORMAT => check_written::<SocketAddr>,
        IpAddr::FORMAT => check_written::<IpAddr>,
        Network::FORMAT => check_written::<Network>,
        PortRange::FORMAT => check_written::<PortRange>,
        _ => return None,
    };
    Some(check(text))
}

/// "did you mean …", if something in `known` is near enough to `word`: a remedy for a misspelt key
/// or word, whatever file it stands in.
pub fn suggest<'k>(word: &str, known: impl Iterator<Item = &'k str>) -> Option<String> {
    let lower = word.to_ascii_lowercase();
    known
        .map(|candidate| (strsim::damerau_levenshtein(&lower, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= 1 + candidate.len() / 4)
        .min()
        .map(|(_, candidate)| format!("did you mean {candidate:?}?"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn formats_are_checked_by_their_name() {
        assert_eq!(check_format("size", "64MiB"), Some(Ok(())));
        assert!(check_format("size", "lots").unwrap().unwrap_err().contains("64MiB"));
        assert!(check_format("listen", "53").unwrap().is_err());
        assert_eq!(check_format("poem", "anything"), None);
    }

    #[test]
    fn credentials_are_left_out_of_what_is_shown() {
        assert_eq!(without_credentials("http://ann:p@ss@10.0.0.1:80"), "http://…@10.0.0.1:80");
        assert_eq!(without_credentials("ann:secret@10.0.0.1"), "…@10.0.0.1");
        assert_eq!(without_credentials("socks5://10.0.0.1:1080"), "socks5://10.0.0.1:1080");
    }
}
