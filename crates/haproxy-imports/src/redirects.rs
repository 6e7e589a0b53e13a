//! Redirects of HAProxy: `location`, `prefix` and `scheme`, with samples and what `regsub` makes of
//! them.

use super::HaproxyLine;
use super::rules::RuleSteps;
use import_routes::flow::{FlowStep, RouteEnd, TestConjunction};
use import_routes::path_test::PathTest;
use import_routes::place::RequestTest;
use import_routes::redirects::{
    BadRedirect, GroupSubject, RedirectDraft, TextSubstitution, UnfoundText, literal, substitution,
};
use import_routes::regex_words::{LetterCase, ReadExpression, read};
use import_routes::report::LineFate;
use import_routes::unknown_word::UnknownWord;

/// A place to go to, without what stands behind it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct PlaceText {
    text: String,
    /// The substitution in it.
    made: Option<(GroupSubject, TextSubstitution)>,
}

/// Options that change nothing of the place, but what is sent with it.
const LEFT_OUT: [&str; 3] = ["set-cookie", "set-cookie-fmt", "clear-cookie"];

impl RuleSteps<'_, '_> {
    pub(super) fn redirect(&mut self, line: &HaproxyLine, words: &[String]) -> Vec<FlowStep> {
        let word = |index: usize| words.get(index).map_or("", String::as_str);
        let has = |name: &str| words.iter().any(|it| it == name);
        let code = words.iter().position(|it| it == "code").map(|at| word(at + 1));
        let status: u16 = code.and_then(|it| it.parse().ok()).unwrap_or(302);
        let text = match place_text(word(1)) {
            Ok(text) => text,
            Err(why) => return refused(line, &why.to_string()),
        };
        let end = match (word(0), has("drop-query"), has("keep-query")) {
            ("scheme", _, _) => "://{host}{uri}",
            ("prefix", true, _) => "{path}",
            ("prefix", false, _) => "{uri}",
            ("location", _, true) => "?{query}",
            ("location", _, false) => "",
            _ => return refused(line, "this redirect has no counterpart"),
        };
        // A prefix of a slash alone is none.
        let is_bare = word(0) == "prefix" && text.text == "/";
        let text = if is_bare { PlaceText::default() } else { text };
        let slash = word(0) == "prefix" && has("drop-query") && has("append-slash");
        let made = if slash {
            text.step("{path}/", status).and_then(|then| {
                let is_folder = RequestTest::Path(PathTest::Matching("/$".into()));
                let when = TestConjunction::one(is_folder);
                let as_it_is = vec![text.step("{path}", status)?];
                Ok(vec![FlowStep::If { when, then: as_it_is, otherwise: vec![then] }])
            })
        } else {
            text.step(end, status).map(|it| vec![it])
        };
        let steps = match made {
            Ok(steps) => steps,
            Err(why) => return refused(line, &why.to_string()),
        };
        let report = &mut self.reader.report;
        report.mark(line.row, LineFate::Carried, "");
        if LEFT_OUT.iter().any(|it| has(it)) {
            report.mark(line.row, LineFate::Changed, "it sets no cookie");
        }
        if text.made.is_some_and(|(_, it)| it.unfound == UnfoundText::Lost) {
            let why = "404 where regsub finds nothing";
            report.mark(line.row, LineFate::Changed, why);
        }
        steps
    }
}

fn refused(line: &HaproxyLine, why: &str) -> Vec<FlowStep> {
    vec![FlowStep::End(RouteEnd::Refused(line.row, why.into()))]
}

impl PlaceText {
    /// The step to the place with `end` behind it.
    fn step(&self, end: &str, status: u16) -> Result<FlowStep, BadRedirect> {
        let to = format!("{}{end}", self.text);
        let mut draft = RedirectDraft { to, status, ..RedirectDraft::default() };
        match &self.made {
            Some((GroupSubject::Path, made)) => draft.from = Some(made.from.clone()),
            Some((GroupSubject::Host, made)) => draft.from_host = Some(made.from.clone()),
            None => {}
        }
        draft.step()
    }

    /// Puts in a sample, or what a substitution makes of it.
    fn push_sample(&mut self, sample: PlaceSample) -> Result<(), UnknownWord> {
        let Some((subject, made)) = sample.substitution else {
            self.text.push_str(sample.word);
            return Ok(());
        };
        if self.made.is_some() {
            return Err(UnknownWord("a second regsub".into()));
        }
        self.text.push_str(&made.to);
        self.text.push_str(sample.behind);
        self.made = Some((subject, made));
        Ok(())
    }
}

/// A sample in our words.
struct PlaceSample {
    word: &'static str,
    substitution: Option<(GroupSubject, TextSubstitution)>,
    /// Words behind what was substituted: the query of a URL.
    behind: &'static str,
}

/// A text with log format as a place, or why that cannot be.
fn place_text(text: &str) -> Result<PlaceText, UnknownWord> {
    let (mut out, mut rest) = (PlaceText::default(), text);
    while let Some(at) = rest.find('%') {
        out.text.push_str(&literal(&rest[..at]));
        let behind = &rest[at + 1..];
        if let Some(after) = behind.strip_prefix('%') {
            out.text.push('%');
            rest = after;
            continue;
        }
        let known = [("ci", "{client}"), ("HU", "{uri}"), ("HP", "{path}")];
        if let Some((sign, word)) = known.iter().find(|(sign, _)| behind.starts_with(sign)) {
            out.text.push_str(word);
            rest = &behind[sign.len()..];
            continue;
        }
        let is_sample = behind.starts_with('[');
        let Some(end) = sample_end(behind).filter(|_| is_sample) else {
            // What is encoded stays so.
            out.text.push('%');
            rest = behind;
            continue;
        };
        out.push_sample(sample(&behind[1..end])?)?;
        rest = &behind[end + 1..];
    }
    out.text.push_str(&literal(rest));
    Ok(out)
}

