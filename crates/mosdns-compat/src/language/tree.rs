//! One section of a foreign file, read key by key.
//!
//! Values are as weakly typed as the peers take them: a scalar is a list of one, `"123"` is a
//! number, 1 is true. Whatever nobody asked for is unknown: an error in mosdns, a warning in
//! OxiDNS, which ignores it silently. Called by the rest of [`super`].

use super::Dialect;
use super::position::{PlacedWord, ReadNotes, SourcePosition, with_remedy};
use serde_json::{Map, Value};
use settings::suggest;
use std::ops::RangeInclusive;
use std::time::Duration;

/// A section: its keys, and which of them were asked for.
pub(super) struct ConfigSection<'v> {
    pub(super) notes: &'v ReadNotes,
    pub(super) position: SourcePosition,
    map: Option<&'v Map<String, Value>>,
    asked: Vec<&'static str>,
}

/// Tells what happens to unknown keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UnknownKeys {
    /// What the dialect does.
    AsUsual,
    /// They are refused: OxiDNS does so in a few places.
    Refused,
}

impl<'v> ConfigSection<'v> {
    /// The section that `value` is. Nothing at all is an empty one; anything else a complaint, and
    /// an empty section.
    pub(super) fn new(value: &'v Value, place: &SourcePosition, notes: &'v ReadNotes) -> Self {
        let map = match value {
            Value::Object(map) => Some(map),
            Value::Null => None,
            other => {
                let message = format!("{} is where keys are expected", kind(other));
                notes.complain(place.complaint(message));
                None
            }
        };
        Self { notes, position: place.clone(), map, asked: Vec::new() }
    }

    fn is_key(&self, written: &str, key: &str) -> bool {
        match self.notes.dialect {
            Dialect::Mosdns => written.eq_ignore_ascii_case(key),
            Dialect::Oxidns => written == key,
        }
    }

    /// The value under `key`, if there is one that says anything.
    pub(super) fn value(&mut self, key: &'static str) -> Option<(&'v Value, SourcePosition)> {
        self.asked.push(key);
        let found = self.map?.iter().find(|(written, _)| self.is_key(written, key));
        let (written, value) = found.filter(|(_, value)| !value.is_null())?;
        Some((value, self.position.below(written)))
    }

    /// The same, as whatever `read` makes of it; a complaint with `wanted` where it makes nothing.
    fn read<T>(
        &mut self,
        key: &'static str,
        wanted: &str,
        read: impl FnOnce(&Value) -> Option<T>,
    ) -> Option<(T, SourcePosition)> {
        let (value, place) = self.value(key)?;
        let Some(it) = read(value) else {
            let message = format!("{} is where {wanted} is expected", kind(value));
            self.notes.complain(place.complaint(message));
            return None;
        };
        Some((it, place))
    }

    /// A text that is not empty.
    pub(super) fn text(&mut self, key: &'static str) -> Option<PlacedWord> {
        let (text, place) = self.read(key, "a text", text_of)?;
        (!text.is_empty()).then_some(PlacedWord { text, position: place })
    }

    /// A text that must be there; a complaint and nothing if it is not.
    pub(super) fn needed(&mut self, key: &'static str) -> Option<PlacedWord> {
        let text = self.text(key);
        if text.is_none() {
            self.missing(key);
        }
        text
    }

    /// Complains that `key` is missing, unless what stands there was complained about.
    pub(super) fn missing(&self, key: &str) {
        let is_there = self.map.is_some_and(|map| {
            map.iter().any(|(written, value)| {
                self.is_key(written, key) && !matches!(value, Value::Null | Value::String(_))
            })
        });
        if !is_there {
            self.notes.complain(self.position.complaint(format!("{key:?} is missing")));
        }
    }

    /// Texts; one alone is a list of one.
    pub(super) fn texts(&mut self, key: &'static str) -> Vec<PlacedWord> {
        match self.value(key) {
            None => Vec::new(),
            Some((value, place)) => texts_of(value, &place, self.notes),
        }
    }

    /// A whole number within `range`.
    pub(super) fn whole(&mut self, key: &'static str, range: RangeInclusive<u64>) -> Option<u64> {
        let (number, place) = self.read(key, "a whole number", whole_of)?;
        if !range.contains(&number) {
            let message = format!("{number} is out of bounds");
            let (least, most) = range.into_inner();
            self.notes.complain(place.complaint(message).remedy(format!("from {least} to {most}")));
            return None;
        }
        Some(number)
    }

