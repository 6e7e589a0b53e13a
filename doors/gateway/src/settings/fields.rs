//! What can be set about header fields.
//!
//! Plain data. Read as part of the `gateway` section.

use crate::fields::{FieldChange, FieldRuleSets, FieldRules, FieldTemplate, field_name};
use http::HeaderName;
use http_engine::claims::{ClaimKind, claim};
use http_engine::internal::is_internal;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vocab::Complaint;

/// Rules of one list: each is looked at for every message.
const RULES_MAX: usize = 64;

/// Tells how servers are told who the client is.
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

/// Changes of header fields.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FieldSettings {
    /// Done to requests that go on to servers, in this order, last of all. At most 64.
    pub request: Vec<FieldRule>,
    /// Done to what clients get, in this order, last of all. At most 64.
    pub response: Vec<FieldRule>,
}

/// One change: exactly one of `set`, `add`, `default`, `remove` and `pass` names a field. Fields
/// that frame messages (`Content-Length`, `Connection` and their like) and `Via` are refused.
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
    /// The field that is let through, though strangers may not send it (in requests: `Remote-User`,
    /// `X-HTTP-Method-Override` and many more) or though it is for the gateway alone (in answers:
    /// `X-Accel-Redirect` and its like).
    pub pass: Option<String>,
    /// Text in which `{client}`, `{host}`, `{scheme}`, `{path}` and `{query}` are replaced by those
    /// of the request; `{{` and `}}` are braces.
    pub value: Option<String>,
}

impl FieldSettings {
    /// Everything that is wrong.
    pub(super) fn check(&self) -> Vec<Complaint> {
        let lists = [
            ("request", &self.request, FieldDirection::Request),
            ("response", &self.response, FieldDirection::Response),
        ];
        let mut complaints = Vec::new();
        for (name, rules, direction) in lists {
            if rules.len() > RULES_MAX {
                complaints.push(Complaint::new(name, format!("at most {RULES_MAX} rules")));
            }
            let wrong = rules.iter().enumerate().filter_map(|(index, rule)| {
                rule.compile(direction).err().map(|it| it.under(&format!("{name}.{index}")))
            });
            complaints.extend(wrong);
        }
        complaints
    }

    /// The rules for requests and for answers, of settings that were checked.
    pub(crate) fn compile(&self) -> FieldRuleSets {
        let compiled = |rules: &[FieldRule], direction| {
            FieldRules::new(rules.iter().filter_map(|rule| rule.compile(direction).ok()).collect())
        };
        FieldRuleSets {
            request: compiled(&self.request, FieldDirection::Request),
            response: compiled(&self.response, FieldDirection::Response),
        }
    }
}

/// Which messages a rule is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FieldDirection {
    Request,
    Response,
}

impl FieldRule {
    fn compile(&self, direction: FieldDirection) -> Result<FieldChange, Complaint> {
        let field = |path: &str, text: &str| {
            field_name(text).map_err(|why| Complaint::new(path, why.to_string()))
        };
        let value = || match &self.value {
            Some(value) => {
                FieldTemplate::parse(value).map_err(|why| Complaint::new("value", why.to_string()))
            }
            None => Err(Complaint::new("value", "the rule says no value")),
        };
        let names = (&self.set, &self.add, &self.default, &self.remove, &self.pass);
        match names {
            (Some(name), None, None, None, None) => {
                Ok(FieldChange::Set(field("set", name)?, value()?))
            }
            (None, Some(name), None, None, None) => {
                Ok(FieldChange::Add(field("add", name)?, value()?))
            }
            (None, None, Some(name), None, None) => {
                Ok(FieldChange::Default(field("default", name)?, value()?))
            }
            (None, None, None, Some(name), None) if self.value.is_none() => {
                Ok(FieldChange::Remove(field("remove", name)?))
            }
            (None, None, None, None, Some(name)) if self.value.is_none() => {
                let name = field("pass", name)?;
                passable(&name, direction)?;
                Ok(FieldChange::Pass(name))
            }
            (None, None, None, Some(_), None) | (None, None, None, None, Some(_)) => {
                Err(Complaint::new("value", "what is removed or let through gets no value"))
            }
            (_, _, _, _, _) => Err(Complaint::new("", "a rule does one thing to one field")
                .remedy("write { set: NAME, value: \"...\" }, or add, default, remove or pass")),
        }
    }
}

/// Complaint about a field that nothing takes out, or that is not for others to write.
fn passable(name: &HeaderName, direction: FieldDirection) -> Result<(), Complaint> {
    let nothing = || {
        Complaint::new("pass", format!("nothing takes {name} out here"))
            .remedy("leave the rule out")
    };
    match direction {
        FieldDirection::Request => match claim(name.as_str()) {
            Some(ClaimKind::Gateway) => {
                let complaint = Complaint::new("pass", format!("the gateway writes {name} itself"));
                Err(complaint.remedy("name the proxy in front, which may say it, in trusted"))
            }
            Some(_) => Ok(()),
            None => Err(nothing()),
        },
        FieldDirection::Response if is_internal(name.as_str()) => Ok(()),
        FieldDirection::Response => Err(nothing()),
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
        let pass = |name: &str, value: Option<&str>| FieldRule {
            pass: some(name),
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
                pass("Remote-User", None),
                pass("X-Forwarded-Prefix", Some("x")),
                pass("X-Forwarded-For", None),
                pass("X-A", None),
            ],
            response: vec![
                FieldRule { add: some("A"), value: some("{nobody}"), ..Default::default() },
                FieldRule { pass: some("X-Accel-Expires"), ..Default::default() },
                FieldRule { pass: some("Remote-User"), ..Default::default() },
            ],
        };
        let paths: Vec<_> = settings.check().into_iter().map(|it| it.path).collect();
        let expected = [
            "request.2",
            "request.3.value",
            "request.4.value",
            "request.5",
            "request.6.set",
            "request.7.value",
            "request.9.value",
            "request.10.pass",
            "request.11.pass",
            "response.0.value",
            "response.2.pass",
        ];
        assert_eq!(paths, expected);
    }
}