/// The bracket that ends a sample: expressions in it have brackets of their own.
fn sample_end(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, letter) in text.char_indices() {
        match letter {
            '[' => depth += 1,
            ']' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

/// A sample with its converters in our words.
fn sample(text: &str) -> Result<PlaceSample, UnknownWord> {
    let unknown = || UnknownWord(format!("%[{text}]"));
    let parts = split_at_commas(text);
    let (first, converters) = parts.split_first().ok_or_else(unknown)?;
    let name = first.trim_start_matches("req.").to_ascii_lowercase();
    let (word, subject, behind) = match name.as_str() {
        "src" => ("{client}", None, ""),
        "hdr(host)" | "fhdr(host)" => ("{host}", Some(GroupSubject::Host), ""),
        "path" => ("{path}", Some(GroupSubject::Path), ""),
        "url" | "pathq" | "capture.uri" | "capture.req.uri" => {
            ("{uri}", Some(GroupSubject::Path), "?{query}")
        }
        "query" => ("{query}", None, ""),
        "base" => ("{host}{path}", None, ""),
        "ssl_fc" if converters == ["iif(https,http)"] => {
            return Ok(PlaceSample { word: "{scheme}", substitution: None, behind: "" });
        }
        _ => return Err(unknown()),
    };
    let mut found = None;
    for converter in converters {
        let is_of_host = subject == Some(GroupSubject::Host);
        match *converter {
            // A host has no port here, and is in lower case.
            "lower" | "host_only" | "field(1,:)" | "word(1,:)" if is_of_host => {}
            "path" if word == "{uri}" && converters.len() == 1 => {
                return Ok(PlaceSample { word: "{path}", substitution: None, behind: "" });
            }
            "host" if name == "base" => {}
            converter => {
                let subject = subject.filter(|_| found.is_none()).ok_or_else(unknown)?;
                let made = regsub(converter, subject).ok_or_else(unknown)?;
                found = Some((subject, made));
            }
        }
    }
    Ok(PlaceSample { word, substitution: found, behind })
}

/// `regsub(expression,text,flags)`.
fn regsub(converter: &str, subject: GroupSubject) -> Option<TextSubstitution> {
    let inside = converter.strip_prefix("regsub(")?.strip_suffix(')')?;
    let args = split_at_commas(inside);
    let flags = args.get(2).copied().unwrap_or("");
    if flags.contains('g') || args.len() > 3 {
        return None;
    }
    let case = if flags.contains('i') { LetterCase::Ignored } else { LetterCase::Counts };
    let bare = |text: &str| text.trim_matches(['"', '\'']).to_owned();
    let text = args.first().map(|it| bare(it))?;
    // The query is no part of a path.
    if text.contains("\\?") {
        return None;
    }
    let ReadExpression::Same(expression) = read(&text, case) else { return None };
    let to = args.get(1).map(|it| bare(it)).unwrap_or_default();
    substitution(&expression, &to, '\\', subject)
}

/// Cuts at commas that stand in no brackets and no quotes.
fn split_at_commas(text: &str) -> Vec<&str> {
    let (mut parts, mut begin, mut depth, mut quote) = (Vec::new(), 0, 0_i32, None);
    for (at, letter) in text.char_indices() {
        match (letter, quote) {
            (it, Some(open)) if it == open => quote = None,
            ('"' | '\'', None) => quote = Some(letter),
            ('(' | '[' | '{', None) => depth += 1,
            (')' | ']' | '}', None) => depth -= 1,
            (',', None) if depth <= 0 => {
                parts.push(&text[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[begin..]);
    parts
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
mod tests {
    use super::*;

    #[test]
    fn samples_become_words() {
        let plain = |text: &str| place_text(text).unwrap().text;
        assert_eq!(
            plain("https://%[req.hdr(Host),lower]%[capture.req.uri]"),
            "https://{host}{uri}"
        );
        assert_eq!(
            plain("https://%[hdr(host),field(1,:)]:8443%[path]"),
            "https://{host}:8443{path}"
        );
        assert_eq!(plain("/a%20b/{x}?$1&%[query]"), "/a%20b/{{x}}?$$1&{query}");
        assert_eq!(plain("%[ssl_fc,iif(https,http)]://%[base]"), "{scheme}://{host}{path}");
        for wrong in ["%[var(txn.a)]", "%[path,regsub(a,b,g)]", "%[path,lower]", "%[hdr(x)]"] {
            assert!(place_text(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_regsub_makes_stands_where_its_sample_stood() {
        let made = |text: &str| {
            let place = place_text(text).unwrap();
            (place.text, place.made.unwrap().1.from)
        };
        let (text, from) = made(r"https://%[hdr(host),regsub(^www\.,,i)]%[url]");
        assert_eq!(text, "https://{host.1}{host.2}{uri}");
        assert_eq!(from, r"(?i)^(?:^www\.(.*)$|(.*))$");
        let (text, from) = made(r#"%[url,regsub("^/a/([a-z]{1,3})/","/b/\1/")]"#);
        assert_eq!(text, "/b/${1}/${2}?{query}");
        assert_eq!(from, "^/a/([a-z]{1,3})/(.*)$");
        assert!(place_text("%[path,regsub(a,b)]%[path,regsub(a,b)]").is_err());
    }
}