    /// A whole number from 1 to `most`. In mosdns 0 says what nothing says.
    pub(super) fn count(&mut self, key: &'static str, most: u64) -> Option<u64> {
        let least = u64::from(!self.notes.is_mosdns());
        self.whole(key, least..=most).filter(|it| *it > 0)
    }

    /// A whole number from 1 to `most`; more is taken for `most`, less for nothing, and both told.
    /// In mosdns 0 says what nothing says.
    pub(super) fn clamped(&mut self, key: &'static str, most: u64) -> Option<u64> {
        let (value, place) = self.value(key)?;
        let number = whole_of(value);
        if number.is_some_and(|it| it > most) {
            let message = format!("{} is out of bounds: {most} is taken", number?);
            self.notes.warn(place.complaint(message));
            return Some(most);
        }
        if is_negative(value) {
            self.notes.warn(place.complaint("a number below 0 has no effect"));
            return None;
        }
        self.count(key, most)
    }

    /// A number of bits, from 0 to `most`. In mosdns 0 says what nothing says.
    pub(super) fn mask(&mut self, key: &'static str, most: u8) -> Option<u8> {
        let mask = self.whole(key, 0..=most.into())? as u8;
        (mask > 0 || !self.notes.is_mosdns()).then_some(mask)
    }

    /// A number.
    pub(super) fn decimal(&mut self, key: &'static str) -> Option<(f64, SourcePosition)> {
        self.read(key, "a number", |value| match value {
            Value::Number(number) => number.as_f64(),
            Value::String(text) => text.trim().parse().ok().filter(|it: &f64| it.is_finite()),
            Value::Bool(_) | Value::Null | Value::Array(_) | Value::Object(_) => None,
        })
    }

    /// Returns whether something is on.
    pub(super) fn flag(&mut self, key: &'static str) -> Option<bool> {
        self.read(key, "true or false", flag_of).map(|(it, _)| it)
    }

    /// The same, off where nothing is said.
    pub(super) fn is_on(&mut self, key: &'static str) -> bool {
        self.flag(key) == Some(true)
    }

    /// A length of time: a number is in units of `unit`; OxiDNS also knows `10s` and the like.
    pub(super) fn span(&mut self, key: &'static str, unit: Duration) -> Option<Duration> {
        let is_mosdns = self.notes.is_mosdns();
        let wanted = if is_mosdns { "a whole number" } else { "a time such as 10s" };
        let (span, _) = self.read(key, wanted, |value| match (whole_of(value), value) {
            (Some(number), _) => u32::try_from(number).ok().map(|it| unit * it),
            (None, Value::String(text)) if !is_mosdns => span_of(text),
            (None, _) => None,
        })?;
        (!span.is_zero() || !is_mosdns).then_some(span)
    }

    /// The section under `key`.
    pub(super) fn section(&mut self, key: &'static str) -> Option<ConfigSection<'v>> {
        let (value, place) = self.value(key)?;
        Some(ConfigSection::new(value, &place, self.notes))
    }

    /// The sections under `key`; one alone is a list of one.
    pub(super) fn sections(&mut self, key: &'static str) -> Vec<ConfigSection<'v>> {
        match self.value(key) {
            None => Vec::new(),
            Some((value, place)) => sections_of(value, &place, self.notes),
        }
    }

    /// Texts by name; the names are anybody's.
    pub(super) fn pairs(&mut self, key: &'static str) -> Vec<(String, String)> {
        let Some((value, place)) = self.value(key) else { return Vec::new() };
        let Value::Object(map) = value else {
            let message = format!("{} is where keys are expected", kind(value));
            self.notes.complain(place.complaint(message));
            return Vec::new();
        };
        let mut pairs = Vec::new();
        for (name, value) in map {
            let text = text_of(value).or_else(|| {
                let message = format!("{} is where a text is expected", kind(value));
                self.notes.refuse(place.below(name).complaint(message))
            });
            pairs.extend(text.map(|text| (name.clone(), text)));
        }
        pairs
    }

    /// Looks for keys that nobody asked for.
    pub(super) fn finish(self, unknown: UnknownKeys) {
        for (written, _) in self.map.into_iter().flatten() {
            if self.asked.iter().any(|key| self.is_key(written, key)) {
                continue;
            }
            let remedy = suggest(written, self.asked.iter().copied());
            let place = self.position.below(written);
            if self.notes.is_mosdns() || unknown == UnknownKeys::Refused {
                let complaint = place.complaint(format!("{written:?} is not known here"));
                self.notes.complain(with_remedy(complaint, remedy));
            } else {
                let complaint =
                    place.complaint(format!("{written:?} is not known and has no effect"));
                self.notes.warn(with_remedy(complaint, remedy));
            }
        }
    }
}

/// The sections of a list; one alone is a list of one.
pub(super) fn sections_of<'v>(
    value: &'v Value,
    place: &SourcePosition,
    notes: &'v ReadNotes,
) -> Vec<ConfigSection<'v>> {
    match value {
        Value::Array(items) => items
            .iter()
            .enumerate()
            .map(|(index, item)| ConfigSection::new(item, &place.below(index), notes))
            .collect(),
        Value::Object(map) if map.is_empty() => Vec::new(),
        other => vec![ConfigSection::new(other, place, notes)],
    }
}

