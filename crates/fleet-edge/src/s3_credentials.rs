//! Credentials for S3: from the settings, else from where AWS' own clients look.
//!
//! The environment first (`AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`), then
//! the shared file (`AWS_SHARED_CREDENTIALS_FILE`, or `~/.aws/credentials`) with `AWS_PROFILE`.
//! The secret signs and is sent nowhere.

use crate::s3_location::read_region;
use rusty_s3::Credentials;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::SecretText;
use std::fmt;
use std::path::{Path, PathBuf};
use vocab::Complaint;

/// Bytes of the shared file.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Credentials for bundles at S3. Default: those that AWS' own clients would find, in the
/// environment or in the shared file; without any, requests are not signed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct S3Settings {
    /// Name of the key, such as `AKIA…`.
    pub access_key_id: Option<String>,
    /// The secret that belongs to it; best `${file:/etc/tidegate/s3.secret}`.
    pub secret_access_key: Option<SecretText>,
    /// Token of credentials that last for a time.
    pub session_token: Option<SecretText>,
}

/// Name and secret of somebody who asks at S3.
#[derive(Clone)]
pub struct S3Credentials(Credentials);

/// Reason why there are none though a file should have them.
#[derive(Debug)]
pub enum CredentialsFault {
    /// Half of them in the environment.
    Half,
    /// The shared file cannot be read.
    File(PathBuf, std::io::Error),
    /// A file without such a profile, or with half of it.
    Profile(PathBuf, String),
}

impl S3Settings {
    pub(crate) fn check(&self) -> Vec<Complaint> {
        let mut complaints = Vec::new();
        if self.access_key_id.as_ref().is_none_or(String::is_empty) {
            let complaint = Complaint::new("access_key_id", "a secret belongs to a named key");
            complaints.push(complaint.remedy("write both, or leave s3 out"));
        }
        if self.secret_access_key.as_ref().is_none_or(|it| it.reveal().trim().is_empty()) {
            let complaint = Complaint::new("secret_access_key", "nothing can be signed without it");
            complaints.push(complaint.remedy("write \"${file:/etc/tidegate/s3.secret}\""));
        }
        complaints
    }

    /// The credentials that they name.
    pub fn credentials(&self) -> Option<S3Credentials> {
        // What a file holds ends with a line break.
        let token = self.session_token.as_ref().map(|it| it.reveal().trim().to_owned());
        let secret = self.secret_access_key.as_ref()?.reveal().trim().to_owned();
        Some(S3Credentials::of(self.access_key_id.clone()?, secret, token))
    }
}

impl S3Credentials {
    fn of(key: String, secret: String, token: Option<String>) -> Self {
        Self(match token {
            Some(token) => Credentials::new_with_token(key, secret, token),
            None => Credentials::new(key, secret),
        })
    }

    /// Credentials that AWS' own clients would find; none where there are none.
    ///
    /// # Errors
    /// [`CredentialsFault`] where some are named and cannot be had.
    pub fn from_surroundings() -> Result<Option<Self>, CredentialsFault> {
        Self::found(&|name| std::env::var(name).ok().filter(|it| !it.is_empty()))
    }

    fn found(variable: &dyn Fn(&str) -> Option<String>) -> Result<Option<Self>, CredentialsFault> {
        match (variable("AWS_ACCESS_KEY_ID"), variable("AWS_SECRET_ACCESS_KEY")) {
            (Some(key), Some(secret)) => {
                return Ok(Some(Self::of(key, secret, variable("AWS_SESSION_TOKEN"))));
            }
            (None, None) => {}
            (Some(_), None) | (None, Some(_)) => return Err(CredentialsFault::Half),
        }
        let named = variable("AWS_SHARED_CREDENTIALS_FILE").map(PathBuf::from);
        let usual = || variable("HOME").map(|home| Path::new(&home).join(".aws/credentials"));
        let is_named = named.is_some();
        let Some(path) = named.or_else(usual) else { return Ok(None) };
        let profile = variable("AWS_PROFILE");
        let text = match read_bounded(&path) {
            Ok(text) => text,
            // Nobody has said that there is one; walls of the service hide it too.
            Err(_) if !is_named && profile.is_none() => return Ok(None),
            Err(why) => return Err(CredentialsFault::File(path, why)),
        };
        let name = profile.unwrap_or_else(|| "default".to_owned());
        match profile_of(&text, &name) {
            Some(found) => Ok(Some(found)),
            None => Err(CredentialsFault::Profile(path, name)),
        }
    }

