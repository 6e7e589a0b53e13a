//! `redir`: other places, with placeholders and what a matcher's expression found.

use super::CaddyReader;
use super::answers::known_word;
use super::handlers::SiteState;
use super::tree::CaddyDirective;
use import_routes::flow::FlowStep;
use import_routes::redirects::{GroupSubject, RedirectDraft, literal};
use import_routes::unknown_word::UnknownWord;

/// Labels and segments that are counted.
const PARTS_MAX: usize = 5;

impl CaddyReader<'_> {
    pub(super) fn redirected(
        &mut self,
        first: &CaddyDirective,
        args: &[String],
        state: &SiteState,
    ) -> Vec<FlowStep> {
        let arg = |index: usize| args.get(index).map_or("", String::as_str);
        let status = match arg(1) {
            "permanent" => 301,
            "" | "temporary" => 302,
            "html" => 0,
            text => text.parse::<u16>().unwrap_or(0),
        };
        let made = match self.place(arg(0), status, state) {
            Ok(draft) => draft.step().map_err(|why| why.to_string()),
            Err(word) => Err(word.to_string()),
        };
        match made {
            Ok(step) => vec![step],
            Err(why) => Self::refused(first, &why),
        }
    }

    /// A text with placeholders as a place.
    fn place(
        &self,
        text: &str,
        status: u16,
        state: &SiteState,
    ) -> Result<RedirectDraft, UnknownWord> {
        let mut draft = RedirectDraft { status, ..RedirectDraft::default() };
        let mut rest = text;
        while let Some(at) = rest.find('{') {
            draft.to.push_str(&literal(&rest[..at]));
            let Some((word, behind)) = rest[at + 1..].split_once('}') else {
                draft.to.push_str("{{");
                rest = &rest[at + 1..];
                continue;
            };
            self.push_word(word, behind.is_empty(), state, &mut draft)?;
            rest = behind;
        }
        draft.to.push_str(&literal(rest));
        Ok(draft)
    }

    /// Puts in a placeholder; `is_last` if nothing stands behind it.
    fn push_word(
        &self,
        word: &str,
        is_last: bool,
        state: &SiteState,
        draft: &mut RedirectDraft,
    ) -> Result<(), UnknownWord> {
        let unknown = || UnknownWord(format!("{{{word}}}"));
        let short = word.strip_prefix("http.request.").unwrap_or(word);
        let is_original = word.contains("orig_uri");
        if state.rewrite.is_some() && matches!(short, "uri" | "path" | "uri.path") {
            return Err(unknown());
        }
        let is_below = !state.base.is_empty() && !is_original;
        match (known_word(word), short) {
            // What `handle_path` has taken off is not there any more.
            (_, "path" | "uri.path") if is_below => {
                Self::push_rest(state, draft).ok_or_else(unknown)?;
            }
            (_, "uri") if is_below && is_last => {
                Self::push_rest(state, draft).ok_or_else(unknown)?;
                draft.to.push_str("?{query}");
            }
            (_, "uri") if is_below => return Err(unknown()),
            (Some(own), _) => draft.to.push_str(own),
            (None, _) => {
                let group = self.group(word, state).ok_or_else(unknown)?;
                set_once(draft, &group).ok_or_else(unknown)?;
            }
        }
        Ok(())
    }

    /// Puts in the path below the block's prefix.
    fn push_rest(state: &SiteState, draft: &mut RedirectDraft) -> Option<()> {
        let expression = format!("^{}/?(.*)$", regex::escape(&state.base));
        // One slash stands before it in any case.
        if !draft.to.ends_with('/') {
            draft.to.push('/');
        }
        let name = "1".to_owned();
        set_once(draft, &NamedGroup { subject: GroupSubject::Path, expression, name })
    }

    /// The group that a placeholder names.
    fn group(&self, word: &str, state: &SiteState) -> Option<NamedGroup> {
        let short = word.strip_prefix("http.").unwrap_or(word);
        let short = short.strip_prefix("request.").unwrap_or(short);
        if let Some(number) = short.strip_prefix("host.labels.").or(short.strip_prefix("labels.")) {
            return label(number);
        }
        if let Some(number) = short.strip_prefix("uri.path.").or(short.strip_prefix("path.")) {
            return segment(number).filter(|_| state.base.is_empty());
        }
        let name = short.strip_prefix("regexp.").or(short.strip_prefix("re."))?;
        let (matcher, name) = name.rsplit_once('.').unwrap_or(("", name));
        let expression = self.matchers.expression_of(matcher, &state.base)?;
        Some(NamedGroup { subject: GroupSubject::Path, expression, name: name.to_owned() })
    }
}

/// A group of an expression.
struct NamedGroup {
    subject: GroupSubject,
    expression: String,
    name: String,
}

/// Puts a group in, where the place has no other expression for its subject.
fn set_once(draft: &mut RedirectDraft, group: &NamedGroup) -> Option<()> {
    let kept = match group.subject {
        GroupSubject::Path => &mut draft.from,
        GroupSubject::Host => &mut draft.from_host,
    };
    if kept.as_ref().is_some_and(|it| *it != group.expression) {
        return None;
    }
    *kept = Some(group.expression.clone());
    draft.to.push_str(&group.subject.group(&group.name));
    Some(())
}

/// A label of the host, counted from the right.
fn label(number: &str) -> Option<NamedGroup> {
    let number: usize = number.parse().ok().filter(|it| *it < PARTS_MAX)?;
    // All that may be said are in one expression, so that a place may say several.
    let before = |inner: String, it| format!("(?:{inner}(?<l{it}>[^.]+)\\.)?");
    let labels = (1..PARTS_MAX).rev().fold(r"(?:.*\.)?".to_owned(), before);
    let expression = format!("^{labels}(?<l0>[^.]+)$");
    Some(NamedGroup { subject: GroupSubject::Host, expression, name: format!("l{number}") })
}

/// A segment of the path, counted from the left.
fn segment(number: &str) -> Option<NamedGroup> {
    let number: usize = number.parse().ok().filter(|it| *it < PARTS_MAX)?;
    let segments: Vec<String> = (0..PARTS_MAX).map(|it| format!("(?:/(?<s{it}>[^/]*))?")).collect();
    let expression = format!("^{}", segments.concat());
    Some(NamedGroup { subject: GroupSubject::Path, expression, name: format!("s{number}") })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
mod tests {
    use super::*;
    use regex::Regex;

    #[test]
    fn parts_of_hosts_and_paths_are_counted_as_caddy_counts_them() {
        let found = |group: NamedGroup, text: &str| {
            let regex = Regex::new(&group.expression).unwrap();
            let found = regex.captures(text).unwrap();
            found.name(&group.name).map_or("", |it| it.as_str()).to_owned()
        };
        let host = |number: &str| found(label(number).unwrap(), "www.a.example");
        assert_eq!([host("0"), host("1"), host("2"), host("3")], ["example", "a", "www", ""]);
        let path = |number: &str| found(segment(number).unwrap(), "/a/b c/");
        assert_eq!([path("0"), path("1"), path("2"), path("3")], ["a", "b c", "", ""]);
        assert!(label("5").is_none() && segment("x").is_none());
    }
}
