//! Regular expressions for names as Pi-hole has them: `(^|\.)ads\.example$`, perhaps with
//! `;querytype=A` or `;reply=nxdomain` behind.
//!
//! `;invert` is refused, because it would match nearly every name. Called by `detect` for lines of
//! such lists, and for lines that can be nothing else.

use super::adblock::{AdblockRule, REGEX_TEXT_BYTES_MAX};
use super::options::RuleOptions;
use crate::report::{ListSyntax, SkipReason};
use crate::urls::flags::RuleFlags;
use std::net::IpAddr;

/// Beginnings of expressions that stand for the start of a name or of a label.
const BEGINNINGS: [&str; 6] =
    ["(^|\\.)", "(\\.|^)", "(?:^|\\.)", "^(.+\\.)?", "^(.*\\.)?", "^(.+[_.-])?"];
/// Words that may follow an expression.
const EXTENSIONS: [&str; 3] = [";querytype=", ";reply=", ";invert"];

/// True for a line that can be nothing else than such an expression.
pub(crate) fn is_one(line: &str) -> bool {
    BEGINNINGS.iter().any(|start| line.starts_with(start)) || extensions_at(line).is_some()
}

/// Reads one line.
pub(crate) fn read(line: &str) -> Result<AdblockRule<'_>, SkipReason> {
    let (expression, extensions) = line.split_at(extensions_at(line).unwrap_or(line.len()));
    if expression.len() > REGEX_TEXT_BYTES_MAX {
        return Err(SkipReason::TooLong);
    }
    if expression.is_empty() {
        return Err(SkipReason::BadRegex);
    }
    let mut options = RuleOptions::default();
    for word in extensions.split(';').filter(|word| !word.is_empty()) {
        extension(word, &mut options)?;
    }
    Ok(AdblockRule {
        syntax: ListSyntax::NameRegex,
        head: line,
        tail: "",
        exception: false,
        flags: RuleFlags::REGEX.with(RuleFlags::NAMES_ONLY),
        pattern: expression,
        options,
    })
}

fn extensions_at(line: &str) -> Option<usize> {
    EXTENSIONS.iter().filter_map(|word| line.find(word)).min()
}

fn extension<'l>(word: &'l str, options: &mut RuleOptions<'l>) -> Result<(), SkipReason> {
    let (slot, value) = match word.split_once('=') {
        Some(("querytype", value)) if !value.is_empty() => (&mut options.dnstype, value),
        Some(("reply", value)) => match answer(value)? {
            // A block, which the DNS door answers in its own way.
            None => return Ok(()),
            Some(value) => (&mut options.dnsrewrite, value),
        },
        None if word == "invert" => return Err(SkipReason::TooBroad),
        Some(_) | None => return Err(SkipReason::UnknownModifier),
    };
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(SkipReason::BadModifier),
    }
}

/// The answer that `;reply=` asks for, as `$dnsrewrite=` has it; none if it is that of every block.
fn answer(value: &str) -> Result<Option<&str>, SkipReason> {
    let is = |word: &str| value.eq_ignore_ascii_case(word);
    if is("ip") || is("null") {
        return Ok(None);
    }
    for (word, code) in [("nxdomain", "NXDOMAIN"), ("refused", "REFUSED"), ("nodata", "NOERROR")] {
        if is(word) {
            return Ok(Some(code));
        }
    }
    value.parse::<IpAddr>().map_err(|_| SkipReason::BadModifier)?;
    Ok(Some(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_say_for_which_types_and_with_which_answer() {
        let options = |line| read(line).map(|rule| rule.options);
        let line = r"(^|\.)ads\.example$;querytype=A,AAAA;reply=nxdomain";
        assert_eq!(read(line).unwrap().pattern, r"(^|\.)ads\.example$");
        assert_eq!(options(line).unwrap().dnstype, Some("A,AAAA"));
        assert_eq!(options(line).unwrap().dnsrewrite, Some("NXDOMAIN"));
        assert_eq!(options("^a;reply=192.0.2.1").unwrap().dnsrewrite, Some("192.0.2.1"));
        assert_eq!(options("^a;reply=null").unwrap().dnsrewrite, None);
        assert_eq!(options("^a;invert"), Err(SkipReason::TooBroad));
        assert_eq!(options("^a;reply=soup"), Err(SkipReason::BadModifier));
        assert_eq!(options("^a;querytype=A;colour=red"), Err(SkipReason::UnknownModifier));
        assert_eq!(options(";querytype=A"), Err(SkipReason::BadRegex));
    }
}
