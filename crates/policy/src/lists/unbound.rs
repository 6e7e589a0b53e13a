//! Lines of Unbound configurations that block names: `local-zone:` and null `local-data:`.
//!
//! A zone type that lets questions pass blocks nothing, and data other than null addresses are
//! records. Called by `detect` for lines that begin so.

use super::line::before_comment;
use crate::names::NameForm;
use crate::report::SkipReason;

/// Types of zones whose names get no answer from upstream.
const BLOCKING: &[&str] = &[
    "always_nxdomain",
    "always_nodata",
    "always_null",
    "always_refuse",
    "always_deny",
    "static",
    "refuse",
    "deny",
    "redirect",
    "inform_deny",
    "inform_redirect",
];

/// The name of a blocking line and its form; none if it is no such setting.
pub(crate) fn read(line: &str) -> Option<Result<(NameForm, &str), SkipReason>> {
    if let Some(rest) = line.strip_prefix("local-zone:") {
        return Some(zone(rest).ok_or(SkipReason::NotABlock));
    }
    if let Some(rest) = line.strip_prefix("local-data:") {
        return Some(data(before_comment(rest).trim().trim_matches(['"', '\''])));
    }
    let is_other = matches!(line, "server:" | "view:" | "auth-zone:" | "forward-zone:")
        || line.starts_with("local-data-ptr:")
        || line.starts_with("include:") && line.contains(".conf");
    is_other.then_some(Err(SkipReason::NotABlock))
}

fn zone(rest: &str) -> Option<(NameForm, &str)> {
    let mut words = rest.split_whitespace();
    let name = bare(words.next()?);
    let kind = words.next()?.trim_matches(['"', '\'']);
    BLOCKING.contains(&kind).then_some((NameForm::UnboundZone, name))
}

/// `name [ttl] [class] type value`.
fn data(record: &str) -> Result<(NameForm, &str), SkipReason> {
    let mut words = record.split_whitespace();
    let name = bare(words.next().unwrap_or_default());
    let mut last = ["", ""];
    for word in words {
        last = [last[1], word];
    }
    let is_null = matches!(last, ["A" | "a", "0.0.0.0" | "127.0.0.1"])
        || matches!(last, ["AAAA" | "aaaa", "::" | "::1"]);
    if is_null { Ok((NameForm::UnboundData, name)) } else { Err(SkipReason::Record) }
}

fn bare(name: &str) -> &str {
    name.trim_matches(['"', '\''])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_that_answer_nothing_block() {
        let check = |line, expected| assert_eq!(read(line), Some(expected), "{line}");
        let zone = || Ok((NameForm::UnboundZone, "a.example"));
        check(r#"local-zone: "a.example" always_nxdomain"#, zone());
        check(r#"local-zone: "a.example" redirect"#, zone());
        check("local-zone: a.example static", zone());
        check(r#"local-zone: "a.example." refuse"#, Ok((NameForm::UnboundZone, "a.example.")));
        check(r#"local-zone: "a.example" transparent"#, Err(SkipReason::NotABlock));
        check(r#"local-zone: "a.example""#, Err(SkipReason::NotABlock));
        let data = || Ok((NameForm::UnboundData, "a.example"));
        check(r#"local-data: "a.example A 0.0.0.0""#, data());
        check(
            r#"local-data: "a.example. 60 IN AAAA ::""#,
            Ok((NameForm::UnboundData, "a.example.")),
        );
        check(r#"local-data: "a.example A 0.0.0.0" # seen"#, data());
        check(r#"local-data: "a.example A 192.0.2.1""#, Err(SkipReason::Record));
        check("server:", Err(SkipReason::NotABlock));
        assert_eq!(read("a.example"), None);
    }
}
