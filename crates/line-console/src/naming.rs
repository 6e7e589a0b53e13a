//! Names of pools, servers and settings as people type them, as the program has them.

use crate::known;
use admin_api::PoolInfo;
use std::fmt;

/// Sections and settings that a whole path begins with.
const TOP: [&str; 14] = [
    "state_dir",
    "user",
    "group",
    "landlock",
    "hard_stop_after",
    "policy",
    "dns",
    "pixel",
    "signer",
    "proxy",
    "web",
    "gateway",
    "admin",
    "ledger",
];

/// A setting that was named, with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamedSetting {
    pub(crate) path: String,
    pub(crate) value: String,
}

/// Why nothing is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NamingError {
    /// A setting without a pool, and none was created or used before.
    NothingImplied,
    /// No pool and no section.
    Nobody(String),
}

/// The setting that a `set` means: a whole path, `POOL.key`, `POOL key`, or the key of the pool
/// that was last created or used.
pub(crate) fn setting(
    target: &str,
    value: &str,
    pools: &[PoolInfo],
    current: Option<&str>,
) -> Result<NamedSetting, NamingError> {
    let nobody = |name: &str| NamingError::Nobody(name.into());
    let (name, key) = match target.split_once(' ') {
        Some((name, key)) => (name, Some(key.trim())),
        None => match target.split_once('.') {
            Some((name, key)) => (name, Some(key)),
            None => (target, None),
        },
    };
    let top = name.split('[').next().unwrap_or(name);
    if TOP.contains(&top) {
        let path = key.map_or_else(|| name.to_owned(), |key| format!("{name}.{key}"));
        return Ok(NamedSetting { path, value: value.into() });
    }
    let in_pool = |pool: &str, key: &str| {
        let (key, value) = known::pool_setting(key, value);
        NamedSetting { path: format!("{}.{key}", pool_path(pool)), value: value.into() }
    };
    match (key, known_pool(pools, name), current) {
        (Some(key), Some(pool), _) => Ok(in_pool(&pool.name, key)),
        (Some(_), None, _) => Err(nobody(name)),
        (None, _, Some(current)) => Ok(in_pool(current, target)),
        (None, _, None) => Err(NamingError::NothingImplied),
    }
}

/// The path of a pool's settings.
pub(crate) fn pool_path(pool: &str) -> String {
    let quote = if pool.contains(['.', '[', ']']) { "\"" } else { "" };
    format!("gateway.pools.{quote}{pool}{quote}")
}

/// The pool of this name; Perlbal's names know no case.
pub(crate) fn known_pool<'p>(pools: &'p [PoolInfo], name: &str) -> Option<&'p PoolInfo> {
    let exact = pools.iter().find(|pool| pool.name == name);
    exact.or_else(|| pools.iter().find(|pool| pool.name.eq_ignore_ascii_case(name)))
}

/// A server's URL: as it came, or of an address, whose port is 80 where none is named.
pub(crate) fn server_url(server: &str) -> String {
    if server.contains("://") || server.starts_with("unix:") {
        return server.into();
    }
    let has_port = match server.rsplit_once(':') {
        Some((host, port)) => {
            let is_whole = !host.contains(':') || host.ends_with(']');
            is_whole && !port.is_empty() && port.bytes().all(|it| it.is_ascii_digit())
        }
        None => false,
    };
    if has_port { format!("http://{server}") } else { format!("http://{server}:80") }
}

/// The node of a server, as Perlbal has it: address and port where it is reached by plain HTTP.
pub(crate) fn node(url: &str) -> String {
    let with_port = with_port(url);
    with_port.strip_prefix("http://").map_or_else(|| url.to_owned(), ToOwned::to_owned)
}

/// True if both URLs are of one server.
pub(crate) fn is_same_server(one: &str, two: &str) -> bool {
    with_port(one).eq_ignore_ascii_case(&with_port(two))
}

fn with_port(url: &str) -> String {
    let url = url.trim_end_matches('/');
    let port = match url.split_once("://") {
        Some(("http" | "h2c", _)) => "80",
        Some(("https", _)) => "443",
        _ => return url.into(),
    };
    let host = url.rsplit('/').next().unwrap_or(url);
    let is_bare = host.ends_with(']') || !host.contains(':');
    if is_bare { format!("{url}:{port}") } else { url.into() }
}

impl fmt::Display for NamingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NothingImplied => {
                f.write_str("omitted service/pool name not implied from context")
            }
            Self::Nobody(name) => write!(f, "service/pool '{name}' does not exist"),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn a_setting_is_named_in_perlbals_words_or_ours() {
        let pool = |name: &str| PoolInfo { name: name.into(), ..PoolInfo::default() };
        let pools = [pool("app"), pool("10.1")];
        let path = |target: &str, current| {
            setting(target, "5", &pools, current).map(|it| it.path).map_err(|it| it.to_string())
        };
        let app = Ok("gateway.pools.app.max_requests".to_owned());
        assert_eq!(path("gateway.pools.app.max_requests", None), app);
        assert_eq!(path("app.max_requests", None), app);
        assert_eq!(path("APP max_requests", None), app);
        assert_eq!(path("max_requests", Some("app")), app);
        assert_eq!(path("web[0].root", Some("app")), Ok("web[0].root".into()));
        assert_eq!(path("user", Some("app")), Ok("user".into()));
        assert_eq!(
            path("app.keep_alive.requests", None),
            Ok("gateway.pools.app.keep_alive.requests".into())
        );
        assert!(path("keep_alive.requests", Some("app")).is_err());
        assert_eq!(path("10.1 balance", None), Ok("gateway.pools.\"10.1\".balance".into()));
        assert_eq!(
            path("max_requests", None).unwrap_err(),
            NamingError::NothingImplied.to_string()
        );
        assert_eq!(path("soup.x", None).unwrap_err(), "service/pool 'soup' does not exist");
    }

    #[test]
    fn perlbals_settings_of_a_pool_are_said_in_our_words() {
        let pools = [PoolInfo { name: "app".into(), ..PoolInfo::default() }];
        let said = |target: &str, value: &str| {
            let found = setting(target, value, &pools, None).unwrap();
            (found.path, found.value)
        };
        let verify = "gateway.pools.app.verify_connection".to_owned();
        assert_eq!(said("app.verify_backend", "On"), (verify.clone(), "true".into()));
        assert_eq!(said("app.verify_backend_path", "/alive"), (verify, "/alive".into()));
        let kept = "gateway.pools.app.keep_alive.connections".to_owned();
        assert_eq!(said("app.backend_persist_cache", "8"), (kept, "8".into()));
    }

    #[test]
    fn a_server_is_named_by_its_address() {
        assert_eq!(server_url("10.0.0.1"), "http://10.0.0.1:80");
        assert_eq!(server_url("10.0.0.1:8080"), "http://10.0.0.1:8080");
        assert_eq!(server_url("[::1]"), "http://[::1]:80");
        assert_eq!(server_url("https://a.example"), "https://a.example");
        assert_eq!(node("http://10.0.0.1"), "10.0.0.1:80");
        assert_eq!(node("https://a.example"), "https://a.example");
        assert!(is_same_server("http://10.0.0.1/", "http://10.0.0.1:80"));
        assert!(!is_same_server("http://10.0.0.1:81", "http://10.0.0.1:80"));
        assert!(is_same_server("http://[::1]", "http://[::1]:80"));
    }
}
