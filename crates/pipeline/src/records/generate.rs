//! `$GENERATE` of zone files: records by counting, `$GENERATE 1-9 host$ A 192.0.2.$`.
//!
//! An invention of BIND that other programs took over. It only writes words; whether they are a
//! record is for [`super::zone`].

use std::fmt;

/// Records that one directive makes, at most.
pub const GENERATED_MAX: u64 = 65_536;
/// Digits that one number is filled up to, at most: a label has 63.
const WIDTH_MAX: usize = 63;

/// Holds what is counted: from, to, in steps of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct GenerateRange {
    from: i64,
    to: i64,
    step: usize,
}

/// Why a directive generates nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GenerateFault {
    /// What is to be counted is not `from-to` or `from-to/step`.
    Range,
    /// Would make more than [`GENERATED_MAX`] records.
    TooMany,
    /// What stands in `${…}` is not offset, width and base.
    Modifier,
    /// The offset takes a number below zero or out of any range.
    Offset,
}

impl GenerateRange {
    /// Reads `1-9` or `0-100/10`.
    pub(super) fn parse(word: &str) -> Result<Self, GenerateFault> {
        let (range, step) = word.split_once('/').unwrap_or((word, "1"));
        let (from, to) = range.split_once('-').ok_or(GenerateFault::Range)?;
        let number = |word: &str| word.parse::<u32>().map_err(|_| GenerateFault::Range);
        let (from, to, step) = (number(from)?, number(to)?, number(step)?);
        if from > to || step == 0 {
            return Err(GenerateFault::Range);
        }
        if u64::from((to - from) / step) >= GENERATED_MAX {
            return Err(GenerateFault::TooMany);
        }
        Ok(Self { from: from.into(), to: to.into(), step: step as usize })
    }

    pub(super) fn numbers(self) -> impl Iterator<Item = i64> {
        (self.from..=self.to).step_by(self.step)
    }
}

/// Writes `template` with `number` in place of each `$`. `\$` and `$$` stay a dollar sign.
pub(super) fn expand(template: &str, number: i64, out: &mut String) -> Result<(), GenerateFault> {
    let mut rest = template;
    while let Some(at) = rest.find(['$', '\\']) {
        out.push_str(&rest[..at]);
        let is_escape = rest.as_bytes()[at] == b'\\';
        let after = &rest[at + 1..];
        rest = after;
        if is_escape {
            // The escape and what it escapes stay as they are.
            let mut chars = after.chars();
            out.push('\\');
            out.extend(chars.next());
            rest = chars.as_str();
        } else if let Some(after) = after.strip_prefix('$') {
            out.push_str("\\$");
            rest = after;
        } else if let Some(modifier) = after.strip_prefix('{') {
            let (modifier, after) = modifier.split_once('}').ok_or(GenerateFault::Modifier)?;
            NumberFormat::parse(modifier)?.write(number, out)?;
            rest = after;
        } else {
            NumberFormat::PLAIN.write(number, out)?;
        }
    }
    out.push_str(rest);
    Ok(())
}

/// Holds how a number is written: `${offset,width,base}`.
struct NumberFormat {
    offset: i64,
    width: usize,
    base: NumberBase,
}

enum NumberBase {
    Decimal,
    Octal,
    HexLower,
    HexUpper,
    /// Hexadecimal digits from the lowest, with dots between: for names below `ip6.arpa`.
    NibblesLower,
    NibblesUpper,
}

impl NumberFormat {
    const PLAIN: Self = Self { offset: 0, width: 0, base: NumberBase::Decimal };

    fn parse(text: &str) -> Result<Self, GenerateFault> {
        let mut parts = text.split(',');
        let mut next = || parts.next().map(str::trim);
        let offset = next().and_then(|word| word.parse::<i32>().ok());
        let width = next().map_or(Some(0), |word| word.parse().ok().filter(|it| *it <= WIDTH_MAX));
        let base = match next() {
            None | Some("d") => NumberBase::Decimal,
            Some("o") => NumberBase::Octal,
            Some("x") => NumberBase::HexLower,
            Some("X") => NumberBase::HexUpper,
            Some("n") => NumberBase::NibblesLower,
            Some("N") => NumberBase::NibblesUpper,
            Some(_) => return Err(GenerateFault::Modifier),
        };
        match (offset, width, next()) {
            (Some(offset), Some(width), None) => Ok(Self { offset: offset.into(), width, base }),
            _ => Err(GenerateFault::Modifier),
        }
    }

