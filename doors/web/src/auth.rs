//! Basic authentication (RFC 7617): a name and a password for parts of a site.
//!
//! Which paths ask whom; the passwords themselves are the `passwords` crate's. Called by `visit`.

mod settings;

pub use self::settings::AuthSettings;
pub(crate) use self::settings::check;

use crate::pattern::PathPattern;
use http::HeaderValue;
use http::header::{AUTHORIZATION, HeaderMap};
use passwords::{BasicCredentials, LoginAttempt, LoginOutcome, PasswordChecker, UserTable, basic};
use std::path::Path;
use std::sync::Arc;
use vocab::{Complaint, Now};

/// Tells what a request gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AuthAccess {
    /// Nobody is asked here.
    Open,
    /// This user, proven.
    User(Arc<str>),
    /// The credentials must be checked first.
    Check(AuthCredentials),
    /// A name and a password are due: 401 with this `WWW-Authenticate`.
    Denied(HeaderValue),
    /// Too many are being checked: 503.
    Busy,
}

/// A name and a password, not yet proven. Only their holder's entry can tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AuthCredentials {
    entry: usize,
    attempt: LoginAttempt,
}

/// The guarded parts of a site.
pub(crate) struct SiteAuth {
    entries: Vec<AuthEntry>,
    checker: PasswordChecker,
}

struct AuthEntry {
    pattern: PathPattern,
    challenge: HeaderValue,
    users: UserTable,
}

impl SiteAuth {
    /// Reads the files of users, relative ones from `base`. Complaints have paths relative to
    /// `auth`.
    pub(crate) fn open(all: &[AuthSettings], base: &Path) -> Result<Self, Vec<Complaint>> {
        let (mut entries, mut complaints) = (Vec::new(), Vec::new());
        for (index, settings) in all.iter().enumerate() {
            match AuthEntry::open(settings, base) {
                Ok(entry) => entries.push(entry),
                Err(found) => {
                    complaints.extend(found.into_iter().map(|it| it.under(&index.to_string())));
                }
            }
        }
        entries.sort_by_key(|entry| std::cmp::Reverse(entry.pattern.len()));
        match PasswordChecker::new() {
            Ok(desk) if complaints.is_empty() => return Ok(Self { entries, checker: desk }),
            Ok(_) => {}
            Err(why) => {
                let message = format!("the system gives no randomness: {why}");
                complaints.push(Complaint::new("", message));
            }
        }
        Err(complaints)
    }

    /// True if somebody is asked at this decoded path.
    pub(crate) fn guards(&self, path: &str) -> bool {
        self.entries.iter().any(|entry| entry.pattern.matches(path))
    }

    /// The number of the entry that guards this decoded path.
    pub(crate) fn guard_of(&self, path: &str) -> Option<usize> {
        self.entries.iter().position(|entry| entry.pattern.matches(path))
    }

    /// Returns what a request for this decoded path gets, without waiting.
    pub(crate) fn access(&self, path: &str, headers: &HeaderMap, now: Now) -> AuthAccess {
        let Some(at) = self.guard_of(path) else { return AuthAccess::Open };
        let Some(shown) = credentials(headers) else {
            return AuthAccess::Denied(self.entries[at].challenge.clone());
        };
        let attempt = self.checker.attempt(at, shown);
        match self.checker.remembers(&attempt, now) {
            Some(user) => AuthAccess::User(user),
            None => AuthAccess::Check(AuthCredentials { entry: at, attempt }),
        }
    }

    /// Checks what [`SiteAuth::access`] could not say.
    pub(crate) async fn check(&self, credentials: AuthCredentials, now: Now) -> AuthAccess {
        let Some(entry) = self.entries.get(credentials.entry) else { return AuthAccess::Busy };
        match self.checker.check(&entry.users, credentials.attempt, now).await {
            LoginOutcome::Accepted(user) => AuthAccess::User(user),
            LoginOutcome::Wrong => AuthAccess::Denied(entry.challenge.clone()),
            LoginOutcome::Busy => AuthAccess::Busy,
        }
    }
}

