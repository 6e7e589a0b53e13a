//! The language of Polipo's configuration: `name = value, value`, one to a line.
//!
//! It knows how values are written, and no variable. Source: Polipo's manual, "Configuration file
//! format", and what its reader takes besides.

use vocab::Complaint;

/// Lines of one file, at most: Polipo has a hundred variables.
const LINES_MAX: usize = 10_000;

/// One line that sets a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PolipoSetting {
    /// From 1.
    pub(super) line: usize,
    pub(super) name: String,
    pub(super) values: Vec<String>,
}

/// A line that is none, and what is wrong with it. The path of the complaint is empty.
pub(super) type BadLine = (usize, Complaint);

/// Every line that sets something, in order.
pub(super) fn read(text: &str) -> Result<Vec<PolipoSetting>, Vec<BadLine>> {
    let (mut said, mut bad) = (Vec::new(), Vec::new());
    for (number, line) in (1..).zip(text.lines()) {
        if number > LINES_MAX {
            bad.push((number, complaint(format!("more than {LINES_MAX} lines"), "split it")));
            break;
        }
        match read_line(line, number) {
            Ok(one) => said.extend(one),
            Err(why) => bad.push((number, why)),
        }
    }
    if bad.is_empty() { Ok(said) } else { Err(bad) }
}

fn complaint(message: impl Into<String>, remedy: &str) -> Complaint {
    Complaint::new("", message).remedy(remedy)
}

fn read_line(line: &str, number: usize) -> Result<Option<PolipoSetting>, Complaint> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return Ok(None);
    }
    let end = line.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(line.len());
    let (name, rest) = line.split_at(end);
    let rest = rest.trim_start().strip_prefix('=').filter(|_| !name.is_empty());
    let Some(rest) = rest else {
        return Err(complaint("this sets nothing", "write it as proxyPort = 8123"));
    };
    let values = read_values(rest)?;
    Ok(Some(PolipoSetting { line: number, name: name.to_owned(), values }))
}

/// The values up to the end or a comment, quoted or not.
fn read_values(text: &str) -> Result<Vec<String>, Complaint> {
    let (mut values, mut rest) = (Vec::new(), text.trim_start());
    while !rest.is_empty() && !rest.starts_with('#') {
        let (value, after) = if let Some(quoted) = rest.strip_prefix('"') {
            read_quoted(quoted)?
        } else {
            let end = rest.find([',', '#']).unwrap_or(rest.len());
            (rest[..end].trim_end().to_owned(), &rest[end..])
        };
        values.push(value);
        rest = after.trim_start();
        match rest.strip_prefix(',') {
            Some(next) => rest = next.trim_start(),
            None if rest.is_empty() || rest.starts_with('#') => break,
            None => return Err(complaint("text behind a value", "part values by commas")),
        }
    }
    Ok(values)
}

/// Returns what stands up to the closing quote, and what follows that. A backslash keeps what is
/// behind it.
fn read_quoted(text: &str) -> Result<(String, &str), Complaint> {
    let (mut value, mut characters) = (String::new(), text.char_indices());
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Ok((value, &text[at + 1..])),
            '\\' => value.extend(characters.next().map(|(_, kept)| kept)),
            other => value.push(other),
        }
    }
    Err(complaint("a quote is not closed", "end the value with \""))
}

impl PolipoSetting {
    /// Returns its value, if it has one and no more, as Polipo's words and texts have it.
    pub(super) fn one(&self) -> Result<&str, Complaint> {
        match self.values.as_slice() {
            [] => Ok(""),
            [one] => Ok(one),
            [_, _, ..] => Err(complaint("one value is expected", "leave the others out")),
        }
    }

    /// A number: decimal, `0x` or octal behind a `0`.
    pub(super) fn number(&self) -> Result<u64, Complaint> {
        let text = self.one()?;
        let found = match (text.strip_prefix("0x"), text.strip_prefix('0')) {
            (Some(digits), _) => u64::from_str_radix(digits, 16),
            (None, Some(digits)) if !digits.is_empty() => u64::from_str_radix(digits, 8),
            (None, _) => text.parse(),
        };
        found.map_err(|_| complaint(format!("{text:?} is no number"), "write digits alone"))
    }