    pub(crate) fn inner(&self) -> &Credentials {
        &self.0
    }
}

/// Region that the environment names.
pub(crate) fn region_of_surroundings() -> Option<String> {
    let variable = |name| std::env::var(name).ok().and_then(|it| read_region(&it).ok());
    variable("AWS_REGION").or_else(|| variable("AWS_DEFAULT_REGION"))
}

fn read_bounded(path: &Path) -> std::io::Result<String> {
    if std::fs::metadata(path)?.len() > FILE_BYTES_MAX {
        return Err(std::io::Error::other("it is larger than 1 MiB"));
    }
    std::fs::read_to_string(path)
}

/// A profile of a shared file, which has sections and lines `key = value`.
fn profile_of(text: &str, profile: &str) -> Option<S3Credentials> {
    let mut is_inside = false;
    let (mut key, mut secret, mut token) = (None, None, None);
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix('[').and_then(|it| it.strip_suffix(']')) {
            is_inside = name.trim() == profile;
        } else if let Some((name, value)) = line.split_once('=').filter(|_| is_inside) {
            let value = Some(value.trim().to_owned());
            match name.trim() {
                "aws_access_key_id" => key = value,
                "aws_secret_access_key" => secret = value,
                "aws_session_token" => token = value,
                _ => {}
            }
        }
    }
    Some(S3Credentials::of(key?, secret?, token))
}

impl fmt::Debug for S3Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} …", self.0.key())
    }
}

impl fmt::Display for CredentialsFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Half => {
                f.write_str("AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY go together: set both")
            }
            Self::File(path, why) => write!(f, "{}: {why}", path.display()),
            Self::Profile(path, name) => write!(
                f,
                "{} has no aws_access_key_id and aws_secret_access_key in [{name}]",
                path.display()
            ),
        }
    }
}

impl std::error::Error for CredentialsFault {}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn found(names: &[(&str, &str)]) -> Result<Option<S3Credentials>, CredentialsFault> {
        let names: BTreeMap<String, String> =
            names.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        S3Credentials::found(&|name| names.get(name).cloned())
    }

    #[test]
    fn credentials_are_found_where_other_clients_find_them() {
        assert!(found(&[]).unwrap().is_none());
        let both = [("AWS_ACCESS_KEY_ID", "AKIA1"), ("AWS_SECRET_ACCESS_KEY", "s3cr3t")];
        let here = found(&both).unwrap().unwrap();
        assert_eq!((here.0.key(), here.0.secret(), here.0.token()), ("AKIA1", "s3cr3t", None));
        assert_eq!(format!("{here:?}"), "AKIA1 …");
        assert!(matches!(found(&both[..1]), Err(CredentialsFault::Half)));
        let file = std::env::temp_dir().join(format!("credentials-{}", std::process::id()));
        let text = "[default]\naws_access_key_id = A\naws_secret_access_key=B=\n# c\n\
                    [ fleet ]\naws_access_key_id=C\naws_secret_access_key=D\naws_session_token=E\n\
                    [half]\naws_access_key_id=F\n";
        std::fs::write(&file, text).unwrap();
        let path = file.to_str().unwrap();
        let named = ("AWS_SHARED_CREDENTIALS_FILE", path);
        let plain = found(&[named]).unwrap().unwrap();
        assert_eq!((plain.0.key(), plain.0.secret()), ("A", "B="));
        let fleet = found(&[named, ("AWS_PROFILE", "fleet")]).unwrap().unwrap();
        assert_eq!((fleet.0.key(), fleet.0.token()), ("C", Some("E")));
        for profile in ["half", "none"] {
            let why = found(&[named, ("AWS_PROFILE", profile)]).unwrap_err().to_string();
            assert!(why.contains(&format!("in [{profile}]")) && !why.contains('F'), "{why}");
        }
        std::fs::remove_file(&file).unwrap();
        assert!(matches!(found(&[named]), Err(CredentialsFault::File(..))));
        assert!(found(&[("HOME", "/nowhere")]).unwrap().is_none());
    }

    #[test]
    fn settings_name_both_halves_and_show_no_secret() {
        let mut settings = S3Settings::default();
        assert_eq!(settings.check().len(), 2);
        settings.access_key_id = Some("AKIA1".into());
        settings.secret_access_key = Some("s3cr3t\n".into());
        assert!(settings.check().is_empty());
        assert!(!format!("{settings:?}").contains("s3cr3t"));
        assert_eq!(settings.credentials().unwrap().0.secret(), "s3cr3t");
    }
}
