//! People and programs that may use the admin API: users with their roles, two-step sign-in,
//! sessions, API tokens, and the audit log of what each changed.
//!
//! Everything is kept in the state folder, in files that their owner alone may read, and a
//! password, a code, a session or a token only as its hash (the secret of an authenticator must be
//! known). It knows no HTTP. Called by `admin`, which asks who somebody is and what that one may.

mod api_tokens;
mod attempt_counts;
mod audit_body;
mod audit_log;
mod private_file;
mod random_text;
mod refusal;
mod role;
mod sessions;
mod stored_user;
mod two_step;
mod user_accounts;

pub use api_tokens::{ApiTokens, TokenGrant, TokenInfo, TokenOrder, TokenScope};
pub use attempt_counts::{ATTEMPT_KEYS_MAX, AttemptCounts, AttemptVerdict};
pub use audit_body::redacted;
pub use audit_log::{AuditActor, AuditEntry, AuditLog, AuditPage, AuditQuery, AuditRecord};
pub use random_text::random_digits;
pub use refusal::{AccountRefusal, PASSWORD_LENGTHS, TOKENS_MAX, USERS_MAX};
pub use role::{UnknownRole, UserRole};
pub use sessions::{
    OpenSessions, SESSION_SECONDS, SIGN_ON_SESSION_SECONDS, SessionEnd, SessionStart, StoredSession,
};
pub use two_step::{CodeVerdict, TotpOffer};
pub use user_accounts::{TotpChange, UserAccounts, UserChange, UserInfo};

/// Users, in the state folder.
pub const USERS_FILE: &str = "admin.users";
/// API tokens, in the state folder.
pub const TOKENS_FILE: &str = "admin.tokens";
/// The audit log, in the state folder.
pub const AUDIT_FILE: &str = "admin.audit";
