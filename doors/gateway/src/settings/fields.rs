//! What can be set about header fields.
//!
//! Plain data. Read as part of the `gateway` section.

use crate::fields::{FieldChange, FieldRules, Text, field_name};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vocab::Complaint;

/// Rules of one list: each is looked at for every message.
const RULES_MAX: usize = 64;

/// How servers are told who the client is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ForwardedStyle {
    /// In `X-Forwarded-For`, `-Proto`, `-Host` and `-Port`.
    #[default]
    XForwarded,
    /// In `Forwarded` (RFC 7239).
    Standard,
    /// In all of them.
    Both,
    /// Not at all.
    Off,
}

/// What is done to header fields.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FieldSettings {
    /// Done to requests that go on to servers, in this order, last of all. At most 64.
    pub request: Vec<FieldRule>,
    /// Done to what clients get, in this order, last of all. At most 64.
    pub response: Vec<FieldRule>,
}

/// One change: exactly one of `set`, `add`, `default` and `remove` names a field. Fields that frame
/// messages (`Content-Length`, `Connection` and their like) and `Via` are refused.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FieldRule {
    /// The field that gets `value`, whatever it had.
    pub set: Option<String>,
    /// The field that gets one more line, `value`.
    pub add: Option<String>,
    /// The field that gets `value` where there is none.
    pub default: Option<String>,
    /// The field that is taken out.
    pub remove: Option<String>,
    /// Text in which `{client}`, `{host}`, `{scheme}`, `{path}` and `{query}` stand for what the
    /// request has; `{{` and `}}` for braces.
    pub value: Option<String>,
}

impl FieldSettings {
    /// Everything that is wrong.
    pub(super) fn check(&self) -> Vec<Complaint> {
        let lists = [("request", &self.request), ("response", &self.response)];
        let mut complaints = Vec::new();
        for (name, rules) in lists {
            if rules.len() > RULES_MAX {
                complaints.push(Complaint::new(name, format!("at most {RULES_MAX} rules")));
            }
            let wrong = rules.iter().enumerate().filter_map(|(index, rule)| {
                rule.compile().err().map(|it| it.under(&format!("{name}.{index}")))
            });
            complaints.extend(wrong);
        }
        complaints
    }

    /// The rules for requests and for answers, of settings that were checked.
    pub(crate) fn compile(&self) -> (FieldRules, FieldRules) {
        let compiled = |rules: &[FieldRule]| {
            FieldRules::new(rules.iter().filter_map(|rule| rule.compile().ok()).collect())
        };
        (compiled(&self.request), compiled(&self.response))
    }
}

impl FieldRule {
    fn compile(&self) -> Result<FieldChange, Complaint> {
        let field = |path: &str, text: &str| {
            field_name(text).map_err(|why| Complaint::new(path, why.to_string()))
        };
        let value = || match &self.value {
            Some(value) => {
                Text::parse(value).map_err(|why| Complaint::new("value", why.to_string()))
            }
            None => Err(Complaint::new("value", "the rule says no value")),
        };
        let names = (&self.set, &self.add, &self.default, &self.remove);
        match names {
            (Some(name), None, None, None) => Ok(FieldChange::Set(field("set", name)?, value()?)),
            (None, Some(name), None, None) => Ok(FieldChange::Add(field("add", name)?, value()?)),
            (None, None, Some(name), None) => {
                Ok(FieldChange::Default(field("default", name)?, value()?))
            }
            (None, None, None, Some(name)) if self.value.is_none() => {
                Ok(FieldChange::Remove(field("remove", name)?))
            }
            (None, None, None, Some(_)) => {
                Err(Complaint::new("value", "what is removed has no value"))
            }
            (_, _, _, _) => Err(Complaint::new("", "a rule does one thing to one field")
                .remedy("write { set: NAME, value: \"...\" }, or add, default or remove")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_does_one_thing() {
        let some = |text: &str| Some(text.to_owned());
        let rule = |set: Option<&str>, remove: Option<&str>, value: Option<&str>| FieldRule {
            set: set.map(str::to_owned),
            remove: remove.map(str::to_owned),
            value: value.map(str::to_owned),
            ..FieldRule::default()
        };
        let settings = FieldSettings {
            request: vec![
                rule(Some("X-A"), None, Some("{client}")),
                rule(None, Some("X-A"), None),
                rule(Some("X-A"), Some("X-B"), Some("c")),
                rule(Some("X-A"), None, None),
                rule(None, Some("X-A"), Some("c")),
                FieldRule::default(),
                rule(Some("Content-Length"), None, Some("1")),
                rule(Some("X-A"), None, Some("a\nb")),
            ],
            response: vec![FieldRule {
                add: some("A"),
                value: some("{nobody}"),
                ..Default::default()
            }],
        };
        let paths: Vec<_> = settings.check().into_iter().map(|it| it.path).collect();
        let expected = [
            "request.2",
            "request.3.value",
            "request.4.value",
            "request.5",
            "request.6.set",
            "request.7.value",
            "response.0.value",
        ];
        assert_eq!(paths, expected);
    }
}
