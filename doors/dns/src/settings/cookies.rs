//! What can be set about DNS cookies.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vocab::Complaint;

/// Digits of a secret: 16 bytes.
const SECRET_DIGITS: usize = 32;

/// Cookies by which clients prove their addresses over UDP (RFC 7873).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CookieSettings {
    /// `on`: clients that send cookies get ours, and a client that returns it is not limited as
    /// forged queries are. `require`: over UDP a client without our cookie first has to fetch it,
    /// and one that knows no cookies has to come over TCP; for servers under attack. `off`: cookies
    /// are ignored. Default `on`.
    pub mode: CookieMode,
    /// Secret from which cookies are made: 32 hexadecimal digits, the same on all servers that
    /// share an address. Default: chosen at the start.
    pub secret: Option<String>,
}

/// Treatment of cookies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CookieMode {
    /// They are answered, and believed.
    #[default]
    On,
    /// They are needed over UDP.
    Require,
    /// They are passed over.
    Off,
}

impl CookieSettings {
    /// Returns what is wrong, with paths relative to the section.
    pub(crate) fn check(&self) -> Vec<Complaint> {
        match &self.secret {
            Some(_) if self.secret_bytes().is_none() => {
                let message = format!("the secret is not {SECRET_DIGITS} hexadecimal digits");
                vec![
                    Complaint::new("secret", message)
                        .remedy("write what openssl rand -hex 16 says"),
                ]
            }
            Some(_) | None => Vec::new(),
        }
    }

    /// The secret that is set; none where none is, or where it is none.
    pub(crate) fn secret_bytes(&self) -> Option<[u8; 16]> {
        let digits = self.secret.as_deref()?;
        if digits.len() != SECRET_DIGITS || !digits.bytes().all(|it| it.is_ascii_hexdigit()) {
            return None;
        }
        u128::from_str_radix(digits, 16).ok().map(u128::to_be_bytes)
    }
}
