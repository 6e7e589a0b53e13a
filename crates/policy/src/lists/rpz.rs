//! Response policy zones (draft-vixie-dnsop-dns-rpz): `ads.example CNAME .` blocks,
//! `good.example CNAME rpz-passthru.` lets pass.
//!
//! Triggers by address, by name server and by client are refused: they are about answers, or about
//! what no door sees. Records other than null addresses are no blocks. Called by `detect`.

use super::line::{DetectedLine, EntryEffect};
use crate::names::NameForm;
use crate::report::{ListSyntax, SkipReason};

/// Last labels of owners that are no names of queries.
const TRIGGERS: [&str; 4] = [".rpz-ip", ".rpz-client-ip", ".rpz-nsdname", ".rpz-nsip"];
/// Types of records that every zone has for itself.
const HOUSEKEEPING: [&str; 6] = ["SOA", "NS", "DNSKEY", "RRSIG", "NSEC", "NSEC3PARAM"];

/// The origin of a zone, without its final dot, perhaps empty; none if a text is no zone.
pub(crate) fn origin_of(sample: &[u8]) -> Option<&str> {
    let text = sample.utf8_chunks().next()?.valid();
    let mut told = None;
    for line in text.lines().map(|line| line.split(';').next().unwrap_or_default()) {
        let mut words = line.split_whitespace();
        let Some(first) = words.next() else { continue };
        if first.eq_ignore_ascii_case("$ORIGIN") {
            told = told.or(words.next());
        } else if words.next().is_some_and(|it| is_class(it) || is_ttl(it) || it == "SOA")
            && line.split_whitespace().any(|word| word.eq_ignore_ascii_case("SOA"))
        {
            let own = (first != "@" && first.ends_with('.')).then_some(first);
            return Some(own.or(told).unwrap_or_default().trim_end_matches('.'));
        }
    }
    None
}

fn is_class(word: &str) -> bool {
    word.eq_ignore_ascii_case("IN")
}

fn is_ttl(word: &str) -> bool {
    let digits = word.trim_end_matches(|letter: char| "smhdwSMHDW".contains(letter));
    !word.is_empty()
        && digits.bytes().all(|byte| byte.is_ascii_digit())
        && word.starts_with(|letter: char| letter.is_ascii_digit())
}

/// Reads a line of a zone of this origin, as it stands in its file: a blank in front means
/// something.
pub(crate) fn read<'l>(line: &'l str, origin: &str) -> DetectedLine<'l> {
    let record = line.split(';').next().unwrap_or_default();
    // A line that begins with a blank goes on with what the one before was about: the zone itself.
    if record.starts_with([' ', '\t']) || record.trim().is_empty() {
        return DetectedLine::Blank;
    }
    if let Some(directive) = record.strip_prefix('$') {
        let includes = directive.starts_with("INCLUDE") || directive.starts_with("GENERATE");
        return if includes {
            DetectedLine::Skip(SkipReason::Include)
        } else {
            DetectedLine::Blank
        };
    }
    entry(record, origin).unwrap_or(DetectedLine::Blank)
}

/// A line of any list that can only be a record of such a zone: its alias is an action.
pub(crate) fn rpz_line(line: &str) -> Option<DetectedLine<'_>> {
    let record = line.split(';').next().unwrap_or_default();
    let mut words = record.split_whitespace().rev();
    let target = words.next()?;
    let is_action = matches!(target, "." | "*.") || target.starts_with("rpz-");
    (is_action && words.next()?.eq_ignore_ascii_case("CNAME")).then(|| entry(record, ""))?
}

