//! Credentials that open the API: the token of the state folder, users with passwords and codes,
//! sessions, API tokens.
//!
//! The right token always passes: wrong ones are rationed for each client, and those that a page of
//! another site sends are refused uncounted. Passwords are rationed likewise, right ones too once a
//! client has guessed too often. Asked by the gate and by those who sign in.

use crate::api_request::ApiRequest;
use crate::caller::{ApiCaller, CallerCredential};
use crate::failed_logins::WrongGuesses;
use crate::refused::ApiRefusal;
use crate::sender::RequestOrigin;
use crate::token::AdminToken;
use accounts::{
    ApiTokens, AttemptVerdict, AuditLog, OpenSessions, TokenScope, UserAccounts, UserInfo,
};
use http::StatusCode;
use passwords::{BasicCredentials, LoginOutcome, PasswordChecker};
use std::path::Path;
use vocab::Now;

/// Credentials that open the API.
pub(crate) struct CredentialStore {
    token: AdminToken,
    /// Opens the metrics page alone.
    metrics_token: AdminToken,
    pub(crate) sessions: OpenSessions,
    pub(crate) users: UserAccounts,
    pub(crate) tokens: ApiTokens,
    pub(crate) audit: AuditLog,
    /// None where the system gives no randomness: nobody comes in by a password.
    checker: Option<PasswordChecker>,
    wrong_guesses: WrongGuesses,
    /// Sign-ins that failed and were written down.
    logged_failures: WrongGuesses,
}

/// Kind of credential that is needed, for what is said where there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GuessKind {
    Token,
    Password,
}

impl CredentialStore {
    /// Credentials of a state folder. Files that cannot be understood are told of.
    pub(crate) fn open(
        state_dir: &Path,
        token: AdminToken,
        metrics_token: AdminToken,
        now: Now,
    ) -> (Self, Vec<String>) {
        let (users, damaged_users) = UserAccounts::open(state_dir);
        let (tokens, damaged_tokens) = ApiTokens::open(state_dir);
        let store = Self {
            sessions: OpenSessions::open(state_dir, token.as_str(), now),
            token,
            metrics_token,
            users,
            tokens,
            audit: AuditLog::open(state_dir),
            checker: PasswordChecker::new().ok(),
            wrong_guesses: WrongGuesses::default(),
            logged_failures: WrongGuesses::default(),
        };
        (store, damaged_users.into_iter().chain(damaged_tokens).collect())
    }

    /// The caller who shows this bearer token.
    pub(crate) fn bearer(&self, text: &str, asked: ApiRequest) -> Result<ApiCaller, ApiRefusal> {
        match self.tokens.grant(text, asked.now) {
            None => {
                self.check_token(text, asked)?;
                Ok(ApiCaller::master(CallerCredential::MasterToken))
            }
            Some(grant) => {
                let TokenScope::Role(scope) = grant.scope else {
                    return Err(ApiRefusal::new(
                        StatusCode::FORBIDDEN,
                        "this token opens the metrics page alone",
                        "make one of another scope with POST /api/tokens",
                    ));
                };
                let role = match &grant.owner {
                    None => scope,
                    Some(owner) => match self.users.get(owner) {
                        Some(user) => scope.min(user.role),
                        None => return Err(unauthorised("the user of this token is no more")),
                    },
                };
                let credential = CallerCredential::ApiToken;
                Ok(ApiCaller { name: grant.name, credential, user: grant.owner, role })
            }
        }
    }

    /// The caller who has this session.
    pub(crate) fn session(&self, id: &str, now: Now) -> Option<ApiCaller> {
        let session = self.sessions.touch(id, now)?;
        let credential = CallerCredential::Session(session.id().into());
        let Some(name) = session.user else { return Some(ApiCaller::master(credential)) };
        let role = self.users.get(&name)?.role;
        Some(ApiCaller { user: Some(name.clone()), name, credential, role })
    }

    /// True for a bearer token that may read the metrics page.
    pub(crate) fn opens_metrics(&self, text: &str, now: Now) -> bool {
        let is_owned = |owner: Option<&str>| owner.is_none_or(|it| self.users.get(it).is_some());
        self.metrics_token.is(text)
            || self.tokens.grant(text, now).is_some_and(|it| is_owned(it.owner.as_deref()))
    }

