//! Fields in which a client claims what only a proxy in front of us may say: who it is, where its
//! request leads, which certificate it has shown.
//!
//! Servers behind believe them, because they are meant to stand behind a proxy that writes them.
//! From whom a door's settings trust they pass; from anybody else they are taken out. Called by the
//! gateway for servers and authorities, and by the web door for scripts.

use http::Method;
use http::header::{HeaderMap, HeaderName};

/// Claim that a field makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimKind {
    /// Fields that the gateway writes itself: the client's address, and how it came.
    Gateway,
    /// The client's address.
    Client,
    /// Another URL, host or scheme than the one that rules were held against.
    Target,
    /// Another method, as [`MethodOverrides`] treats it.
    Method,
    /// The user's name, as an authority in front would tell it.
    User,
    /// The certificate that the client has shown.
    Certificate,
    /// Orders to the software of the server, from the one in front of it or from itself.
    Software,
}

/// Treatment of fields that ask for another method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MethodOverrides {
    /// Passed on with a `POST`: forms and old proxies need them there.
    OfPosts,
    /// Never passed on: routes choose by method, or keep answers by URL.
    None,
}

/// All claims in the order of their names; `*` stands for the rest of a name.
static CLAIMS: [(&str, ClaimKind); TABLE.len()] = TABLE;

const TABLE: [(&str, ClaimKind); 70] = [
    ("cf-access-authenticated-user-email", ClaimKind::User), // Cloudflare Access
    ("cf-connecting-ip", ClaimKind::Client),                 // Cloudflare
    ("cf-connecting-ipv6", ClaimKind::Client),
    ("client-cert", ClaimKind::Gateway), // RFC 9440
    ("client-cert-chain", ClaimKind::Certificate),
    ("client-ip", ClaimKind::Client),
    ("fastly-client-ip", ClaimKind::Client),
    ("fly-client-ip", ClaimKind::Client),
    ("forwarded", ClaimKind::Gateway),      // RFC 7239
    ("front-end-https", ClaimKind::Target), // Microsoft
    ("iv-creds", ClaimKind::User),          // IBM
    ("iv-groups", ClaimKind::User),
    ("iv-user", ClaimKind::User),
    ("oidc-claim-*", ClaimKind::User), // mod_auth_openidc
    ("proxy", ClaimKind::Software),    // HTTP_PROXY of CGI scripts: httpoxy
    ("remote-addr", ClaimKind::Client),
    ("remote-email", ClaimKind::User), // Authelia
    ("remote-groups", ClaimKind::User),
    ("remote-name", ClaimKind::User),
    ("remote-user", ClaimKind::User),
    ("ssl-client-*", ClaimKind::Certificate), // ingress-nginx
    ("tailscale-user-*", ClaimKind::User),    // tailscale serve
    ("true-client-ip", ClaimKind::Client),    // Akamai
    ("x-accel-mapping", ClaimKind::Software), // has Rack name files: CVE-2025-61780
    ("x-amzn-mtls-*", ClaimKind::Certificate), // AWS load balancers
    ("x-amzn-oidc-*", ClaimKind::User),
    ("x-arr-clientcert", ClaimKind::Certificate), // IIS
    ("x-arr-ssl", ClaimKind::Certificate),
    ("x-auth-request-*", ClaimKind::User), // oauth2-proxy
    ("x-authenticated-*", ClaimKind::User),
    ("x-authentik-*", ClaimKind::User),
    ("x-client-cert*", ClaimKind::Certificate),
    ("x-client-dn", ClaimKind::Certificate),
    ("x-client-ip", ClaimKind::Client),
    ("x-client-verify", ClaimKind::Certificate),
    ("x-cluster-client-ip", ClaimKind::Client),
    ("x-consumer-*", ClaimKind::User), // Kong
    ("x-envoy-*", ClaimKind::Software),
    // Prefix, Server, Uri, Method, Ssl, User, Tls-Client-Cert ...
    ("x-forwarded-*", ClaimKind::Target),
    ("x-forwarded-for", ClaimKind::Gateway),
    ("x-forwarded-host", ClaimKind::Gateway),
    ("x-forwarded-port", ClaimKind::Gateway),
    ("x-forwarded-proto", ClaimKind::Gateway),
    ("x-goog-authenticated-*", ClaimKind::User), // Google's Identity-Aware Proxy
    ("x-host", ClaimKind::Target),
    ("x-http-host-override", ClaimKind::Target),
    ("x-http-method", ClaimKind::Method), // Microsoft, OData
    ("x-http-method-override", ClaimKind::Method),
    ("x-method-override", ClaimKind::Method),         // IBM
    ("x-middleware-subrequest", ClaimKind::Software), // has Next.js skip its checks: CVE-2025-29927
    ("x-ms-client-principal*", ClaimKind::User),      // Azure
    ("x-original-*", ClaimKind::Target), // Url (Symfony, IIS), Host, Uri, Method, Forwarded-For
    ("x-originating-ip", ClaimKind::Client),
    ("x-pomerium-claim-*", ClaimKind::User),
    ("x-proxy-capabilities", ClaimKind::Software), // what we can be told to send: ours to say
    ("x-proxyuser-ip", ClaimKind::Client),
    ("x-real-ip", ClaimKind::Client),
    ("x-remote-*", ClaimKind::User), // User, Group, Extra (Kubernetes), Addr, Ip
    ("x-rewrite-url", ClaimKind::Target), // Zend, IIS
    ("x-scheme", ClaimKind::Target),
    ("x-sendfile-type", ClaimKind::Software), // has Rack name files: CVE-2025-61780
    ("x-ssl", ClaimKind::Certificate),
    ("x-ssl-*", ClaimKind::Certificate),
    ("x-tls-client-*", ClaimKind::Certificate),
    ("x-token-subject", ClaimKind::User), // caddy-security
    ("x-token-user-*", ClaimKind::User),
    ("x-url-scheme", ClaimKind::Target),
    ("x-vouch-*", ClaimKind::User),              // vouch-proxy
    ("x-waws-unencoded-url", ClaimKind::Target), // Azure
    ("x-webauth-*", ClaimKind::User),            // Grafana, Gitea
];

