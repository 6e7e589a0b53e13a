//! A person as the provider tells of them.

use crate::failure::IdTokenFault;
use crate::provider::ClaimNames;
use serde_json::{Map, Value};

/// Longest subject, in bytes (OpenID Connect Core §2).
const SUBJECT_BYTES_MAX: usize = 255;
/// Groups of a person that are looked at.
const GROUPS_MAX: usize = 4096;

/// Claims about a person.
pub(crate) type PersonClaims = Map<String, Value>;

/// A person who is signed on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedOnPerson {
    /// Issuer and subject, which nobody else has and no provider gives to another.
    pub subject: String,
    /// Names to be called by, the best first: the claim that is set, the e-mail address unless the
    /// provider says that it is not theirs, the subject.
    pub names: Vec<String>,
    /// Groups.
    pub groups: Vec<String>,
}

impl SignedOnPerson {
    /// Reads the claims of an issuer.
    pub(crate) fn read(
        issuer: &str,
        claims: &PersonClaims,
        names: &ClaimNames,
    ) -> Result<Self, IdTokenFault> {
        let subject = subject(claims).ok_or(IdTokenFault::Subject)?;
        let is_unproven = claims.get("email_verified") == Some(&Value::Bool(false));
        let email = if is_unproven { None } else { text(claims, "email") };
        let candidates = [text(claims, &names.name), email, Some(subject)];
        Ok(Self {
            subject: format!("{issuer} {subject}"),
            names: candidates.into_iter().flatten().map(str::to_owned).collect(),
            groups: names.groups.as_ref().map_or_else(Vec::new, |name| groups(claims, name)),
        })
    }
}

/// The subject of claims, if it is one.
pub(crate) fn subject(claims: &PersonClaims) -> Option<&str> {
    text(claims, "sub").filter(|it| it.len() <= SUBJECT_BYTES_MAX)
}

fn text<'c>(claims: &'c PersonClaims, name: &str) -> Option<&'c str> {
    claims.get(name).and_then(Value::as_str).filter(|it| !it.is_empty())
}

/// Groups of a list of texts, or the one of a text.
fn groups(claims: &PersonClaims, name: &str) -> Vec<String> {
    match claims.get(name) {
        Some(Value::String(group)) => vec![group.clone()],
        Some(Value::Array(groups)) => {
            let groups = groups.iter().filter_map(Value::as_str).take(GROUPS_MAX);
            groups.map(str::to_owned).collect()
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn person(claims: &Value) -> Result<SignedOnPerson, IdTokenFault> {
        let names = ClaimNames { name: "preferred_username".into(), groups: Some("groups".into()) };
        SignedOnPerson::read("https://sso.example", claims.as_object().unwrap(), &names)
    }

    #[test]
    fn a_person_has_names_and_groups() {
        let anna = person(&json!({
            "sub": "7", "preferred_username": "anna", "email": "anna@x.example",
            "groups": ["a", 3, "b"]
        }));
        let anna = anna.unwrap();
        assert_eq!(anna.subject, "https://sso.example 7");
        assert_eq!(anna.names, ["anna", "anna@x.example", "7"]);
        assert_eq!(anna.groups, ["a", "b"]);
        let unproven = json!({"sub": "7", "email": "a@b", "email_verified": false, "groups": "a"});
        let unproven = person(&unproven).unwrap();
        assert_eq!((unproven.names, unproven.groups), (vec!["7".into()], vec!["a".into()]));
    }

    #[test]
    fn without_a_subject_it_is_nobody() {
        for claims in
            [json!({}), json!({"sub": ""}), json!({"sub": 7}), json!({"sub": "a".repeat(256)})]
        {
            assert_eq!(person(&claims), Err(IdTokenFault::Subject), "{claims}");
        }
    }
}
