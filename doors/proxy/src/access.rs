//! Authentication of clients: Basic credentials (RFC 7617) and tokens, asked for by the proxy
//! itself.
//!
//! Passwords are checked by the `passwords` desk, tokens by their digest, in a table that tells
//! nothing by the time it takes. A client that guesses is slowed down, whatever name it tries. It
//! keeps no password. Called by `request` when it reads.

use crate::settings::AuthSettings;
use http::HeaderValue;
use http::header::{HeaderMap, PROXY_AUTHORIZATION};
use passwords::{FIELD_BYTES_MAX, LoginOutcome, PasswordChecker, UserTable, basic};
use rate_limit::{ClientBuckets, ClientRate, TokenTaken};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use vocab::{Complaint, Network, Now};

/// Wrong credentials of one client: twenty at once, then one in five seconds.
pub(crate) const FAILED_LOGIN_RATE: ClientRate = ClientRate { burst: 20, milli_per_second: 200 };

/// The users and tokens that are let in.
pub(crate) struct ProxyAccess {
    challenges: Vec<HeaderValue>,
    users: Option<UserTable>,
    tokens: HashMap<[u8; 32], Arc<str>>,
    exempt: Vec<Network>,
    checker: PasswordChecker,
}

/// Why somebody is not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AccessDenied {
    /// Credentials are due: 407 with these `Proxy-Authenticate`.
    Challenge(Vec<HeaderValue>),
    /// Too many were wrong: 429.
    Guessing,
    /// Too many are being checked: 503.
    Busy,
}

impl ProxyAccess {
    /// Reads the file of users, a relative one from `base`. Complaints have paths relative to
    /// `auth`.
    pub(crate) fn open(settings: &AuthSettings, base: &Path) -> Result<Self, Vec<Complaint>> {
        let users = if settings.users.is_empty() && settings.file.is_none() {
            None
        } else {
            Some(UserTable::open(&settings.users, settings.file.as_deref(), base)?)
        };
        let desk = PasswordChecker::new().map_err(|why| {
            vec![Complaint::new("", format!("the system gives no randomness: {why}"))]
        })?;
        let schemes = [
            (true, format!("Basic realm=\"{}\", charset=\"UTF-8\"", settings.realm)),
            (!settings.tokens.is_empty(), format!("Bearer realm=\"{}\"", settings.realm)),
        ];
        let offered = schemes.iter().filter(|(offered, _)| *offered);
        let tokens = settings.tokens.iter();
        Ok(Self {
            challenges: offered.filter_map(|(_, it)| HeaderValue::from_str(it).ok()).collect(),
            users,
            tokens: tokens.map(|(name, token)| (token.0.0, name.as_str().into())).collect(),
            exempt: settings.exempt.iter().map(|network| network.0).collect(),
            checker: desk,
        })
    }

    /// Lets `client` in, as a user where it is one; wrong credentials count in `guesses`.
    pub(crate) async fn admit(
        &self,
        guesses: &ClientBuckets,
        client: IpAddr,
        headers: &HeaderMap,
        now: Now,
    ) -> Result<Option<Arc<str>>, AccessDenied> {
        let shown = read_credentials(headers);
        if shown.is_none() && self.spares(client) {
            return Ok(None);
        }
        let attempt = match shown {
            None => return Err(self.challenge()),
            Some(ShownCredentials::Token(token)) => Err(self.tokens.get(&token)),
            Some(ShownCredentials::Basic(shown)) => {
                match self.tokens.get(&digest(shown.user.as_bytes())) {
                    Some(user) => Err(Some(user)),
                    None => Ok(self.checker.attempt(0, shown)),
                }
            }
        };
        match attempt {
            Err(Some(user)) => Ok(Some(Arc::clone(user))),
            Err(None) => match guesses.take(client, now.mono_ms) {
                TokenTaken::Yes => Err(self.challenge()),
                TokenTaken::No => Err(AccessDenied::Guessing),
            },
            Ok(attempt) => {
                if let Some(user) = self.checker.remembers(&attempt, now) {
                    return Ok(Some(user));
                }
                // Taken before the check, so that many at once are no way around.
                if guesses.take(client, now.mono_ms) == TokenTaken::No {
                    return Err(AccessDenied::Guessing);
                }
                let Some(users) = &self.users else { return Err(self.challenge()) };
                let outcome = self.checker.check(users, attempt, now).await;
                if outcome != LoginOutcome::Wrong {
                    guesses.refund(client);
                }
                match outcome {
                    LoginOutcome::Accepted(user) => Ok(Some(user)),
                    LoginOutcome::Wrong => Err(self.challenge()),
                    LoginOutcome::Busy => Err(AccessDenied::Busy),
                }
            }
        }
    }