/// Places in [`CLAIMS`] where the names of each letter begin and end.
static BY_LETTER: [(u8, u8); 26] = by_letter();

const fn by_letter() -> [(u8, u8); 26] {
    let mut ranges = [(0, 0); 26];
    let mut at = 0;
    while at < TABLE.len() {
        let letter = (TABLE[at].0.as_bytes()[0] - b'a') as usize;
        if ranges[letter].1 == 0 {
            ranges[letter].0 = at as u8;
        }
        ranges[letter].1 = at as u8 + 1;
        at += 1;
    }
    ranges
}

/// Claim of the field `name`, in lower case; none for most.
pub fn claim(name: &str) -> Option<ClaimKind> {
    let letter = name.as_bytes().first()?.wrapping_sub(b'a');
    let (from, to) = *BY_LETTER.get(usize::from(letter))?;
    let of_letter = &CLAIMS[usize::from(from)..usize::from(to)];
    let whole = of_letter.iter().find(|(it, _)| *it == name);
    let begun = || {
        let begins = |it: &str| it.strip_suffix('*').is_some_and(|it| name.starts_with(it));
        of_letter.iter().find(|(it, _)| begins(it))
    };
    whole.or_else(begun).map(|(_, claim)| *claim)
}

/// True for a field that only a proxy in front may write in a request with this method.
pub fn is_claim(name: &HeaderName, method: &Method, overrides: MethodOverrides) -> bool {
    match claim(name.as_str()) {
        None => false,
        Some(ClaimKind::Method) => *method != Method::POST || overrides == MethodOverrides::None,
        Some(_) => true,
    }
}

/// Takes out what a stranger claims, but for the names in `passed`. `overrides` is what becomes of
/// fields that ask for another method than `method`.
pub fn strip_claims(
    headers: &mut HeaderMap,
    passed: &[HeaderName],
    method: &Method,
    overrides: MethodOverrides,
) {
    let is_due = |name: &&HeaderName| is_claim(name, method, overrides) && !passed.contains(name);
    // Nearly no request has any, and no name is copied then.
    let there: Vec<HeaderName> = headers.keys().filter(is_due).cloned().collect();
    for name in there {
        headers.remove(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    #[test]
    fn the_table_is_in_order_and_every_name_is_found_in_it() {
        let names: Vec<_> = CLAIMS.iter().map(|(name, _)| *name).collect();
        let mut sorted = names.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(names, sorted);
        for (name, expected) in CLAIMS {
            assert_eq!(claim(name), Some(expected), "{name}");
            let longer = name.replace('*', "anything");
            assert_eq!(claim(&longer), Some(expected), "{longer}");
        }
    }

    #[test]
    fn what_clients_have_to_say_themselves_is_no_claim() {
        for name in [
            "accept",
            "authorization",
            "cache-control",
            "client",
            "content-type",
            "cookie",
            "dpop",
            "forwarded-for-me",
            "origin",
            "proxy-authorization",
            "range",
            "referer",
            "remote",
            "sec-fetch-site",
            "te",
            "user-agent",
            "x-api-key",
            "x-auth-token",
            "x-auth-user",
            "x-csrf-token",
            "x-forwarded",
            "x-request-id",
            "x-requested-with",
            "x-user-id",
            "x",
        ] {
            assert_eq!(claim(name), None, "{name}");
        }
    }

    #[test]
    fn another_method_is_asked_for_with_a_post_alone() {
        let left = |method: &Method, overrides| {
            let mut headers = HeaderMap::new();
            headers.insert("x-http-method-override", HeaderValue::from_static("DELETE"));
            strip_claims(&mut headers, &[], method, overrides);
            headers.len()
        };
        assert_eq!(left(&Method::POST, MethodOverrides::OfPosts), 1);
        assert_eq!(left(&Method::GET, MethodOverrides::OfPosts), 0);
        assert_eq!(left(&Method::POST, MethodOverrides::None), 0);
    }
}
