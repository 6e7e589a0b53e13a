//! Settings of users: `proxy.auth`.
//!
//! Passwords stand here hashed, tokens by their digest. Read and checked as a part of the section.

use passwords::UserTable;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::Text;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use vocab::{Complaint, Network};

/// Tokens, at most.
const TOKENS_MAX: usize = 65_536;

/// Users with passwords or tokens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AuthSettings {
    /// The name of the area, which browsers show. Default `Tidegate`.
    pub realm: String,
    /// A file as `htpasswd -B` writes it; a relative path starts from the configuration's folder.
    /// It is read at start and on reload. Default none.
    pub file: Option<String>,
    /// Users and their hashed passwords: bcrypt (`$2y$`), Argon2 (`$argon2id$`), SHA-crypt (`$5$`,
    /// `$6$`). Default none.
    pub users: BTreeMap<String, String>,
    /// Users that show a token instead, as user name without a password or as
    /// `Proxy-Authorization: Bearer`: a name, and `sha256:` with the 64 hex digits of the token's
    /// SHA-256. At most 65536. Default none.
    pub tokens: BTreeMap<String, Text<TokenDigest>>,
    /// Clients that are not asked: networks or addresses. Default none.
    pub exempt: Vec<Text<Network>>,
}

/// The SHA-256 of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TokenDigest(pub [u8; 32]);

/// Why a text is no digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadDigest;

impl Default for AuthSettings {
    fn default() -> Self {
        Self {
            realm: "Tidegate".into(),
            file: None,
            users: BTreeMap::new(),
            tokens: BTreeMap::new(),
            exempt: Vec::new(),
        }
    }
}

impl AuthSettings {
    /// Everything that is wrong, but for what stands in the file.
    pub(super) fn check(&self) -> Vec<Complaint> {
        let mut complaints = Vec::new();
        let is_text = |it: char| (' '..='~').contains(&it) && it != '"' && it != '\\';
        if !self.realm.chars().all(is_text) {
            let message = "a realm is printable ASCII without quotes and backslashes";
            complaints.push(Complaint::new("realm", message));
        }
        if self.file.is_none() && self.users.is_empty() && self.tokens.is_empty() {
            let complaint = Complaint::new("", "no user has a password or a token here");
            let remedy = "write file: users.htpasswd, or users: { NAME: HASH }, or leave auth out";
            complaints.push(complaint.remedy(remedy));
        }
        if self.tokens.len() > TOKENS_MAX {
            complaints.push(Complaint::new("tokens", format!("more than {TOKENS_MAX} tokens")));
        }
        if let Some(twice) = self.tokens.keys().find(|name| self.users.contains_key(*name)) {
            let message = "this name is under users too";
            complaints.push(Complaint::new(format!("tokens.{twice}"), message));
        }
        complaints.extend(UserTable::check(&self.users));
        complaints
    }
}

impl FromStr for TokenDigest {
    type Err = BadDigest;

    fn from_str(text: &str) -> Result<Self, BadDigest> {
        let digits = text.strip_prefix("sha256:").ok_or(BadDigest)?.as_bytes();
        let (pairs, []) = digits.as_chunks::<2>() else { return Err(BadDigest) };
        let value = |digit: u8| char::from(digit).to_digit(16);
        let bytes: Option<Vec<u8>> = pairs
            .iter()
            .map(|[high, low]| u8::try_from(value(*high)? << 4 | value(*low)?).ok())
            .collect();
        bytes.and_then(|bytes| bytes.try_into().ok()).map(Self).ok_or(BadDigest)
    }
}

impl settings::WrittenWord for TokenDigest {
    const FORMAT: &'static str = "token";
    const EXAMPLE: &'static str =
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

    // Perhaps it is the token itself, written where its digest belongs.
    fn redacted(_: &str) -> Cow<'_, str> {
        "…".into()
    }
}

impl fmt::Display for TokenDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("sha256:")?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Display for BadDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("write sha256: and 64 hex digits, from: printf %s TOKEN | sha256sum")
    }
}

impl std::error::Error for BadDigest {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_prints_as_it_is_read() {
        let text = "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
        assert_eq!(text.parse::<TokenDigest>().unwrap().to_string(), text);
        for wrong in ["", "sha256:", "secret", &text[..70], &text.replace('9', "g")] {
            assert_eq!(wrong.parse::<TokenDigest>(), Err(BadDigest), "{wrong}");
        }
    }

    #[test]
    fn nobody_and_doubles_are_complaints() {
        let empty = AuthSettings { realm: "a\"b".into(), ..AuthSettings::default() };
        let paths: Vec<_> = empty.check().into_iter().map(|it| it.path).collect();
        assert_eq!(paths, ["realm", ""]);
        let token = Text("sha256:".to_owned() + &"0".repeat(64)).0.parse().unwrap();
        let twice = AuthSettings {
            users: [("ann".into(), "hunter2".into())].into(),
            tokens: [("ann".into(), Text(token))].into(),
            ..AuthSettings::default()
        };
        let complaints = twice.check();
        let paths: Vec<_> = complaints.iter().map(|it| it.path.as_str()).collect();
        assert_eq!(paths, ["tokens.ann", "users.ann"]);
        assert!(!format!("{complaints:?}").contains("hunter2"));
    }
}
