//! The latest release, as a server tells it, held against what runs.

use fetch::Url;
use semver::Version;
use serde::Deserialize;
use std::fmt;

/// Bytes of a tag that are looked at.
const TAG_BYTES_MAX: usize = 100;

/// A release that is newer than what runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewerRelease {
    /// Version, as in `1.4.0`.
    pub version: String,
    /// Page to read, where the server named one.
    pub page: Option<String>,
}

/// The part of a release that is read, in the words of GitHub's API.
#[derive(Debug, Deserialize)]
struct ReleaseText {
    tag_name: String,
    html_url: Option<String>,
    #[serde(default)]
    draft: bool,
    #[serde(default)]
    prerelease: bool,
}

/// Reason why an answer tells no release.
#[derive(Debug)]
pub enum ReleaseFault {
    /// No JSON, or without `tag_name`.
    NoRelease(serde_json::Error),
    /// The tag is no version.
    NoVersion,
}

/// The release that this text tells, if it is newer than `running`; drafts and previews are not.
///
/// # Errors
/// [`ReleaseFault`].
pub fn newer_than(running: &Version, text: &[u8]) -> Result<Option<NewerRelease>, ReleaseFault> {
    let told: ReleaseText = serde_json::from_slice(text).map_err(ReleaseFault::NoRelease)?;
    let tag = told.tag_name.as_str();
    if tag.len() > TAG_BYTES_MAX {
        return Err(ReleaseFault::NoVersion);
    }
    // `v1.4.0`, `tidegate-1.4.0`
    let digits = tag.find(|it: char| it.is_ascii_digit()).unwrap_or(0);
    let version = Version::parse(&tag[digits..]).map_err(|_| ReleaseFault::NoVersion)?;
    if told.draft || told.prerelease || !version.pre.is_empty() || version <= *running {
        return Ok(None);
    }
    // It becomes a link: what is none of ours to open is left out.
    let page = told.html_url.filter(|page| Url::parse(page).is_ok());
    Ok(Some(NewerRelease { version: version.to_string(), page }))
}

impl fmt::Display for ReleaseFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRelease(why) => write!(f, "it tells no release: {why}"),
            Self::NoVersion => f.write_str("its tag_name is no version such as v1.4.0"),
        }
    }
}

impl std::error::Error for ReleaseFault {}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    fn newer(text: &str) -> Option<NewerRelease> {
        newer_than(&Version::new(1, 4, 0), text.as_bytes()).unwrap()
    }

    #[test]
    fn what_is_newer_is_told_with_its_page() {
        for tag in ["v1.4.1", "1.10.0", "tidegate-2.0.0"] {
            let told = newer(&format!(
                r#"{{"tag_name":"{tag}","html_url":"https://git.example/r/1","body":"x"}}"#
            ))
            .unwrap();
            assert!(tag.ends_with(&told.version));
            assert_eq!(told.page.as_deref(), Some("https://git.example/r/1"));
        }
    }

    #[test]
    fn what_is_no_newer_release_is_not_told() {
        for text in [
            r#"{"tag_name":"v1.4.0"}"#,
            r#"{"tag_name":"v1.3.9"}"#,
            r#"{"tag_name":"v2.0.0","draft":true}"#,
            r#"{"tag_name":"v2.0.0","prerelease":true}"#,
            r#"{"tag_name":"v2.0.0-rc.1"}"#,
        ] {
            assert_eq!(newer(text), None, "{text}");
        }
    }

    #[test]
    fn what_is_no_release_is_refused_and_no_script_becomes_a_link() {
        let running = Version::new(1, 4, 0);
        let long = format!(r#"{{"tag_name":"v9.0.{}"}}"#, "0".repeat(200));
        for text in ["", "[]", "{}", r#"{"tag_name":7}"#, r#"{"tag_name":"latest"}"#, &long] {
            assert!(newer_than(&running, text.as_bytes()).is_err(), "{text}");
        }
        let text = r#"{"tag_name":"v2.0.0","html_url":"javascript:alert(1)"}"#;
        assert_eq!(newer(text), Some(NewerRelease { version: "2.0.0".into(), page: None }));
    }
}
