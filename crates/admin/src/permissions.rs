//! Role that a request needs. A change that is not named here is an administrator's.

use accounts::UserRole;
use http::Method;

/// Pages that are not for everybody's eyes, with what lies below them.
const SECRET: [&str; 5] =
    ["/api/inspected", "/api/users", "/api/audit", "/api/configuration", "/api/first-run"];

/// Changes for everybody: of what is one's own, or of nothing.
const OWN: [&str; 8] = [
    "/api/me/password",
    "/api/me/totp",
    "/api/me/totp/confirm",
    "/api/me/totp/remove",
    "/api/sessions/end",
    "/api/tokens",
    "/api/tokens/remove",
    "/api/rules/check",
];

/// Changes that a day brings.
const DAILY: [&str; 22] = [
    "/api/allow",
    "/api/block",
    "/api/groups",
    "/api/groups/remove",
    "/api/lists",
    "/api/lists/remove",
    "/api/lists/switch",
    "/api/lists/update",
    "/api/pause",
    "/api/pools",
    "/api/pools/servers",
    "/api/profiles",
    "/api/profiles/remove",
    "/api/purge",
    "/api/reload",
    "/api/replay",
    "/api/resume",
    "/api/revoke",
    "/api/rules",
    "/api/stores/purge",
    "/api/unblock",
    "/allow",
];

/// The role that a request needs at least.
pub(crate) fn needed_role(method: &Method, path: &str) -> UserRole {
    let is_below = |page: &&str| {
        path.strip_prefix(*page).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    if SECRET.iter().any(is_below) {
        UserRole::Administrator
    } else if method.is_safe() || OWN.contains(&path) {
        UserRole::Viewer
    } else if DAILY.contains(&path) {
        UserRole::Operator
    } else {
        UserRole::Administrator
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_named_is_an_administrators() {
        for (method, path, role) in [
            (Method::GET, "/api/status", UserRole::Viewer),
            (Method::HEAD, "/api/requests/7", UserRole::Viewer),
            (Method::GET, "/api/inspected", UserRole::Administrator),
            (Method::GET, "/api/configuration/history/3", UserRole::Administrator),
            (Method::GET, "/api/usersx", UserRole::Viewer),
            (Method::GET, "/api/first-run", UserRole::Administrator),
            (Method::POST, "/api/first-run/confirm", UserRole::Administrator),
            (Method::POST, "/api/me/password", UserRole::Viewer),
            (Method::POST, "/api/pause", UserRole::Operator),
            (Method::PUT, "/api/rules", UserRole::Operator),
            (Method::POST, "/api/config", UserRole::Administrator),
            (Method::POST, "/api/pause/", UserRole::Administrator),
            (Method::DELETE, "/api/whatever", UserRole::Administrator),
        ] {
            assert_eq!(needed_role(&method, path), role, "{method} {path}");
        }
    }
}
