//! Basic authentication (RFC 7617): a name and a password for parts of a site.
//!
//! Which paths ask whom; the passwords themselves are the `passwords` crate's. Called by `visit`.

mod settings;

pub use self::settings::AuthSettings;
pub(crate) use self::settings::check;

use crate::pattern::Pattern;
use http::HeaderValue;
use http::header::{AUTHORIZATION, HeaderMap};
use passwords::{Attempt, Basic, Desk, Outcome, Users, basic};
use std::path::Path;
use std::sync::Arc;
use vocab::{Complaint, Now};

/// What a request gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// Nobody is asked here.
    Open,
    /// This user, proven.
    User(Arc<str>),
    /// The credentials must be checked first.
    Check(Credentials),
    /// A name and a password are due: 401 with this `WWW-Authenticate`.
    Denied(HeaderValue),
    /// Too many are being checked: 503.
    Busy,
}

/// A name and a password, not yet proven. Only their holder's entry can tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Credentials {
    entry: usize,
    attempt: Attempt,
}

/// The guarded parts of a site.
pub(crate) struct Auth {
    entries: Vec<Entry>,
    desk: Desk,
}

struct Entry {
    pattern: Pattern,
    challenge: HeaderValue,
    users: Users,
}

impl Auth {
    /// Reads the files of users, relative ones from `base`. Complaints have paths relative to `auth`.
    pub(crate) fn open(all: &[AuthSettings], base: &Path) -> Result<Self, Vec<Complaint>> {
        let (mut entries, mut complaints) = (Vec::new(), Vec::new());
        for (index, settings) in all.iter().enumerate() {
            match Entry::open(settings, base) {
                Ok(entry) => entries.push(entry),
                Err(found) => {
                    complaints.extend(found.into_iter().map(|it| it.under(&index.to_string())));
                }
            }
        }
        entries.sort_by_key(|entry| std::cmp::Reverse(entry.pattern.len()));
        match Desk::new() {
            Ok(desk) if complaints.is_empty() => return Ok(Self { entries, desk }),
            Ok(_) => {}
            Err(why) => {
                let message = format!("the system gives no randomness: {why}");
                complaints.push(Complaint::new("", message));
            }
        }
        Err(complaints)
    }

    /// Whether somebody is asked at this decoded path.
    pub(crate) fn guards(&self, path: &str) -> bool {
        self.entries.iter().any(|entry| entry.pattern.matches(path))
    }

    /// What a request for this decoded path gets, without waiting.
    pub(crate) fn access(&self, path: &str, headers: &HeaderMap, now: Now) -> Access {
        let Some(at) = self.entries.iter().position(|entry| entry.pattern.matches(path)) else {
            return Access::Open;
        };
        let Some(shown) = credentials(headers) else {
            return Access::Denied(self.entries[at].challenge.clone());
        };
        let attempt = self.desk.attempt(at, shown);
        match self.desk.remembers(&attempt, now) {
            Some(user) => Access::User(user),
            None => Access::Check(Credentials { entry: at, attempt }),
        }
    }

    /// Checks what [`Auth::access`] could not say.
    pub(crate) async fn check(&self, credentials: Credentials, now: Now) -> Access {
        let Some(entry) = self.entries.get(credentials.entry) else { return Access::Busy };
        match self.desk.check(&entry.users, credentials.attempt, now).await {
            Outcome::Right(user) => Access::User(user),
            Outcome::Wrong => Access::Denied(entry.challenge.clone()),
            Outcome::Busy => Access::Busy,
        }
    }
}

impl Entry {
    fn open(settings: &AuthSettings, base: &Path) -> Result<Self, Vec<Complaint>> {
        let complaints = settings.check();
        if !complaints.is_empty() {
            return Err(complaints);
        }
        let users = Users::open(&settings.users, settings.file.as_deref(), base)?;
        let challenge = format!("Basic realm=\"{}\", charset=\"UTF-8\"", settings.realm);
        match (HeaderValue::from_str(&challenge), Pattern::whole(&settings.path)) {
            (Ok(challenge), Ok(pattern)) => Ok(Self { pattern, challenge, users }),
            // Checked above.
            _ => Err(vec![Complaint::new("path", "neither path nor realm can be used")]),
        }
    }
}

/// The name and password of a request.
fn credentials(headers: &HeaderMap) -> Option<Basic> {
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

    fn auth(users: &[(&str, &str)]) -> Auth {
        let users = users
            .iter()
            .map(|(user, password)| ((*user).into(), bcrypt::hash(password, 4).unwrap()))
            .collect();
        let settings = AuthSettings { path: "/in/*".into(), users, ..AuthSettings::default() };
        Auth::open(&[settings], Path::new("/")).unwrap()
    }

    fn asking(user: &str, password: &str) -> HeaderMap {
        let field = format!("Basic {}", STANDARD.encode(format!("{user}:{password}")));
        HeaderMap::from_iter([(AUTHORIZATION, field.parse().unwrap())])
    }

    async fn outcome(auth: &Auth, headers: &HeaderMap) -> Access {
        match auth.access("/in/x", headers, NOW) {
            Access::Check(credentials) => auth.check(credentials, NOW).await,
            at_once => at_once,
        }
    }

    #[tokio::test]
    async fn the_right_password_is_checked_once_a_minute() {
        let auth = auth(&[("ann", "secret:with colon")]);
        let headers = asking("ann", "secret:with colon");
        assert_eq!(auth.access("/out", &HeaderMap::new(), NOW), Access::Open);
        assert_eq!(outcome(&auth, &headers).await, Access::User("ann".into()));
        assert_eq!(auth.access("/in/y", &headers, NOW), Access::User("ann".into()));
        let later = Now { mono_ms: NOW.mono_ms + 60_000, ..NOW };
        assert!(matches!(auth.access("/in/y", &headers, later), Access::Check(_)));
    }

    #[tokio::test]
    async fn what_is_wrong_is_denied_and_never_remembered() {
        let auth = auth(&[("ann", "secret")]);
        for (user, password) in [("ann", "wrong"), ("bob", "secret"), ("", ""), ("ann", "")] {
            let headers = asking(user, password);
            for _ in 0..2 {
                assert!(matches!(outcome(&auth, &headers).await, Access::Denied(_)), "{user}");
            }
        }
        let denied = auth.access("/in/x", &HeaderMap::new(), NOW);
        let Access::Denied(challenge) = denied else { panic!("{denied:?}") };
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
