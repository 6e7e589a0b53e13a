//! TLS with servers: whom it trusts, by which name, and what it shows of itself.

use super::authority::Authority;
use super::support::{Client, echo, run, secure};
use origins::{DialError, SendError, TlsTerms};
use transport::tls::{Alpn, VerifyMode};

fn client(tls: TlsTerms) -> Client {
    Client::new(|terms| terms.tls = tls)
}

fn is_tls<T>(outcome: &Result<T, SendError>) -> bool {
    matches!(outcome, Err(SendError::Dial(DialError::Tls(_))))
}

#[test]
fn only_the_named_authority_is_trusted() {
    run(async {
        let (ours, theirs) = (Authority::new(), Authority::new());
        let server = secure(ours.server("127.0.0.1", &[Alpn::Http1]), echo).await;
        let to = format!("https://{}", server.at);
        let usual = client(TlsTerms::default());
        assert!(is_tls(&usual.get(&to).await));
        let trusting = |authority: &Authority| {
            client(TlsTerms { authorities: Some(authority.pem.clone()), ..Default::default() })
        };
        assert!(is_tls(&trusting(&theirs).get(&to).await));
        assert!(trusting(&ours).get(&to).await.is_ok());
        let careless = client(TlsTerms { verify: VerifyMode::Nothing, ..Default::default() });
        assert!(careless.get(&to).await.is_ok());
    });
}

#[test]
fn the_certificate_must_be_for_the_name() {
    run(async {
        let authority = Authority::new();
        let server = secure(authority.server("app.internal", &[Alpn::Http1]), echo).await;
        let to = format!("https://{}", server.at);
        let called = |name: Option<&str>| {
            let (authorities, name) = (Some(authority.pem.clone()), name.map(str::to_owned));
            client(TlsTerms { authorities, name, ..Default::default() })
        };
        assert!(is_tls(&called(None).get(&to).await));
        assert!(is_tls(&called(Some("other.internal")).get(&to).await));
        assert!(called(Some("app.internal")).get(&to).await.is_ok());
    });
}

#[test]
fn a_certificate_whose_time_is_over_is_refused() {
    run(async {
        let authority = Authority::new();
        let server = secure(authority.expired_server("127.0.0.1"), echo).await;
        let to = format!("https://{}", server.at);
        let authorities = Some(authority.pem.clone());
        let careful = client(TlsTerms { authorities, ..Default::default() });
        assert!(is_tls(&careful.get(&to).await));
        let careless = client(TlsTerms { verify: VerifyMode::Nothing, ..Default::default() });
        assert!(careless.get(&to).await.is_ok());
    });
}

#[test]
fn a_server_that_asks_who_we_are_is_shown_our_certificate() {
    run(async {
        let (authority, clients) = (Authority::new(), Authority::new());
        let server = secure(authority.strict_server("127.0.0.1", &clients), echo).await;
        let to = format!("https://{}", server.at);
        let showing = |certificate| {
            let authorities = Some(authority.pem.clone());
            client(TlsTerms { authorities, certificate, ..Default::default() })
        };
        assert!(showing(None).get(&to).await.is_err());
        assert!(showing(Some(authority.certificate("gateway"))).get(&to).await.is_err());
        assert!(showing(Some(clients.certificate("gateway"))).get(&to).await.is_ok());
    });
}

#[test]
fn connections_under_other_terms_are_not_taken_for_these() {
    run(async {
        let authority = Authority::new();
        let server = secure(authority.server("127.0.0.1", &[Alpn::Http2]), echo).await;
        let to = format!("https://{}", server.at);
        let careless = client(TlsTerms { verify: VerifyMode::Nothing, ..Default::default() });
        careless.get(&to).await.unwrap();
        let careful =
            Client { origins: careless.origins.clone(), terms: client(TlsTerms::default()).terms };
        assert!(is_tls(&careful.get(&to).await));
        careless.get(&to).await.unwrap();
        assert_eq!(server.connections(), 2);
    });
}