    /// A part of a whole, `0.1`, in percent.
    pub(super) fn percent(&self) -> Result<u8, Complaint> {
        let text = self.one()?;
        let part = text.parse::<f64>().ok().filter(|part| (0.0..=1.0).contains(part));
        let part = part.ok_or_else(|| {
            complaint(format!("{text:?} is no part of a whole"), "write it as 0.1")
        })?;
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 100")]
        let percent = (part * 100.0).round() as u8;
        Ok(percent)
    }

    /// A time in seconds: `90`, or `1d2h3m4s` in parts.
    pub(super) fn seconds(&self) -> Result<u64, Complaint> {
        let wrong = |text: &str| complaint(format!("{text:?} is no time"), "write it as 1h30m");
        let text = self.one()?;
        let (mut total, mut rest) = (0_u64, text);
        while !rest.is_empty() {
            let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            let number: u64 = rest[..end].parse().map_err(|_| wrong(text))?;
            let mut units = rest[end..].chars();
            let factor = match units.next() {
                None | Some('s') => 1,
                Some('m') => 60,
                Some('h') => 3600,
                Some('d') => 86_400,
                Some(_) => return Err(wrong(text)),
            };
            total = number
                .checked_mul(factor)
                .and_then(|part| total.checked_add(part))
                .ok_or_else(|| wrong(text))?;
            rest = units.as_str();
        }
        Ok(total)
    }

    /// Returns how much: Polipo has up to five steps from no to yes.
    pub(super) fn degree(&self) -> Result<PolipoDegree, Complaint> {
        let text = self.one()?;
        match text.to_ascii_lowercase().as_str() {
            "false" | "no" => Ok(PolipoDegree::No),
            "reluctantly" | "seldom" | "rarely" | "lazily" | "maybe" | "perhaps" | "happily"
            | "often" | "eagerly" => Ok(PolipoDegree::Maybe),
            "true" | "yes" => Ok(PolipoDegree::Yes),
            _ => Err(complaint(
                format!("{text:?} is neither true nor false"),
                "write true, maybe or false",
            )),
        }
    }
}

/// From no to yes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PolipoDegree {
    No,
    Maybe,
    Yes,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(line: &str) -> Result<Vec<String>, Vec<BadLine>> {
        Ok(read(line)?.into_iter().flat_map(|it| it.values).collect())
    }

    #[test]
    fn values_are_read_as_polipo_reads_them() {
        assert_eq!(values("a = b").unwrap(), ["b"]);
        assert_eq!(values("  a=\"b, #\\\"c\" , d # e").unwrap(), ["b, #\"c", "d"]);
        assert_eq!(values("ports = 80-100, 1024-65535").unwrap(), ["80-100", "1024-65535"]);
        assert_eq!(values("a = \"\"\n# b = c\n\n d = # e").unwrap(), [""]);
        for bad in ["a", "= b", "a b = c", "a = \"b", "a = \"b\" c", "ö = 1"] {
            assert!(values(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn numbers_times_and_degrees_have_their_own_forms() {
        let said =
            |value: &str| PolipoSetting { line: 1, name: "a".into(), values: vec![value.into()] };
        let number = |value| said(value).number().ok();
        assert_eq!(["0", "819200", "0x10", "0640"].map(number), [0, 819_200, 16, 416].map(Some));
        assert_eq!(["", "x", "-1", "09"].map(number), [None; 4]);
        let seconds = |value| said(value).seconds().ok();
        assert_eq!(["90", "1d2h", "3m4s"].map(seconds), [90, 93_600, 184].map(Some));
        assert_eq!(["m", "1w", "99999999999999999999"].map(seconds), [None; 3]);
        let degree = |value| said(value).degree().ok();
        let expected =
            [Some(PolipoDegree::No), Some(PolipoDegree::Maybe), Some(PolipoDegree::Yes), None];
        assert_eq!(["no", "Maybe", "true", "2"].map(degree), expected);
    }
}