impl AuthEntry {
    fn open(settings: &AuthSettings, base: &Path) -> Result<Self, Vec<Complaint>> {
        let complaints = settings.check();
        if !complaints.is_empty() {
            return Err(complaints);
        }
        let users = UserTable::open(&settings.users, settings.file.as_deref(), base)?;
        let challenge = format!("Basic realm=\"{}\", charset=\"UTF-8\"", settings.realm);
        match (HeaderValue::from_str(&challenge), PathPattern::whole(&settings.path)) {
            (Ok(challenge), Ok(pattern)) => Ok(Self { pattern, challenge, users }),
            // Checked above.
            _ => Err(vec![Complaint::new("path", "neither path nor realm can be used")]),
        }
    }
}

/// The name and password of a request.
fn credentials(headers: &HeaderMap) -> Option<BasicCredentials> {
    let mut fields = headers.get_all(AUTHORIZATION).iter();
    let field = fields.next()?;
    // Two of them: which one would a script take?
    if fields.next().is_some() { None } else { basic(field.as_bytes()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;

    const NOW: Now = Now { unix_ms: 0, mono_ms: 1_000 };

    fn auth(users: &[(&str, &str)]) -> SiteAuth {
        let users = users
            .iter()
            .map(|(user, password)| ((*user).into(), bcrypt::hash(password, 4).unwrap()))
            .collect();
        let settings = AuthSettings { path: "/in/*".into(), users, ..AuthSettings::default() };
        SiteAuth::open(&[settings], Path::new("/")).unwrap()
    }

    fn asking(user: &str, password: &str) -> HeaderMap {
        let field = format!("Basic {}", STANDARD.encode(format!("{user}:{password}")));
        HeaderMap::from_iter([(AUTHORIZATION, field.parse().unwrap())])
    }

    async fn outcome(auth: &SiteAuth, headers: &HeaderMap) -> AuthAccess {
        match auth.access("/in/x", headers, NOW) {
            AuthAccess::Check(credentials) => auth.check(credentials, NOW).await,
            at_once => at_once,
        }
    }

    #[tokio::test]
    async fn the_right_password_is_checked_once_a_minute() {
        let auth = auth(&[("ann", "secret:with colon")]);
        let headers = asking("ann", "secret:with colon");
        assert_eq!(auth.access("/out", &HeaderMap::new(), NOW), AuthAccess::Open);
        assert_eq!(outcome(&auth, &headers).await, AuthAccess::User("ann".into()));
        assert_eq!(auth.access("/in/y", &headers, NOW), AuthAccess::User("ann".into()));
        let later = Now { mono_ms: NOW.mono_ms + 60_000, ..NOW };
        assert!(matches!(auth.access("/in/y", &headers, later), AuthAccess::Check(_)));
    }

    #[tokio::test]
    async fn what_is_wrong_is_denied_and_never_remembered() {
        let auth = auth(&[("ann", "secret")]);
        for (user, password) in [("ann", "wrong"), ("bob", "secret"), ("", ""), ("ann", "")] {
            let headers = asking(user, password);
            for _ in 0..2 {
                assert!(matches!(outcome(&auth, &headers).await, AuthAccess::Denied(_)), "{user}");
            }
        }
        let denied = auth.access("/in/x", &HeaderMap::new(), NOW);
        let AuthAccess::Denied(challenge) = denied else { panic!("{denied:?}") };
        assert_eq!(challenge, "Basic realm=\"Restricted\", charset=\"UTF-8\"");
    }

    #[test]
    fn credentials_given_twice_are_none() {
        let mut twice = asking("a", "b");
        assert!(credentials(&twice).is_some());
        twice.append(AUTHORIZATION, "Basic YTpi".parse().unwrap());
        assert_eq!(credentials(&twice), None);
    }
}
