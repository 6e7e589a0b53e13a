//! The caller: put beside a request once the gate has let it in.

use crate::refused::ApiRefusal;
use accounts::{AuditActor, UserRole};
use axum::extract::FromRequestParts;
use http::StatusCode;
use http::request::Parts;

/// Name that the token of the state folder has in logs.
pub(crate) const MASTER_NAME: &str = "admin.token";

/// Somebody who was let in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ApiCaller {
    /// Name of the user, or of the token.
    pub(crate) name: String,
    /// Credential that was shown.
    pub(crate) credential: CallerCredential,
    /// The user whose doing it is; none for the token of the state folder.
    pub(crate) user: Option<String>,
    /// Extent of what may be done.
    pub(crate) role: UserRole,
}

/// Credential that a caller showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CallerCredential {
    /// Bearer token of the state folder, which no foreign page can send.
    MasterToken,
    /// API token, likewise.
    ApiToken,
    /// Cookie of the session that has this identifier in the API.
    Session(String),
}

impl ApiCaller {
    /// The owner of `admin.token`.
    pub(crate) fn master(credential: CallerCredential) -> Self {
        let (name, role) = (MASTER_NAME.into(), UserRole::Administrator);
        Self { name, credential, user: None, role }
    }

    /// Kind of it, for the audit log.
    pub(crate) fn actor(&self) -> AuditActor {
        match (&self.credential, &self.user) {
            (CallerCredential::Session(_), Some(_)) => AuditActor::User,
            (CallerCredential::Session(_), None)
            | (CallerCredential::ApiToken | CallerCredential::MasterToken, _) => AuditActor::Token,
        }
    }

    /// Refuses a caller whose role is less than this one.
    pub(crate) fn require(&self, role: UserRole) -> Result<(), ApiRefusal> {
        if self.role >= role {
            return Ok(());
        }
        Err(ApiRefusal::new(
            StatusCode::FORBIDDEN,
            format!("this needs the role {role}; {} is {}", self.name, self.role),
            "ask an administrator to do it, or for the role",
        ))
    }

    /// True if the caller may see and end what is this user's: administrators everybody's, and that
    /// of the token of the state folder too.
    pub(crate) fn may_see(&self, owner: Option<&str>) -> bool {
        self.role >= UserRole::Administrator || (owner.is_some() && owner == self.user.as_deref())
    }

    /// The user behind the caller; a refusal for the token of the state folder, which is nobody's.
    pub(crate) fn own_user(&self) -> Result<&str, ApiRefusal> {
        self.user.as_deref().ok_or_else(|| {
            ApiRefusal::new(
                StatusCode::CONFLICT,
                "the token of the state folder is no user",
                "sign in as a user, whom an administrator makes with POST /api/users",
            )
        })
    }
}

impl<S: Send + Sync> FromRequestParts<S> for ApiCaller {
    type Rejection = ApiRefusal;
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiRefusal> {
        // The guard put it there; without it nobody was let in.
        parts.extensions.get().cloned().ok_or_else(|| {
            ApiRefusal::new(StatusCode::UNAUTHORIZED, "the request passed no guard", "report this")
        })
    }
}