    /// Lets the right token pass, whatever was sent before; a client that sends too many wrong ones
    /// is told to wait.
    pub(crate) fn check_token(&self, guess: &str, asked: ApiRequest) -> Result<(), ApiRefusal> {
        if self.token.is(guess) {
            return Ok(());
        }
        check_sender(asked.sender)?;
        match self.wrong_guesses.add(asked.client, asked.now) {
            AttemptVerdict::Counted => Err(unauthorised("this is not the token")),
            AttemptVerdict::TooMany => Err(too_many(GuessKind::Token)),
        }
    }

    /// The user of a name and a password. The guess is counted first and forgiven if it was right,
    /// so that those that are sent at once count too.
    pub(crate) async fn check_password(
        &self,
        shown: BasicCredentials,
        asked: ApiRequest,
    ) -> Result<UserInfo, ApiRefusal> {
        check_sender(asked.sender)?;
        if self.wrong_guesses.add(asked.client, asked.now) == AttemptVerdict::TooMany {
            return Err(too_many(GuessKind::Password));
        }
        let wrong = || unauthorised("the name or the password is wrong");
        let shown = BasicCredentials { user: shown.user.to_ascii_lowercase(), ..shown };
        let (Some(checker), Some(table)) = (&self.checker, self.users.passwords()) else {
            return Err(wrong());
        };
        match checker.check(&table, checker.attempt(0, shown), asked.now).await {
            LoginOutcome::Accepted(name) => {
                self.wrong_guesses.forgive(asked.client);
                self.users.get(&name).ok_or_else(wrong)
            }
            LoginOutcome::Wrong => Err(wrong()),
            LoginOutcome::Busy => Err(ApiRefusal::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "too many sign in at once",
                "wait for some seconds, then try again",
            )),
        }
    }

    /// Counts a wrong code as a wrong guess.
    pub(crate) fn note_wrong_code(&self, asked: ApiRequest) {
        // The next guess of whatever kind is refused if it was one too many.
        let _ = self.wrong_guesses.add(asked.client, asked.now);
    }

    /// True if one more failure of this client is to be written down: whoever fails often may not
    /// fill the log, and push out of it what others did.
    pub(crate) fn is_failure_logged(&self, asked: ApiRequest) -> bool {
        self.logged_failures.add(asked.client, asked.now) == AttemptVerdict::Counted
    }

    /// Writes down when sessions and tokens were used, if that is due.
    pub(crate) fn save_uses(&self) {
        if self.sessions.is_write_due() {
            self.sessions.write();
        }
        if self.tokens.is_save_due() {
            self.tokens.save();
        }
    }

    /// True if [`CredentialStore::save_uses`] would write.
    pub(crate) fn is_save_due(&self) -> bool {
        self.sessions.is_write_due() || self.tokens.is_save_due()
    }
}

fn check_sender(sender: RequestOrigin) -> Result<(), ApiRefusal> {
    if sender.is_foreign() {
        return Err(ApiRefusal::new(
            StatusCode::FORBIDDEN,
            "a page of another site sent this, and it is wrong",
            "open the dashboard by its address",
        ));
    }
    Ok(())
}

fn too_many(kind: GuessKind) -> ApiRefusal {
    let (error, remedy) = match kind {
        GuessKind::Token => (
            "too many wrong tokens",
            "send the right one, which is never refused: the text of admin.token in the state \
             folder; or wait a minute",
        ),
        GuessKind::Password => (
            "too many wrong passwords",
            "wait a minute; or sign in with the text of admin.token in the state folder, which is \
             never refused",
        ),
    };
    ApiRefusal::new(StatusCode::TOO_MANY_REQUESTS, error, remedy)
}

/// The refusal of who shows nothing that opens the API.
pub(crate) fn unauthorised(error: &str) -> ApiRefusal {
    ApiRefusal::new(
        StatusCode::UNAUTHORIZED,
        error,
        "log in as a user, or with the text of admin.token in the state folder; programs send a \
         token as `Authorization: Bearer`",
    )
}