/// `owner [ttl] [class] type data`; none if it has no type.
fn entry<'l>(record: &'l str, origin: &str) -> Option<DetectedLine<'l>> {
    let mut words = record.split_whitespace();
    let owner = words.next()?;
    let mut words = words.skip_while(|word| is_class(word) || is_ttl(word));
    let kind = words.next().filter(|word| word.bytes().all(|it| it.is_ascii_alphanumeric()))?;
    let kind = kind.to_ascii_uppercase();
    let data = words.next().unwrap_or_default();
    if owner == "@" || HOUSEKEEPING.contains(&kind.as_str()) {
        return Some(DetectedLine::Blank);
    }
    let name = relative(owner, origin);
    let lower = name.to_ascii_lowercase();
    if TRIGGERS.iter().any(|trigger| lower.ends_with(trigger)) {
        return Some(DetectedLine::Skip(SkipReason::UnseenProperty));
    }
    let effect = match (kind.as_str(), data) {
        ("CNAME", "." | "*." | "rpz-drop." | "rpz-drop")
        | ("A", "0.0.0.0" | "127.0.0.1")
        | ("AAAA", "::" | "::1") => EntryEffect::Blocks,
        ("CNAME", "rpz-passthru." | "rpz-passthru") => EntryEffect::Excepts,
        // As it was written before there was a word for it.
        ("CNAME", target) if target.trim_end_matches('.') == name => EntryEffect::Excepts,
        ("CNAME", "rpz-tcp-only." | "rpz-tcp-only") => {
            return Some(DetectedLine::Skip(SkipReason::NotABlock));
        }
        (_, _) => return Some(DetectedLine::Skip(SkipReason::Record)),
    };
    let (form, name) = match name.strip_prefix("*.") {
        Some(name) => (NameForm::Wildcard, name),
        None => (NameForm::Plain, name),
    };
    Some(DetectedLine::Entry { syntax: ListSyntax::ResponsePolicyZone, form, name, effect })
}

/// An owner without the origin of its zone.
fn relative<'l>(owner: &'l str, origin: &str) -> &'l str {
    let Some(absolute) = owner.strip_suffix('.') else { return owner };
    let above = absolute.len().checked_sub(origin.len()).filter(|_| !origin.is_empty());
    match above.and_then(|at| absolute.split_at_checked(at)) {
        Some((name, end)) if end.eq_ignore_ascii_case(origin) && name.ends_with('.') => {
            &name[..name.len() - 1]
        }
        Some(_) | None => absolute,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(form: NameForm, name: &str, effect: EntryEffect) -> DetectedLine<'_> {
        DetectedLine::Entry { syntax: ListSyntax::ResponsePolicyZone, form, name, effect }
    }

    #[test]
    fn a_zone_is_told_by_its_first_record() {
        let origin = |text: &'static str| origin_of(text.as_bytes());
        assert_eq!(origin("$TTL 2h\n@ IN SOA a. b. (\n 1 )"), Some(""));
        assert_eq!(origin("; x\n$ORIGIN rpz.example.\n@ 60 IN SOA a. b. 1"), Some("rpz.example"));
        assert_eq!(origin("rpz.example. 60 IN SOA a. b. 1"), Some("rpz.example"));
        assert_eq!(origin("ads.example\nb.example"), None);
    }

    #[test]
    fn actions_are_aliases() {
        let read = |line| read(line, "rpz.example");
        let blocks = |form| of(form, "ads.example", EntryEffect::Blocks);
        assert_eq!(read("ads.example CNAME ."), blocks(NameForm::Plain));
        assert_eq!(read("*.ads.example 3600 IN CNAME *. ; seen"), blocks(NameForm::Wildcard));
        assert_eq!(read("ads.example.rpz.example. 60 CNAME rpz-drop."), blocks(NameForm::Plain));
        assert_eq!(read("ads.example IN A 0.0.0.0"), blocks(NameForm::Plain));
        let passes = of(NameForm::Plain, "good.example", EntryEffect::Excepts);
        assert_eq!(read("good.example CNAME rpz-passthru."), passes);
        assert_eq!(read("good.example CNAME good.example."), passes);
        assert_eq!(read("a.example CNAME walled.example."), DetectedLine::Skip(SkipReason::Record));
        assert_eq!(
            read("a.example CNAME rpz-tcp-only."),
            DetectedLine::Skip(SkipReason::NotABlock)
        );
        let trigger = "32.1.2.0.192.rpz-ip CNAME .";
        assert_eq!(read(trigger), DetectedLine::Skip(SkipReason::UnseenProperty));
        for line in ["$TTL 2h", "@ IN NS localhost.", "  2024 ; serial", ")", "; x", "  6h"] {
            assert_eq!(read(line), DetectedLine::Blank, "{line}");
        }
        assert_eq!(rpz_line("ads.example CNAME ."), Some(blocks(NameForm::Plain)));
        assert_eq!(rpz_line("ads.example CNAME b.example"), None);
        assert_eq!(rpz_line("ads.example"), None);
    }
}