/// The texts of a list; one alone is a list of one.
pub(super) fn texts_of(
    value: &Value,
    place: &SourcePosition,
    notes: &ReadNotes,
) -> Vec<PlacedWord> {
    let one = |value: &Value, place: SourcePosition| {
        let text = text_of(value).or_else(|| {
            let message = format!("{} is where a text is expected", kind(value));
            notes.refuse(place.complaint(message))
        });
        text.map(|text| PlacedWord { text, position: place })
    };
    match value {
        Value::Array(items) => items
            .iter()
            .enumerate()
            .filter_map(|(index, item)| one(item, place.below(index)))
            .collect(),
        Value::Object(map) if map.is_empty() => Vec::new(),
        other => one(other, place.clone()).into_iter().collect(),
    }
}

/// Returns what a value is, for complaints.
pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a section of keys",
    }
}

/// A scalar as text; true is 1, as in mosdns.
pub(super) fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(it) => Some(u8::from(*it).to_string()),
        Value::Null => Some(String::new()),
        Value::Array(_) | Value::Object(_) => None,
    }
}

/// A scalar as a whole number that is not negative. An empty text is 0; `0x`, `0o` and `0b` are
/// known.
#[expect(clippy::cast_sign_loss, reason = "it was looked at that it is not negative")]
fn whole_of(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => number.as_u64().or_else(|| {
            let float = number.as_f64().filter(|it| it.fract() == 0.0 && *it >= 0.0)?;
            // Nothing that is counted here comes near this.
            (float < 9e15).then_some(float as u64)
        }),
        Value::Bool(it) => Some(u64::from(*it)),
        Value::String(text) if text.is_empty() => Some(0),
        Value::String(text) => {
            let text = text.trim().replace('_', "");
            let digits = |radix| u64::from_str_radix(&text[2..], radix).ok();
            match text.get(..2).map(str::to_ascii_lowercase).as_deref() {
                Some("0x") => digits(16),
                Some("0o") => digits(8),
                Some("0b") => digits(2),
                _ => text.parse().ok(),
            }
        }
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn is_negative(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.as_f64().is_some_and(|it| it < 0.0),
        Value::String(text) => text.trim().parse::<i64>().is_ok_and(|it| it < 0),
        Value::Bool(_) | Value::Null | Value::Array(_) | Value::Object(_) => false,
    }
}

fn flag_of(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(it) => Some(*it),
        Value::Number(number) => Some(number.as_f64() != Some(0.0)),
        Value::String(text) => match text.as_str() {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
            "" | "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
            _ => None,
        },
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// A time as OxiDNS writes it: digits and `ms`, `s`, `m`, `h` or `d`; seconds without a unit.
pub(super) fn span_of(text: &str) -> Option<Duration> {
    let text = text.trim();
    let end = text.find(|it: char| !it.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    let number: u32 = digits.parse().ok()?;
    let one = match unit.trim().to_ascii_lowercase().as_str() {
        "ms" => Duration::from_millis(1),
        "" | "s" => Duration::from_secs(1),
        "m" => Duration::from_mins(1),
        "h" => Duration::from_hours(1),
        "d" => Duration::from_hours(24),
        _ => return None,
    };
    Some(one * number)
}
