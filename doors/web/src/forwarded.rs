//! Trust in proxies in front that say that a request came by HTTPS.
//!
//! A proxy that ends TLS says so in `X-Forwarded-Proto`; anybody else can write the same, so only
//! the networks that a site names are believed. Pure. Called by `site` for sites that send everyone
//! on to HTTPS.

use crate::settings::SiteSettings;
use http::HeaderMap;
use std::net::IpAddr;
use vocab::{Complaint, Network};

/// The field. No standard has it; every proxy does.
pub(crate) const FORWARDED_PROTO: &str = "x-forwarded-proto";
/// Networks of proxies of one site: more are better written as wider ones.
const NETWORKS_MAX: usize = 64;

/// True if `client` is to be believed, and says that the request came by HTTPS. One word is
/// understood: a list may hold what the proxy's own client has written.
pub(crate) fn is_by_https(trusted: &[Network], client: IpAddr, said: Option<&[u8]>) -> bool {
    said.is_some_and(|said| said.trim_ascii().eq_ignore_ascii_case(b"https"))
        && trusted.iter().any(|network| network.contains(client))
}

/// The field's value, if it stands there once.
pub(crate) fn said(headers: &HeaderMap) -> Option<&[u8]> {
    let mut values = headers.get_all(FORWARDED_PROTO).iter();
    let first = values.next()?;
    values.next().is_none().then(|| first.as_bytes())
}

/// Every complaint, with paths relative to the site.
pub(crate) fn check(site: &SiteSettings) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    let count = site.trusted_proxies.len();
    if count > NETWORKS_MAX {
        let message = format!("{count} networks are too many: at most {NETWORKS_MAX}");
        complaints.push(
            Complaint::new("trusted_proxies", message).remedy("write wider networks: 10.0.0.0/8"),
        );
    }
    if count > 0 && !site.redirect_https && site.fastcgi.is_empty() {
        let message = "no request is sent on to HTTPS and no script is told what proxies say";
        complaints.push(
            Complaint::new("trusted_proxies", message)
                .remedy("write redirect_https: true, or leave trusted_proxies out"),
        );
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fastcgi::FastcgiChoice;

    #[test]
    fn one_word_of_a_trusted_proxy_counts() {
        let trusted = ["10.0.0.0/8".parse().unwrap(), "2001:db8::/32".parse().unwrap()];
        let check = |client: &str, said: Option<&str>, expected: bool| {
            let by_https = is_by_https(&trusted, client.parse().unwrap(), said.map(str::as_bytes));
            assert_eq!(by_https, expected, "{client} {said:?}");
        };
        check("10.1.2.3", Some("https"), true);
        check("2001:db8::7", Some(" HTTPS "), true);
        check("10.1.2.3", None, false);
        for said in ["http", "https, http", "https,https", "", "httpsx"] {
            check("10.1.2.3", Some(said), false);
        }
        check("192.0.2.7", Some("https"), false);
    }

    #[test]
    fn a_field_that_stands_twice_says_nothing() {
        let mut headers = HeaderMap::new();
        assert_eq!(said(&headers), None);
        headers.append(FORWARDED_PROTO, "https".parse().unwrap());
        assert_eq!(said(&headers), Some(&b"https"[..]));
        headers.append(FORWARDED_PROTO, "https".parse().unwrap());
        assert_eq!(said(&headers), None);
    }

    #[test]
    fn trust_that_nothing_uses_is_complained_about() {
        let trusted_proxies = vec![settings::Text("10.0.0.0/8".parse().unwrap())];
        let site = SiteSettings { trusted_proxies, ..SiteSettings::default() };
        assert_eq!(check(&site)[0].path, "trusted_proxies");
        assert_eq!(check(&SiteSettings { redirect_https: true, ..site.clone() }), []);
        let choice = FastcgiChoice::Address("tcp://127.0.0.1:1".into());
        let fastcgi = [("*.php".to_owned(), choice)].into();
        assert_eq!(check(&SiteSettings { fastcgi, ..site }), []);
    }
}
