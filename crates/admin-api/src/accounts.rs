//! Users, sessions, tokens and the audit log.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// Ways to sign in that there are.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SignInOffer {
    /// True if there are users, who sign in by name and password.
    pub users: bool,
    /// Single sign-on; null if there is none.
    pub single_sign_on: Option<SignOnOffer>,
}

/// Single sign-on, as the sign-in page offers it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SignOnOffer {
    /// Name of the provider, for people.
    pub name: String,
    /// Address of ours that begins it.
    pub path: String,
}

/// Holds what to log in with: the token, or a user's name and password.
#[derive(Clone, Default, Deserialize, ToSchema)]
#[serde(default)]
pub struct LoginRequest {
    /// The token: the text of `admin.token` in the state folder.
    pub token: Option<String>,
    /// Name of a user.
    pub user: Option<String>,
    /// The user's password.
    pub password: Option<String>,
    /// Code of the user's authenticator or a recovery code, where two-step sign-in is on.
    pub code: Option<String>,
}

/// The caller.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct CallerInfo {
    /// Name of the user or of the token; `admin.token` for the token of the state folder.
    pub name: String,
    /// `user` or `token`.
    pub kind: String,
    /// `viewer`, `operator` or `administrator`.
    pub role: String,
    /// True if two-step sign-in is on.
    pub totp: bool,
    /// True if there is a password that can be changed.
    pub has_password: bool,
}

/// Own password, and the one that is to take its place.
#[derive(Clone, Deserialize, ToSchema)]
pub struct PasswordChange {
    /// The password now.
    pub password: String,
    /// Another one, of 10 to 256 characters.
    pub new_password: String,
}

/// Own password, sent once more.
#[derive(Clone, Deserialize, ToSchema)]
pub struct PasswordSent {
    /// The password.
    pub password: String,
}

/// Secret for an authenticator, shown once.
#[derive(Clone, Serialize, ToSchema)]
pub struct TotpInfo {
    /// The secret in base 32, to be typed.
    pub secret: String,
    /// The same with its names.
    pub uri: String,
    /// The same as a picture to be scanned, an SVG.
    pub qr_svg: String,
}

/// Code of an authenticator.
#[derive(Clone, Deserialize, ToSchema)]
pub struct CodeSent {
    /// Six digits.
    pub code: String,
}

/// Codes for who has lost the authenticator, shown once.
#[derive(Clone, Serialize, ToSchema)]
pub struct RecoveryCodes {
    /// Codes, each of which holds once.
    pub recovery_codes: Vec<String>,
}

/// All users.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct UserTable {
    /// Users, in the order in which they were made.
    pub users: Vec<UserLine>,
}

/// A user.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct UserLine {
    /// Name.
    pub name: String,
    /// `viewer`, `operator` or `administrator`.
    pub role: String,
    /// True if two-step sign-in is on.
    pub totp: bool,
    /// When the user was made.
    pub created: String,
    /// When a session of the user was last used, or the last sign-in if none is open; null before
    /// the first.
    pub last_seen: Option<String>,
    /// Open sessions.
    pub sessions: usize,
    /// True for who comes by single sign-on.
    pub single_sign_on: bool,
}

/// A user to be made.
#[derive(Clone, Deserialize, ToSchema)]
pub struct NewUser {
    /// Name of 1 to 64 letters, digits and `. _ - @`; kept in lower case.
    pub name: String,
    /// `viewer`, `operator` or `administrator`.
    pub role: String,
    /// Password of 10 to 256 characters.
    pub password: String,
}

/// Change of a user; what is left out stays.
#[derive(Clone, Deserialize, ToSchema)]
pub struct UserEdit {
    /// The user.
    pub name: String,
    /// Another role.
    pub role: Option<String>,
    /// Another password.
    pub password: Option<String>,
    /// `off`: the next sign-in asks for no code.
    pub totp: Option<String>,
}

/// A user by name.
#[derive(Clone, Deserialize, ToSchema)]
pub struct UserName {
    /// The user.
    pub name: String,
}

/// Open sessions.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SessionTable {
    /// Sessions, the one that was used last first.
    pub sessions: Vec<SessionInfo>,
}

/// A session of a browser.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SessionInfo {
    /// Identifier, which signs nobody in.
    pub id: String,
    /// The user; null for who came by the token of the state folder.
    pub user: Option<String>,
    /// Role of the user now.
    pub role: String,
    /// When it began.
    pub began: String,
    /// When it was last used.
    pub seen: String,
    /// When it ends.
    pub until: String,
    /// Address from which it was begun.
    pub client: String,
    /// Browser, as it calls itself: whatever was sent.
    pub agent: String,
    /// True for the session that asks.
    pub own: bool,
}

/// Sessions that are to end: one of them, or a user's but the one that asks.
#[derive(Clone, Deserialize, ToSchema)]
pub struct SessionRemoval {
    /// The session.
    pub id: Option<String>,
    /// The user.
    pub user: Option<String>,
}

/// API tokens.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct TokenTable {
    /// Tokens, in the order in which they were made.
    pub tokens: Vec<TokenName>,
}

/// An API token, without its text.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct TokenName {
    /// Identifier.
    pub id: String,
    /// Name that people know it by.
    pub name: String,
    /// `metrics`, `viewer`, `operator` or `administrator`.
    pub scope: String,
    /// The user whose it is; null if the token of the state folder made it.
    pub owner: Option<String>,
    /// When it was made.
    pub created: String,
    /// When it ends; null if it does not.
    pub expires: Option<String>,
    /// When it was last used; null if it was not.
    pub last_used: Option<String>,
}

/// An API token to be made.
#[derive(Clone, Deserialize, ToSchema)]
pub struct NewToken {
    /// Name of 1 to 64 characters.
    pub name: String,
    /// `metrics`, `viewer`, `operator` or `administrator`; at most one's own role.
    pub scope: String,
    /// Life in days, 1 to 3650; without an end if left out.
    pub days: Option<u32>,
}

/// An API token that was made, with its text, which is shown once.
#[derive(Clone, Serialize, ToSchema)]
pub struct TokenMade {
    /// Identifier.
    pub id: String,
    /// The text to send as `Authorization: Bearer`.
    pub token: String,
}

/// Words of a question for the audit log.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub struct AuditWords {
    /// Entries before this number: `older` of the page before.
    pub before: Option<u64>,
    /// Entries at most, 1 to 500. Default 60.
    pub limit: Option<usize>,
    /// Text that an entry has somewhere, in any case.
    pub filter: Option<String>,
}

/// Entries of the audit log.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct AuditTable {
    /// Entries, the newest first.
    pub entries: Vec<AuditLine>,
    /// Number before which older ones are asked for; null if there are none.
    pub older: Option<u64>,
    /// Entries that could not be written since the start.
    pub lost: u64,
}

/// A deed of somebody, or a refusal.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct AuditLine {
    /// Number, counted up by one.
    pub n: u64,
    /// When it was asked for.
    pub at: String,
    /// Name of the user or token; the name that was tried, where nobody was let in.
    pub who: String,
    /// `user`, `token` or `nobody`.
    pub kind: String,
    /// Role; null where nobody was let in.
    pub role: Option<String>,
    /// Address from which it was asked.
    pub client: String,
    /// Method and path.
    pub action: String,
    /// Body of the request, without what is secret or long; null if there was none.
    #[schema(value_type = Object, nullable)]
    pub body: Option<serde_json::Value>,
    /// HTTP status of the answer.
    pub status: u16,
    /// Problem; null if nothing was.
    pub error: Option<String>,
}
