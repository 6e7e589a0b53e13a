//! A name and a password as a client sends them (RFC 7617 §2).
//!
//! It believes nothing of what it reads. Called by the doors with the value of `Authorization` or
//! `Proxy-Authorization`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::fmt;

/// The longest field that is looked at, in bytes.
pub const FIELD_BYTES_MAX: usize = 1024;

/// A name and a password, not proven.
#[derive(Clone, PartialEq, Eq)]
pub struct BasicCredentials {
    /// The name, which has no colon.
    pub user: String,
    /// The password, of whatever bytes.
    pub password: Vec<u8>,
}

/// Reads a field that says `Basic …`; nothing, if it says something else or is malformed or long.
pub fn basic(field: &[u8]) -> Option<BasicCredentials> {
    if field.len() > FIELD_BYTES_MAX {
        return None;
    }
    let (scheme, rest) = field.split_at_checked(6)?;
    if !scheme.eq_ignore_ascii_case(b"basic ") {
        return None;
    }
    let decoded = STANDARD.decode(rest.trim_ascii()).ok()?;
    let colon = decoded.iter().position(|it| *it == b':')?;
    let user = String::from_utf8(decoded[..colon].to_vec()).ok()?;
    Some(BasicCredentials { user, password: decoded[colon + 1..].to_vec() })
}

impl fmt::Debug for BasicCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Never the password.
        write!(f, "Basic({:?})", self.user)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_may_have_colons() {
        let read = basic(b"bAsIc YW5uOmE6Yg==").unwrap();
        assert_eq!((read.user.as_str(), read.password.as_slice()), ("ann", &b"a:b"[..]));
        assert_eq!(format!("{read:?}"), "Basic(\"ann\")");
    }

    #[test]
    fn malformed_credentials_are_none() {
        for field in ["Basic", "Basic !!!", "Bearer abc", "Basic YWJj", "basic", "Basic /////w=="] {
            assert_eq!(basic(field.as_bytes()), None, "{field}");
        }
        let long = format!("Basic {}", "YTpi".repeat(FIELD_BYTES_MAX / 4));
        assert_eq!(basic(long.as_bytes()), None);
    }
}
