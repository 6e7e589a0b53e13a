//! Changes of a palette, as they are written in a URL: `g`, `t`, or single colours.

use crate::Colour;
use std::cmp::Ordering;

/// Single colours of one change.
const SINGLES_MAX: usize = 6;
/// Digits of one: an index and three bytes.
const SINGLE_DIGITS: usize = 7;

/// A change of a palette.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaletteChange(ChangeForm);

#[derive(Clone, Debug, PartialEq, Eq)]
enum ChangeForm {
    /// A gradient from one index to a later one.
    Gradient { from: (u8, Colour), to: (u8, Colour) },
    /// Every colour between a dark one and a tint, by its brightness.
    Tint { dark: Colour, tint: Colour },
    /// These colours at these indices.
    Singles(Vec<(u8, Colour)>),
}

impl PaletteChange {
    /// The change that the last segment of a URL's path says: `p` and `gIIrrggbbJJrrggbb`,
    /// `trrggbb`, `trrggbbrrggbb` or up to six of `Irrggbb`, in hexadecimal digits of lower case.
    pub fn parse(segment: &str) -> Option<Self> {
        let spec = segment.strip_prefix('p').filter(|spec| !spec.is_empty())?;
        let form = match spec.as_bytes()[0] {
            b'g' => gradient(&spec[1..])?,
            b't' => tint(&spec[1..])?,
            _ => singles(spec)?,
        };
        Some(Self(form))
    }

    /// Applies it to a palette, three bytes a colour. Indices behind its end change nothing.
    pub(crate) fn apply(&self, palette: &mut [u8]) {
        match &self.0 {
            ChangeForm::Gradient { from, to } => {
                let steps = to.0.saturating_sub(from.0);
                for index in from.0..=to.0 {
                    let between = |at| between(from.1[at], to.1[at], index - from.0, steps);
                    set(palette, index, std::array::from_fn(between));
                }
            }
            ChangeForm::Tint { dark, tint } => {
                for (at, byte) in palette.iter_mut().enumerate() {
                    *byte = between(dark[at % 3], tint[at % 3], *byte, u8::MAX);
                }
            }
            ChangeForm::Singles(singles) => {
                for (index, colour) in singles {
                    set(palette, *index, *colour);
                }
            }
        }
    }
}

/// The byte so many of all steps from one to another, rounded down.
fn between(from: u8, to: u8, step: u8, steps: u8) -> u8 {
    let (way, steps) = (u16::from(from.abs_diff(to)) * u16::from(step), u16::from(steps.max(1)));
    let way = if from <= to { way / steps } else { way.div_ceil(steps) };
    // No longer than the difference of two bytes.
    let way = u8::try_from(way).unwrap_or(u8::MAX);
    if from <= to { from.saturating_add(way) } else { from.saturating_sub(way) }
}

fn set(palette: &mut [u8], index: u8, colour: Colour) {
    let at = usize::from(index) * 3;
    if let Some(slot) = palette.get_mut(at..at + 3) {
        slot.copy_from_slice(&colour);
    }
}

fn gradient(spec: &str) -> Option<ChangeForm> {
    let bytes = hex(spec).filter(|bytes| bytes.len() == 8)?;
    let (one, other) = bytes.split_at(4);
    let end = |bytes: &[u8]| Some((*bytes.first()?, Colour::try_from(&bytes[1..]).ok()?));
    let (one, other) = (end(one)?, end(other)?);
    match one.0.cmp(&other.0) {
        Ordering::Less => Some(ChangeForm::Gradient { from: one, to: other }),
        Ordering::Equal => None,
        Ordering::Greater => Some(ChangeForm::Gradient { from: other, to: one }),
    }
}

fn tint(spec: &str) -> Option<ChangeForm> {
    let bytes = hex(spec)?;
    let (tint, dark) = bytes.split_at_checked(3)?;
    let dark = if dark.is_empty() { Some([0; 3]) } else { dark.try_into().ok() };
    Some(ChangeForm::Tint { dark: dark?, tint: tint.try_into().ok()? })
}

fn singles(spec: &str) -> Option<ChangeForm> {
    let digits = spec.as_bytes();
    let is_whole =
        digits.len().is_multiple_of(SINGLE_DIGITS) && digits.len() <= SINGLES_MAX * SINGLE_DIGITS;
    let groups = digits.chunks_exact(SINGLE_DIGITS).filter(|_| is_whole);
    let singles: Option<Vec<_>> = groups.map(single).collect();
    singles.filter(|singles| !singles.is_empty()).map(ChangeForm::Singles)
}

fn single(group: &[u8]) -> Option<(u8, Colour)> {
    let (index, colour) = group.split_first()?;
    let colour = hex(std::str::from_utf8(colour).ok()?)?;
    Some((digit(*index)?, colour.try_into().ok()?))
}

fn hex(text: &str) -> Option<Vec<u8>> {
    let pairs = text.as_bytes().chunks(2);
    pairs.map(|pair| Some(digit(pair[0])? << 4 | digit(*pair.get(1)?)?)).collect()
}

const fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
mod tests {
    use super::*;

    fn applied(segment: &str, palette: &[u8]) -> Vec<u8> {
        let mut palette = palette.to_vec();
        PaletteChange::parse(segment).unwrap().apply(&mut palette);
        palette
    }

    #[test]
    fn single_colours_stand_at_their_indices() {
        assert_eq!(applied("p0010203", &[9; 6]), [1, 2, 3, 9, 9, 9]);
        assert_eq!(applied("p1ff00aa0010203", &[9; 6]), [1, 2, 3, 255, 0, 170]);
        assert_eq!(applied("pf010203", &[9; 6]), [9; 6], "there is no such index");
    }

    #[test]
    fn a_gradient_goes_from_one_index_to_another_either_way_written() {
        let grey = [0, 0, 0, 50, 50, 50, 100, 100, 100, 9, 9, 9];
        assert_eq!(applied("pg0000000002646464", &[9; 12]), grey);
        assert_eq!(applied("pg0264646400000000", &[9; 12]), grey);
        assert_eq!(
            applied("pg00640000ff000000", &[9; 3]),
            [100, 0, 0],
            "as far as there are colours"
        );
        assert_eq!(PaletteChange::parse("pg0100000001646464"), None);
    }

    #[test]
    fn a_tint_lies_between_a_dark_colour_and_itself_by_brightness() {
        assert_eq!(applied("ptff8000", &[255, 255, 255, 0, 0, 0]), [255, 128, 0, 0, 0, 0]);
        assert_eq!(
            applied("ptff8000102030", &[255, 255, 0, 0, 128, 255]),
            [255, 128, 48, 16, 80, 0]
        );
    }

    #[test]
    fn what_lies_between_two_bytes_is_rounded_down() {
        assert_eq!(applied("pt000000202020", &[128, 127, 1]), [15, 16, 31]);
        assert_eq!(applied("pt200000", &[127, 0, 0]), [15, 0, 0]);
    }

    #[test]
    fn anything_else_is_no_change() {
        for segment in [
            "",
            "p",
            "q0010203",
            "p001020",
            "p00102030",
            "p0FF0000",
            "pg",
            "pgz",
            "pt",
            "ptff",
            "ptff80001020",
            "pg00000000026464",
            "p001020300102030010203001020300102030010203001020",
            "p0010203001020300102030010203001020300102030010203",
            "pé",
            "p00102é3",
            "ptéé",
        ] {
            assert_eq!(PaletteChange::parse(segment), None, "{segment}");
        }
    }
}
