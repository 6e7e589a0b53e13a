//! From HTTP to HTTPS: the redirect, and HSTS (RFC 6797).
//!
//! Pure. The redirect is a site's choice, and so is the promise to be reached by HTTPS only, which
//! cannot be taken back before its time is over. Called by `site` and `visit`.

use http::HeaderValue;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::Text;
use vocab::{Complaint, TimeSpan};

/// The port that a URL with `https` does not name.
const HTTPS_PORT: u16 = 443;
/// Browsers' lists take sites that promise a year or more.
const PRELOAD_MIN_SECS: u64 = 31_536_000;
/// Ten years: more is a slip of the pen.
const AGE_MAX_SECS: u64 = 10 * 31_536_000;

/// HSTS: that browsers come by HTTPS only, for so long.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HstsSettings {
    /// For how long a browser is to remember it; `0` has it forget. At most 10 years. No default.
    pub max_age: Text<TimeSpan>,
    /// True if the names below this one are meant too. Default false.
    #[serde(default)]
    pub subdomains: bool,
    /// True if browsers' built-in lists may hold the site; needs `subdomains` and a year. Default
    /// false.
    #[serde(default)]
    pub preload: bool,
}

impl HstsSettings {
    /// Everything that is wrong.
    pub fn check(&self) -> Vec<Complaint> {
        let age = self.max_age.0.0.as_secs();
        let mut complaints = Vec::new();
        if age > AGE_MAX_SECS {
            complaints.push(Complaint::new("max_age", "more than 10 years"));
        }
        if self.preload && (!self.subdomains || age < PRELOAD_MIN_SECS) {
            let message = "browsers' lists take only sites with subdomains and a max_age of a year";
            complaints.push(
                Complaint::new("preload", message)
                    .remedy("write max_age: 365d, subdomains: true, or leave preload out"),
            );
        }
        complaints
    }

    /// The `Strict-Transport-Security` field. RFC 6797 §7.2: never sent over plain HTTP.
    pub(crate) fn value(&self) -> HeaderValue {
        let mut text = format!("max-age={}", self.max_age.0.0.as_secs());
        if self.subdomains {
            text.push_str("; includeSubDomains");
        }
        if self.preload {
            text.push_str("; preload");
        }
        HeaderValue::from_str(&text).expect("digits and fixed words: visible ASCII")
    }
}

/// Where a request over plain HTTP is sent: the same host and target, by HTTPS at `port`. `None` if
/// there is no host to name, or the target cannot be repeated.
pub(crate) fn https_location(host: &str, port: u16, target: &str) -> Option<HeaderValue> {
    if host.is_empty() || !target.starts_with('/') {
        return None;
    }
    let authority = if port == HTTPS_PORT { host.to_owned() } else { format!("{host}:{port}") };
    HeaderValue::from_str(&format!("https://{authority}{target}")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_location_keeps_host_and_target() {
        let check = |port: u16, target: &str, expected: Option<&str>| {
            let found = https_location("www.example", port, target);
            assert_eq!(found.as_ref().and_then(|it| it.to_str().ok()), expected);
        };
        check(443, "/a%20b?c=d", Some("https://www.example/a%20b?c=d"));
        check(8443, "/", Some("https://www.example:8443/"));
        check(443, "//evil.example/", Some("https://www.example//evil.example/"));
        check(443, "*", None);
        check(443, "/\r\nX: y", None);
    }

    #[test]
    fn hsts_says_what_was_chosen() {
        let year = Text(TimeSpan(Duration::from_secs(PRELOAD_MIN_SECS)));
        let plain = HstsSettings { max_age: year, subdomains: false, preload: false };
        assert_eq!(plain.value(), "max-age=31536000");
        let all = HstsSettings { subdomains: true, preload: true, ..plain.clone() };
        assert_eq!(all.value(), "max-age=31536000; includeSubDomains; preload");
        assert_eq!(all.check(), []);
        assert_eq!(HstsSettings { preload: true, ..plain }.check().len(), 1);
    }
}