    /// True for a client that is not asked.
    pub(crate) fn spares(&self, client: IpAddr) -> bool {
        self.exempt.iter().any(|network| network.contains(client))
    }

    fn challenge(&self) -> AccessDenied {
        AccessDenied::Challenge(self.challenges.clone())
    }
}

/// Tells what a client shows.
enum ShownCredentials {
    Basic(passwords::BasicCredentials),
    /// A token's digest.
    Token([u8; 32]),
}

/// Reads `Proxy-Authorization`; nothing where it is malformed, or there twice.
fn read_credentials(headers: &HeaderMap) -> Option<ShownCredentials> {
    let mut fields = headers.get_all(PROXY_AUTHORIZATION).iter();
    let field = fields.next()?.as_bytes();
    if fields.next().is_some() || field.len() > FIELD_BYTES_MAX {
        return None;
    }
    match field.split_at_checked(7) {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case(b"bearer ") => {
            Some(ShownCredentials::Token(digest(token.trim_ascii())))
        }
        _ => basic(field).map(ShownCredentials::Basic),
    }
}

fn digest(token: &[u8]) -> [u8; 32] {
    Sha256::digest(token).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use settings::Text;

    const NOW: Now = Now { unix_ms: 0, mono_ms: 1_000 };
    const CLIENT: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    fn access() -> ProxyAccess {
        let token = crate::settings::TokenDigest(digest(b"t0ken"));
        let settings = AuthSettings {
            users: [("ann".into(), bcrypt::hash("secret", 4).unwrap())].into(),
            tokens: [("phone".into(), Text(token))].into(),
            exempt: vec![Text("10.0.0.0/8".parse().unwrap())],
            ..AuthSettings::default()
        };
        ProxyAccess::open(&settings, Path::new("/")).unwrap()
    }

    fn showing(field: &str) -> HeaderMap {
        HeaderMap::from_iter([(PROXY_AUTHORIZATION, field.parse().unwrap())])
    }

    #[tokio::test]
    async fn users_tokens_and_exempt_clients_are_let_in() {
        let (access, guesses) = (access(), ClientBuckets::new(FAILED_LOGIN_RATE));
        let check = async |client: IpAddr, field: &str, expected: Option<&str>| {
            let admitted = access.admit(&guesses, client, &showing(field), NOW).await;
            assert_eq!(admitted, Ok(expected.map(Into::into)), "{field}");
        };
        check(CLIENT, "Basic YW5uOnNlY3JldA==", Some("ann")).await;
        check(CLIENT, "bearer t0ken", Some("phone")).await;
        check(CLIENT, "Basic dDBrZW46", Some("phone")).await;
        let near = "10.1.2.3".parse().unwrap();
        assert_eq!(access.admit(&guesses, near, &HeaderMap::new(), NOW).await, Ok(None));
    }

    #[tokio::test]
    async fn guessing_is_slowed_down_and_does_not_lock_out_who_is_known() {
        let (access, guesses) = (access(), ClientBuckets::new(FAILED_LOGIN_RATE));
        let known = showing("Basic YW5uOnNlY3JldA==");
        assert!(access.admit(&guesses, CLIENT, &known, NOW).await.is_ok());
        for _ in 0..FAILED_LOGIN_RATE.burst {
            let wrong = access.admit(&guesses, CLIENT, &showing("Bearer wrong"), NOW).await;
            assert!(matches!(wrong, Err(AccessDenied::Challenge(_))), "{wrong:?}");
        }
        for field in ["Bearer wrong", "Basic YW5uOndyb25n"] {
            let wrong = access.admit(&guesses, CLIENT, &showing(field), NOW).await;
            assert_eq!(wrong, Err(AccessDenied::Guessing));
        }
        assert_eq!(access.admit(&guesses, CLIENT, &known, NOW).await, Ok(Some("ann".into())));
        let nothing = access.admit(&guesses, CLIENT, &HeaderMap::new(), NOW).await;
        let Err(AccessDenied::Challenge(challenges)) = nothing else { panic!("{nothing:?}") };
        assert_eq!(challenges[0], "Basic realm=\"Tidegate\", charset=\"UTF-8\"");
        assert_eq!(challenges.len(), 2);
    }
}
