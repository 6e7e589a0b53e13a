//! URLs that a setting of the cache is for (`never`, `freshness`), in the language of filter lists.
//!
//! It looks at the URL alone, not at who asks or for what, so it refuses rules with options. Made
//! anew from the settings on every reload; called by both lanes, where there are such rules.

use policy::{Ask, ClientProfiles, ListKind, ListSource, Policy, RuleSet, compile};
use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use vocab::{Action, Complaint, Name, Now, RequestKind};

/// Rules that are compiled on every reload.
const RULES_MAX: usize = 10_000;
/// As the first line it has every bare word read as a piece of a URL, whatever stands around it.
const HEADER: &str = "[Adblock]";
const REMEDY: &str = "write ||HOST^, ||HOST/PATH* or /EXPRESSION/";

/// The rules of one setting, compiled.
pub(crate) struct UrlRules(Policy);

impl UrlRules {
    /// Returns rules that [`check`] takes; none where there are none.
    pub(crate) fn of(rules: &[String]) -> Option<Self> {
        let texts = rules.iter().map(String::as_str);
        let policy = || Policy::new(Arc::new(compiled(texts)), ClientProfiles::everyone());
        (!rules.is_empty()).then(policy).map(Self)
    }

    /// True if they name this URL, whose host is `host`.
    pub(crate) fn holds(&self, host: Name<'_>, url: &str, now: Now) -> bool {
        let ask = Ask {
            door: vocab::Door::Proxy,
            client: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            identity: None,
            host,
            // Of pages themselves most rules say nothing.
            kind: RequestKind::Other,
            url: Some(url),
            page: None,
        };
        self.0.decide(&ask, now).action == Action::Block
    }
}

/// Everything that is wrong with the rules of one setting; paths begin with `path`.
pub fn check(path: &str, rules: &[String]) -> Vec<Complaint> {
    if rules.len() > RULES_MAX {
        let message = format!("{} rules are over the {RULES_MAX} allowed", rules.len());
        let complaint = Complaint::new(path, message);
        return vec![complaint.remedy("write the hosts that they stand below")];
    }
    let complaint = |index: usize, message: String| {
        Complaint::new(format!("{path}.{index}"), message).remedy(REMEDY)
    };
    let mut complaints = Vec::new();
    // What is refused here leaves an empty line, so that the others keep their numbers.
    let lines: Vec<_> = (0..)
        .zip(rules)
        .map(|(index, rule)| match refused(rule) {
            Some(why) => {
                complaints.push(complaint(index, format!("{rule:?} {why}")));
                ""
            }
            None => rule.as_str(),
        })
        .collect();
    let compiled = compiled(lines.iter().copied());
    for report in compiled.lists() {
        if report.skipped.is_empty()
            && let Some(why) = report.unfit
        {
            complaints.push(Complaint::new(path, why.to_string()).remedy(REMEDY));
        }
        // The first line is ours, and lines are counted from 1.
        complaints.extend(report.skipped.iter().map(|line| {
            let index = (line.line as usize).saturating_sub(2);
            complaint(index, format!("{:?} {}", line.text, line.reason))
        }));
    }
    complaints
}

/// Why a text is no rule that could be looked at by its URL alone.
fn refused(rule: &str) -> Option<&'static str> {
    let text = rule.trim();
    let body = text.strip_prefix("@@").unwrap_or(text);
    let is_expression = body.len() > 2 && body.starts_with('/') && body.ends_with('/');
    if text.is_empty() || text.starts_with(['!', '#', '[']) || rule.contains('\n') {
        Some("is no rule")
    } else if (!is_expression && body.contains('$')) || has_options_behind(body) {
        Some("has options, and here the URL alone is looked at")
    } else {
        None
    }
}

/// True if an expression is ended by options, as in `/a/$domain=/b/`. Within one, no letter comes
/// after `$`.
fn has_options_behind(body: &str) -> bool {
    body.split("/$")
        .skip(1)
        .any(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '~'))
}

fn compiled<'r>(rules: impl Iterator<Item = &'r str>) -> RuleSet {
    let lines: Vec<_> = std::iter::once(HEADER).chain(rules).collect();
    let text = lines.join("\n");
    let source =
        ListSource { name: "urls", kind: ListKind::Block, text: text.as_bytes(), files: &[] };
    compile(&[source], RandomState::new().hash_one(0_u8))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
mod tests {
    use super::*;

    fn url_rules(rules: &[&str]) -> Option<UrlRules> {
        let rules: Vec<_> = rules.iter().map(|rule| String::from(*rule)).collect();
        assert_eq!(check("never", &rules), []);
        UrlRules::of(&rules)
    }

    #[test]
    fn hosts_prefixes_and_expressions_are_told_from_what_stands_beside_them() {
        let named = url_rules(&[
            "||live.example^",
            "||www.example/feed/*",
            r"/\.cgi$/",
            "@@||kept.live.example^",
        ])
        .unwrap();
        let now = Now { unix_ms: 0, mono_ms: 0 };
        let holds = |host: &str, path: &str| {
            let url = format!("http://{host}{path}");
            named.holds(Name::from_lowercase(host).unwrap(), &url, now)
        };
        assert!(holds("live.example", "/") && holds("a.live.example", "/x"));
        assert!(holds("www.example", "/feed/1") && holds("other.example", "/a.cgi"));
        assert!(!holds("notlive.example", "/") && !holds("kept.live.example", "/"));
        assert!(!holds("www.example", "/feeds") && !holds("other.example", "/a.cgi?b"));
    }

    #[test]
    fn nothing_is_made_of_no_rules() {
        assert!(url_rules(&[]).is_none());
    }

    #[test]
    fn what_is_no_rule_or_has_options_is_a_complaint_with_its_place() {
        let rules =
            ["/a/$/", "# b", "||c.example^$script", "/(/", "", "/a/$domain=/b/", "||f.example^"];
        let complaints = check("never", &rules.map(String::from));
        let mut paths: Vec<_> = complaints.into_iter().map(|it| it.path).collect();
        paths.sort();
        assert_eq!(paths, ["never.1", "never.2", "never.3", "never.4", "never.5"]);
        assert_eq!(check("never", &vec!["||a.example^".to_owned(); RULES_MAX + 1]).len(), 1);
    }
}
