//! The provider as the configuration names it.

use settings::SecretText;
use std::fmt;
use url::{Host, Url};

/// Longest URL that is taken, in bytes.
const URL_BYTES_MAX: usize = 512;

/// A provider, and what we are to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderConfig {
    /// Issuer, exactly as the provider calls itself.
    pub issuer: String,
    /// Our name with it.
    pub client_id: String,
    /// Our secret with it; none for a public client, which PKCE alone protects.
    pub client_secret: Option<SecretText>,
    /// Scopes that are asked for.
    pub scopes: Vec<String>,
    /// Address that browsers come back to.
    pub redirect_uri: String,
    /// Claims that are read.
    pub claims: ClaimNames,
}

/// Names of the claims that say who a person is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimNames {
    /// The name.
    pub name: String,
    /// Groups; none where nobody asks for them.
    pub groups: Option<String>,
}

/// Why a URL is not one of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadProviderUrl {
    /// No URL with a host.
    NotAUrl,
    /// Longer than any is.
    TooLong,
    /// Neither HTTPS nor on this machine.
    Unsafe,
    /// A name, a password or a fragment in it.
    Superfluous,
}

/// Returns whether a URL may be asked: HTTPS, or HTTP to this machine; no name, no password and no
/// fragment.
pub fn check_provider_url(text: &str) -> Result<Url, BadProviderUrl> {
    if text.len() > URL_BYTES_MAX {
        return Err(BadProviderUrl::TooLong);
    }
    let url = Url::parse(text).map_err(|_| BadProviderUrl::NotAUrl)?;
    let is_here = match url.host() {
        None => return Err(BadProviderUrl::NotAUrl),
        Some(Host::Domain(name)) => name.eq_ignore_ascii_case("localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
    };
    match url.scheme() {
        "https" => {}
        "http" if is_here => {}
        _ => return Err(BadProviderUrl::Unsafe),
    }
    if !url.username().is_empty() || url.password().is_some() || url.fragment().is_some() {
        return Err(BadProviderUrl::Superfluous);
    }
    Ok(url)
}

impl fmt::Display for BadProviderUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAUrl => f.write_str("it is no URL with a host"),
            Self::TooLong => write!(f, "it is longer than {URL_BYTES_MAX} bytes"),
            Self::Unsafe => f.write_str("it is neither https nor on this machine"),
            Self::Superfluous => f.write_str("it has a name, a password or a fragment"),
        }
    }
}

impl std::error::Error for BadProviderUrl {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn providers_are_asked_by_https_or_on_this_machine() {
        for good in ["https://sso.example/realms/a", "http://127.0.0.1:8080", "http://[::1]/x"] {
            assert!(check_provider_url(good).is_ok(), "{good}");
        }
        let long = format!("https://sso.example/{}", "a".repeat(URL_BYTES_MAX));
        for (bad, why) in [
            ("", BadProviderUrl::NotAUrl),
            ("sso.example", BadProviderUrl::NotAUrl),
            ("data:,x", BadProviderUrl::NotAUrl),
            ("http://sso.example", BadProviderUrl::Unsafe),
            ("http://127.0.0.1.example", BadProviderUrl::Unsafe),
            ("ftp://127.0.0.1", BadProviderUrl::Unsafe),
            ("https://a:b@sso.example", BadProviderUrl::Superfluous),
            ("https://sso.example/#a", BadProviderUrl::Superfluous),
            (&long, BadProviderUrl::TooLong),
        ] {
            assert_eq!(check_provider_url(bad).err(), Some(why), "{bad}");
        }
    }
}
