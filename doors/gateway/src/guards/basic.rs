//! A name and a password before anything is answered (RFC 7617).
//!
//! The passwords are the `passwords` crate's affair; a client that guesses is slowed down, whatever
//! name it tries. The field goes on to the server, which may want it, and which makes a cache keep
//! nothing that is not public (RFC 9111 §3.5). Called by `guards`.

use super::guard_answer::GuardAnswer;
use crate::settings::AuthSettings;
use http::header::{AUTHORIZATION, HeaderMap, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};
use passwords::{LoginOutcome, PasswordChecker, UserTable, basic};
use rate_limit::{ClientBuckets, ClientRate, TokenTaken};
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use vocab::{Complaint, Now};

/// Wrong passwords of one client: twenty at once, then one in five seconds.
const FAILED_LOGIN_RATE: ClientRate = ClientRate { burst: 20, milli_per_second: 200 };

/// Users that are let in.
pub(super) struct BasicAuth {
    users: UserTable,
    challenge: HeaderValue,
    checker: PasswordChecker,
    failed_logins: ClientBuckets,
}

impl BasicAuth {
    /// Reads the file of users, a relative one from `base`. Complaints have paths relative to
    /// `auth`.
    pub(super) fn open(settings: &AuthSettings, base: &Path) -> Result<Self, Vec<Complaint>> {
        let users = UserTable::open(&settings.users, settings.file.as_deref(), base)?;
        let challenge = format!("Basic realm=\"{}\", charset=\"UTF-8\"", settings.realm);
        let challenge = HeaderValue::from_str(&challenge)
            .map_err(|why| vec![Complaint::new("realm", why.to_string())])?;
        let desk = PasswordChecker::new().map_err(|why| {
            vec![Complaint::new("", format!("the system gives no randomness: {why}"))]
        })?;
        Ok(Self {
            users,
            challenge,
            checker: desk,
            failed_logins: ClientBuckets::new(FAILED_LOGIN_RATE),
        })
    }

    /// The name of whoever is let in.
    pub(super) async fn admit(
        &self,
        client: IpAddr,
        headers: &HeaderMap,
        now: Now,
    ) -> Result<Arc<str>, Box<GuardAnswer>> {
        let mut fields = headers.get_all(AUTHORIZATION).iter();
        let shown = match (fields.next(), fields.next()) {
            (Some(field), None) => basic(field.as_bytes()),
            // Two of them: which one would a server take?
            _ => None,
        };
        let Some(shown) = shown else { return Err(self.challenge()) };
        let attempt = self.checker.attempt(0, shown);
        if let Some(user) = self.checker.remembers(&attempt, now) {
            return Ok(user);
        }
        // Taken before the check, so that many at once are no way around.
        if self.failed_logins.take(client, now.mono_ms) == TokenTaken::No {
            let text = "Too many wrong passwords.\n";
            return Err(Box::new(GuardAnswer::refused(StatusCode::TOO_MANY_REQUESTS, text)));
        }
        let outcome = self.checker.check(&self.users, attempt, now).await;
        if outcome != LoginOutcome::Wrong {
            self.failed_logins.refund(client);
        }
        match outcome {
            LoginOutcome::Accepted(user) => Ok(user),
            LoginOutcome::Wrong => Err(self.challenge()),
            LoginOutcome::Busy => {
                Err(Box::new(GuardAnswer::busy("Too many passwords are being checked.\n")))
            }
        }
    }

    fn challenge(&self) -> Box<GuardAnswer> {
        let mut turned =
            GuardAnswer::refused(StatusCode::UNAUTHORIZED, "A password is due here.\n");
        turned.response.headers_mut().insert(WWW_AUTHENTICATE, self.challenge.clone());
        Box::new(turned)
    }
}
