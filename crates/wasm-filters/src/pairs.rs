//! A map of fields as filters read and write it: the count, the lengths, then names and values with
//! a zero behind each, all numbers of four bytes, the least first.
//!
//! What a filter wrote is any bytes: lengths are held against what is there.

use std::fmt;

/// Pairs of one map.
const PAIRS_MAX: u32 = 1024;

/// A map that cannot be read, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairsTrouble {
    /// The end comes before what it says it has.
    Short,
    /// A name or a value has no zero behind it.
    NoEnd,
    /// There are more pairs than are read.
    Many,
}

/// One field.
pub type Pair<'b> = (&'b [u8], &'b [u8]);

/// The fields of a map; bytes behind them are passed over.
pub fn parse(bytes: &[u8]) -> Result<Vec<Pair<'_>>, PairsTrouble> {
    // An empty map has no count.
    if bytes.is_empty() {
        return Ok(Vec::new());
    }
    let (count, rest) = number(bytes)?;
    if count > PAIRS_MAX {
        return Err(PairsTrouble::Many);
    }
    let lengths = rest.get(..count as usize * 8).ok_or(PairsTrouble::Short)?;
    let mut texts = &rest[lengths.len()..];
    let mut pairs = Vec::with_capacity(count as usize);
    for lengths in lengths.as_chunks::<8>().0 {
        let (name_length, rest) = number(lengths)?;
        let (name, after) = text(texts, name_length)?;
        let (value, after) = text(after, number(rest)?.0)?;
        texts = after;
        pairs.push((name, value));
    }
    Ok(pairs)
}

/// The bytes of a map. Texts have at most 4 GiB.
pub fn serialise(pairs: &[Pair<'_>]) -> Vec<u8> {
    let texts: usize = pairs.iter().map(|(name, value)| name.len() + value.len() + 2).sum();
    let mut bytes = Vec::with_capacity(4 + pairs.len() * 8 + texts);
    bytes.extend((pairs.len() as u32).to_le_bytes());
    for (name, value) in pairs {
        bytes.extend((name.len() as u32).to_le_bytes());
        bytes.extend((value.len() as u32).to_le_bytes());
    }
    for text in pairs.iter().flat_map(|(name, value)| [name, value]) {
        bytes.extend_from_slice(text);
        bytes.push(0);
    }
    bytes
}

fn number(bytes: &[u8]) -> Result<(u32, &[u8]), PairsTrouble> {
    let (number, rest) = bytes.split_first_chunk().ok_or(PairsTrouble::Short)?;
    Ok((u32::from_le_bytes(*number), rest))
}

fn text(bytes: &[u8], length: u32) -> Result<(&[u8], &[u8]), PairsTrouble> {
    let length = usize::try_from(length).map_err(|_| PairsTrouble::Short)?;
    let (text, rest) = bytes.split_at_checked(length).ok_or(PairsTrouble::Short)?;
    match rest.split_first() {
        Some((0, rest)) => Ok((text, rest)),
        Some(_) => Err(PairsTrouble::NoEnd),
        None => Err(PairsTrouble::Short),
    }
}

impl fmt::Display for PairsTrouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Short => "the map ends before the fields that it says it has",
            Self::NoEnd => "a field of the map has no zero behind it",
            Self::Many => "the map has more than 1024 fields",
        })
    }
}

impl std::error::Error for PairsTrouble {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_is_read_as_it_was_written() {
        let pairs: [Pair<'_>; 3] = [(b"a", b"1"), (b"bb", b""), (b"", b"c\0d")];
        assert_eq!(parse(&serialise(&pairs)), Ok(pairs.to_vec()));
        assert_eq!(parse(&serialise(&[])), Ok(Vec::new()));
        assert_eq!(parse(&[]), Ok(Vec::new()));
    }

    #[test]
    fn a_map_with_false_lengths_is_refused() {
        let whole = serialise(&[(b"name", b"value")]);
        for end in 1..whole.len() {
            assert_eq!(parse(&whole[..end]), Err(PairsTrouble::Short), "{end}");
        }
        let mut long = whole.clone();
        long[4..8].copy_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(parse(&long), Err(PairsTrouble::Short));
        let mut open = whole.clone();
        open[4] = 3;
        assert_eq!(parse(&open), Err(PairsTrouble::NoEnd));
        assert_eq!(parse(&u32::MAX.to_le_bytes()), Err(PairsTrouble::Many));
    }
}
