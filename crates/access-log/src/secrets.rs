//! Secrets that must not reach a log: values of queries, and fields that carry some.
//!
//! Pure. A value goes by its key, compared without case and without what keys are written with in
//! between; a percent-escape in a key is read first.

use std::borrow::Cow;

/// Text in place of a secret.
const REDACTED: &str = "[redacted]";
/// Words in names whose values are secrets.
const WORDS: [&str; 17] = [
    "token",
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "secret",
    "credential",
    "session",
    "signature",
    "authorization",
    "oauth",
    "apikey",
    "accesskey",
    "privatekey",
    "cookie",
    "jwt",
    "assertion",
];
/// Words that count only as whole names: they are parts of too many others.
const WHOLE: [&str; 10] =
    ["key", "auth", "pass", "pwd", "pw", "sid", "sig", "code", "otp", "authkey"];
/// Letters of a name that are looked at; what is longer is taken out, whatever it is.
const NAME_MAX: usize = 64;

/// True if what stands under this name is likely a secret.
pub(crate) fn is_secret(name: &[u8]) -> bool {
    let mut plain = [0_u8; NAME_MAX];
    let mut len = 0;
    let mut at = 0;
    while let Some(&byte) = name.get(at) {
        at += 1;
        let byte = match (byte, name.get(at..at + 2).and_then(hex)) {
            (b'%', Some(escaped)) => {
                at += 2;
                escaped
            }
            _ => byte,
        };
        if byte.is_ascii_alphanumeric() {
            let Some(place) = plain.get_mut(len) else { return true };
            *place = byte.to_ascii_lowercase();
            len += 1;
        }
    }
    let plain = std::str::from_utf8(&plain[..len]).unwrap_or_default();
    WHOLE.contains(&plain) || WORDS.iter().any(|word| plain.contains(word))
}

fn hex(digits: &[u8]) -> Option<u8> {
    let text = std::str::from_utf8(digits)
        .ok()
        .filter(|it| it.bytes().all(|it| it.is_ascii_hexdigit()))?;
    u8::from_str_radix(text, 16).ok()
}

/// A URL or its end without the values of its query that are likely secrets.
pub fn redact(url: &str) -> Cow<'_, str> {
    let Some((path, query)) = url.split_once('?') else { return url.into() };
    let name_of = |pair: &str| pair.split_once('=').map(|(name, _)| name.len());
    let is_due = |pair: &str| name_of(pair).is_some_and(|len| is_secret(&pair.as_bytes()[..len]));
    let pairs = || query.split_inclusive(['&', ';']);
    if !pairs().any(is_due) {
        return url.into();
    }
    let mut out = String::with_capacity(url.len());
    out.extend([path, "?"]);
    for pair in pairs() {
        match name_of(pair).filter(|_| is_due(pair)) {
            Some(len) => {
                let end = pair.trim_end_matches(['&', ';']).len();
                out.extend([&pair[..=len], REDACTED, &pair[end..]]);
            }
            None => out.push_str(pair),
        }
    }
    out.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_in_queries_are_taken_out_and_nothing_else() {
        for (sent, logged) in [
            ("/a", "/a"),
            ("/a?page=2&author=ann", "/a?page=2&author=ann"),
            ("/a?access_token=x&b=1", "/a?access_token=[redacted]&b=1"),
            ("/a?b=1&API-Key=x;c", "/a?b=1&API-Key=[redacted];c"),
            ("/a?code=4%2F0&state=s", "/a?code=[redacted]&state=s"),
            ("/a?%74oken=x", "/a?%74oken=[redacted]"),
            ("/a?keyboard=qwertz&compass=n&token", "/a?keyboard=qwertz&compass=n&token"),
            ("/s3?X-Amz-Signature=x&X-Amz-Date=d", "/s3?X-Amz-Signature=[redacted]&X-Amz-Date=d"),
            ("?pass=", "?pass=[redacted]"),
            ("/a?a=b?token=x", "/a?a=b?token=x"),
            ("/%?%=%&%4=", "/%?%=%&%4="),
        ] {
            assert_eq!(redact(sent), logged);
        }
        assert!(is_secret(&[b'n'; 100]), "a name without an end may hide one");
    }
}