    fn write(&self, number: i64, out: &mut String) -> Result<(), GenerateFault> {
        let number = u32::try_from(number + self.offset).map_err(|_| GenerateFault::Offset)?;
        let width = self.width;
        let digits = match self.base {
            NumberBase::Decimal => format!("{number:0width$}"),
            NumberBase::Octal => format!("{number:0width$o}"),
            NumberBase::HexLower => format!("{number:0width$x}"),
            NumberBase::HexUpper => format!("{number:0width$X}"),
            NumberBase::NibblesLower => nibbles(&format!("{number:x}"), width),
            NumberBase::NibblesUpper => nibbles(&format!("{number:X}"), width),
        };
        out.push_str(&digits);
        Ok(())
    }
}

/// The digits from the last to the first. Dots count for the width, as in BIND.
fn nibbles(digits: &str, width: usize) -> String {
    let wanted = width.div_ceil(2).max(digits.len());
    let zeros = std::iter::repeat_n('0', wanted - digits.len());
    let all = digits.chars().rev().chain(zeros).enumerate();
    all.flat_map(|(at, digit)| (at > 0).then_some('.').into_iter().chain([digit])).collect()
}

impl fmt::Display for GenerateFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Range => f.write_str("write what to count as 1-9 or 0-100/10"),
            Self::TooMany => write!(f, "it would make more than {GENERATED_MAX} records"),
            Self::Modifier => {
                f.write_str("write ${offset,width,base}, with d, o, x, X, n or N as the base")
            }
            Self::Offset => f.write_str("the offset leads to a number below zero or too large"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(template: &str, number: i64) -> Result<String, GenerateFault> {
        let mut out = String::new();
        expand(template, number, &mut out).map(|()| out)
    }

    #[test]
    fn a_number_stands_where_the_dollar_stood() {
        assert_eq!(expanded("host$.lan", 7).unwrap(), "host7.lan");
        assert_eq!(expanded("$-$", 7).unwrap(), "7-7");
        assert_eq!(expanded("${10,4,d}", 7).unwrap(), "0017");
        assert_eq!(expanded("${-7,2,x}y", 17).unwrap(), "0ay");
        assert_eq!(expanded("${0,0,X}", 255).unwrap(), "FF");
        assert_eq!(expanded("${0,3,o}", 8).unwrap(), "010");
        assert_eq!(expanded("${0,7,n}.ip6", 0x1af).unwrap(), "f.a.1.0.ip6");
        assert_eq!(expanded("${0,0,N}", 0x1af).unwrap(), "F.A.1");
        assert_eq!(expanded(r"a\$b$$c\\$", 7).unwrap(), r"a\$b\$c\\7");
        assert_eq!(expanded("plain", 7).unwrap(), "plain");
        assert_eq!(expanded("é$\\é\\", 7).unwrap(), "é7\\é\\");
    }

    #[test]
    fn what_cannot_be_written_is_refused() {
        for template in ["${", "${x}", "${0,64}", "${0,0,q}", "${0,0,d,1}", "${}"] {
            assert_eq!(expanded(template, 7), Err(GenerateFault::Modifier), "{template}");
        }
        assert_eq!(expanded("${-8}", 7), Err(GenerateFault::Offset));
    }

    #[test]
    fn ranges_have_an_end_and_a_cap() {
        let numbers =
            |word| GenerateRange::parse(word).map(|range| range.numbers().collect::<Vec<_>>());
        assert_eq!(numbers("1-3").unwrap(), [1, 2, 3]);
        assert_eq!(numbers("0-10/5").unwrap(), [0, 5, 10]);
        assert_eq!(numbers("0-65535").unwrap().len(), 65_536);
        assert_eq!(numbers("0-65536"), Err(GenerateFault::TooMany));
        for word in ["1", "3-1", "1-3/0", "-1-3", "a-b", "1-", "0-4294967296"] {
            assert_eq!(numbers(word), Err(GenerateFault::Range), "{word}");
        }
    }
}
