//! Why an answer is filtered, for programs that show it to people: a JSON object in the text of the
//! extended error (draft-ietf-dnsop-structured-dns-error-22, section 4).
//!
//! Only for clients that ask for it, and never at the cost of a record: what does not fit is left
//! out, first the words, then all. It decides nothing. Called by `shape`.

use dns_wire::{EDE_TEXT_BYTES_MAX, EdeCode};
use policy::RuleText;
use serde::Serialize;

/// Bytes of a rule that are told; `tidegate why` and the dashboard show all of it.
const RULE_BYTES_MAX: usize = 100;
/// Sub-error 6: the policy of whoever runs this DNS server (section 11.4). For blocked names only.
const DNS_OPERATOR_POLICY: u8 = 6;
/// The language of what is written here (RFC 5646).
const LANGUAGE: &str = "en";

/// Holds whom to ask about what is filtered.
#[derive(Clone, Debug, Default)]
pub(crate) struct InCharge {
    contact: Box<[String]>,
    organization: Option<String>,
}

/// The object, by the names of section 4.
#[derive(Serialize)]
struct StructuredError<'t> {
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    c: &'t [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    j: Option<&'t str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    s: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    o: Option<&'t str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    l: Option<&'static str>,
}

impl InCharge {
    pub(crate) fn new(contact: &[String], organization: Option<&str>) -> Self {
        Self { contact: contact.into(), organization: organization.map(str::to_owned) }
    }

    /// The text for an answer with this error, by this rule, in at most `room` bytes; empty where
    /// there is nothing to tell.
    pub(crate) fn text(&self, code: EdeCode, rule: Option<&RuleText>, room: usize) -> String {
        let (words, sub_error) = match (code, rule) {
            (EdeCode::Blocked, Some(rule)) => (words_of(rule), Some(DNS_OPERATOR_POLICY)),
            (EdeCode::Blocked, None) => {
                ("Blocked by this server\u{2019}s settings".to_owned(), Some(DNS_OPERATOR_POLICY))
            }
            (EdeCode::Filtered, _) => {
                ("This server gives no answers of this type".to_owned(), None)
            }
            (
                EdeCode::StaleAnswer
                | EdeCode::Prohibited
                | EdeCode::StaleNxDomain
                | EdeCode::NotAuthoritative
                | EdeCode::NotSupported
                | EdeCode::NoReachableAuthority
                | EdeCode::NetworkError,
                _,
            ) => return String::new(),
        };
        let whole = StructuredError {
            c: &self.contact,
            j: Some(&words),
            s: sub_error,
            o: self.organization.as_deref(),
            l: Some(LANGUAGE),
        };
        // The words go first (section 5.2), and with them what says their language.
        let bare = StructuredError { j: None, o: None, l: None, ..whole };
        let room = room.min(EDE_TEXT_BYTES_MAX);
        let has_meaning = !bare.c.is_empty() || bare.s.is_some();
        let texts = [Some(&whole), Some(&bare).filter(|_| has_meaning)];
        let fitting = texts.into_iter().flatten().filter_map(|it| serde_json::to_string(it).ok());
        fitting.into_iter().find(|text| text.len() <= room).unwrap_or_default()
    }
}

fn words_of(rule: &RuleText) -> String {
    let mut text: String = rule.text.chars().filter(|letter| !letter.is_control()).collect();
    if text.len() > RULE_BYTES_MAX {
        text.truncate(text.floor_char_boundary(RULE_BYTES_MAX));
        text.push('\u{2026}');
    }
    format!("Rule {text} on line {} of list {}", rule.line, rule.list)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A test fails by panicking.
    use super::*;
    use serde_json::json;

    fn in_charge() -> InCharge {
        InCharge {
            contact: ["mailto:dns@home.example".to_owned()].into(),
            organization: Some("Home".into()),
        }
    }

    fn rule(text: &str) -> RuleText {
        RuleText { list: "ads".into(), line: 12, text: text.into() }
    }

    fn object(code: EdeCode, rule: Option<&RuleText>, room: usize) -> serde_json::Value {
        let text = in_charge().text(code, rule, room);
        assert!(text.len() <= room, "{text}");
        serde_json::from_str(&text).unwrap_or_default()
    }

    #[test]
    fn the_rule_and_whom_to_ask_are_told() {
        let expected = json!({
            "c": ["mailto:dns@home.example"], "j": "Rule ||ads.example^ on line 12 of list ads",
            "s": 6, "o": "Home", "l": "en"
        });
        assert_eq!(object(EdeCode::Blocked, Some(&rule("||ads.example^")), 1000), expected);
        let filtered = object(EdeCode::Filtered, None, 1000);
        assert!(filtered["s"].is_null() && filtered["j"].is_string(), "{filtered}");
        assert_eq!(in_charge().text(EdeCode::NetworkError, None, 1000), "");
    }

    #[test]
    fn what_does_not_fit_goes_words_first() {
        let rule = rule(&"\u{1F6AB}\u{7}".repeat(90));
        let whole = object(EdeCode::Blocked, Some(&rule), 1000);
        assert!(whole["j"].as_str().unwrap().contains('\u{2026}'), "{whole}");
        assert!(!whole["j"].as_str().unwrap().contains('\u{7}'), "{whole}");
        let bare = json!({ "c": ["mailto:dns@home.example"], "s": 6 });
        assert_eq!(object(EdeCode::Blocked, Some(&rule), 60), bare);
        assert_eq!(object(EdeCode::Blocked, Some(&rule), 30), json!(null));
        for room in 0..400 {
            object(EdeCode::Blocked, Some(&rule), room);
        }
        // Without a contact or a cause there is nothing to be read in it.
        assert_eq!(InCharge::default().text(EdeCode::Filtered, None, 20), "");
    }
}
