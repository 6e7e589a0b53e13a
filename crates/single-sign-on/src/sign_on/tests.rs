//! Sign-ins against a provider that lies as it is told.

mod fake_provider;

use super::*;
use crate::ProviderUnreachable;
use crate::provider::ClaimNames;
use fake_provider::{FakeProvider, ISSUER, KeyKind, NOW, forged};
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::net::Ipv4Addr;

const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 7));

fn config() -> ProviderConfig {
    ProviderConfig {
        issuer: ISSUER.into(),
        client_id: "tide gate".into(),
        client_secret: Some("s3cret:%".into()),
        scopes: vec!["openid".into(), "profile".into()],
        redirect_uri: "https://tide.example/login/oidc/callback".into(),
        claims: ClaimNames { name: "preferred_username".into(), groups: Some("groups".into()) },
    }
}

/// A provider, sign-on with it, and a browser that was sent to it.
struct Visit {
    provider: Arc<FakeProvider>,
    sign_on: SingleSignOn,
    browser: String,
    words: HashMap<String, String>,
}

impl Visit {
    fn begin(provider: FakeProvider) -> Self {
        let provider = Arc::new(provider);
        let sign_on = SingleSignOn::new(config(), Arc::clone(&provider) as _);
        let start = sign_on.begin(CLIENT, NOW).unwrap();
        let url = Url::parse(&start.location).unwrap();
        let words: HashMap<_, _> = url.query_pairs().into_owned().collect();
        provider.expect(&words);
        Self { provider, sign_on, browser: start.browser, words }
    }

    fn query(&self, more: &str) -> CallbackQuery {
        CallbackQuery::read(&format!("state={}&code=c0de{more}", self.words["state"]))
    }

    fn finish(&self) -> Result<SignedOnPerson, SignOnFailure> {
        self.sign_on.finish(&self.query(""), Some(&self.browser), NOW)
    }

    /// With claims changed after the provider has made them.
    fn finish_with(&self, change: Value) -> Result<SignedOnPerson, SignOnFailure> {
        self.provider.change_claims(change);
        self.finish()
    }
}

fn fault(outcome: Result<SignedOnPerson, SignOnFailure>) -> IdTokenFault {
    match outcome {
        Err(SignOnFailure::IdToken(fault)) => fault,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_person_is_signed_on_by_either_kind_of_key() {
    for kind in [KeyKind::Rsa, KeyKind::Ec] {
        let visit = Visit::begin(FakeProvider::new(kind));
        let word = |name: &str| visit.words[name].as_str();
        assert_eq!([word("response_type"), word("scope")], ["code", "openid profile"]);
        assert_eq!([word("client_id"), word("code_challenge_method")], ["tide gate", "S256"]);
        assert_eq!(word("redirect_uri"), config().redirect_uri);
        let person = visit.finish().unwrap();
        assert_eq!(person.subject, format!("{ISSUER} 248289761001"));
        assert_eq!((&*person.names[0], person.groups), ("anna", vec!["staff".to_owned()]));
        let asked = visit.provider.asked("/token");
        // The name and the secret as a form writes them, in base 64 (RFC 6749 §2.3.1).
        let authorization = asked[0].authorization.as_deref();
        assert_eq!(authorization, Some("Basic dGlkZStnYXRlOnMzY3JldCUzQSUyNQ=="));
        assert!(asked[0].form.as_ref().unwrap().contains("code_verifier="));
    }
}

#[test]
fn a_code_holds_once_and_in_the_browser_that_began() {
    let visit = Visit::begin(FakeProvider::new(KeyKind::Ec));
    let theirs = visit.sign_on.begin(CLIENT, NOW).unwrap().browser;
    assert!(visit.finish().is_ok());
    assert_eq!(visit.finish(), Err(SignOnFailure::UnknownState), "replayed");
    let visit = Visit::begin(FakeProvider::new(KeyKind::Ec));
    for browser in [None, Some(""), Some(theirs.as_str())] {
        let other = visit.sign_on.finish(&visit.query(""), browser, NOW);
        let expected = if browser.is_none() {
            SignOnFailure::OtherBrowser
        } else {
            SignOnFailure::UnknownState
        };
        assert_eq!(other, Err(expected));
    }
    assert!(visit.provider.asked("/token").is_empty(), "the code was shown to nobody");
    for query in ["", "code=c0de", "state=&code=c0de", "state=guess&code=c0de"] {
        let guess = visit.sign_on.finish(&CallbackQuery::read(query), Some(&visit.browser), NOW);
        assert_eq!(guess, Err(SignOnFailure::UnknownState));
    }
}

#[test]
fn claims_of_another_issuer_client_sign_in_or_time_are_refused() {
    let now = NOW.unix_secs();
    for (change, why) in [
        (json!({"iss": "https://evil.example"}), IdTokenFault::Issuer),
        (json!({"iss": null}), IdTokenFault::Issuer),
        (json!({"iss": format!("{ISSUER}/")}), IdTokenFault::Issuer),
        (json!({"aud": "other"}), IdTokenFault::Audience),
        (json!({"aud": null}), IdTokenFault::Audience),
        (json!({"aud": []}), IdTokenFault::Audience),
        (json!({"aud": ["tide gate", "other"]}), IdTokenFault::Audience),
        (json!({"azp": "other"}), IdTokenFault::Audience),
        (json!({"nonce": "other"}), IdTokenFault::Nonce),
        (json!({"nonce": null}), IdTokenFault::Nonce),
        (json!({"exp": now - 61}), IdTokenFault::Expired),
        (json!({"exp": null}), IdTokenFault::Malformed),
        (json!({"exp": "tomorrow"}), IdTokenFault::Malformed),
        (json!({"iat": now + 120}), IdTokenFault::NotYet),
        (json!({"nbf": now + 120}), IdTokenFault::NotYet),
        (json!({"sub": null}), IdTokenFault::Subject),
    ] {
        let visit = Visit::begin(FakeProvider::new(KeyKind::Ec));
        assert_eq!(fault(visit.finish_with(change.clone())), why, "{change}");
    }
    for change in [
        json!({"aud": ["tide gate", "other"], "azp": "tide gate"}),
        json!({"exp": now - 30}),
        json!({"exp": now as f64 + 0.5}),
    ] {
        let visit = Visit::begin(FakeProvider::new(KeyKind::Ec));
        assert!(visit.finish_with(change.clone()).is_ok(), "{change}");
    }
}

#[test]
fn a_signature_that_anybody_can_make_is_none() {
    let visit = Visit::begin(FakeProvider::new(KeyKind::Rsa));
    visit.provider.answer_token(|claims, _| forged(&json!({"alg": "none"}), claims, ""));
    assert_eq!(fault(visit.finish()), IdTokenFault::Algorithm("none".into()));
    // The public key as a shared secret: everybody has it.
    let visit = Visit::begin(FakeProvider::new(KeyKind::Rsa));
    visit.provider.answer_token(|claims, provider| {
        let key = EncodingKey::from_secret(provider.jwk()["n"].to_string().as_bytes()).unwrap();
        let header = Header { kid: Some("one".into()), ..Header::new(Algorithm::HS256) };
        jsonwebtoken::encode(&header, claims, &key).unwrap()
    });
    assert_eq!(fault(visit.finish()), IdTokenFault::Algorithm("HS256".into()));
    // Another key under the name of the right one, and the right one's signature of other claims.
    let visit = Visit::begin(FakeProvider::new(KeyKind::Ec));
    visit.provider.answer_token(|claims, _| FakeProvider::new(KeyKind::Ec).signed(claims));
    assert_eq!(fault(visit.finish()), IdTokenFault::Signature);
    let visit = Visit::begin(FakeProvider::new(KeyKind::Ec));
    visit.provider.answer_token(|claims, provider| {
        let right = provider.signed(claims);
        let other = provider.signed(&json!({"sub": "root"}));
        let [head, _, signature] = right.split('.').collect::<Vec<_>>()[..] else { panic!() };
        format!("{head}.{}.{signature}", other.split('.').nth(1).unwrap())
    });
    assert_eq!(fault(visit.finish()), IdTokenFault::Signature);
    // A key that the token brings along, and extensions that must be understood.
    let visit = Visit::begin(FakeProvider::new(KeyKind::Ec));
    visit.provider.answer_token(|claims, _| {
        forged(&json!({"alg": "ES256", "kid": "one", "crit": ["x"], "x": 1}), claims, "AAAA")
    });
    assert_eq!(fault(visit.finish()), IdTokenFault::Critical);
    for text in ["", "a", "a.b.c", "e30.e30.e30", "....", "é.é.é"] {
        let visit = Visit::begin(FakeProvider::new(KeyKind::Ec));
        visit.provider.answer_token(move |_, _| text.into());
        assert_eq!(fault(visit.finish()), IdTokenFault::Malformed, "{text}");
    }
}

#[test]
fn an_unknown_key_is_asked_for_once_a_minute() {
    let provider = FakeProvider::new(KeyKind::Ec);
    let visit = Visit::begin(provider);
    assert!(visit.finish().is_ok());
    let again = |mono_ms: u64| {
        let now = Now { mono_ms, ..NOW };
        let start = visit.sign_on.begin(CLIENT, now).unwrap();
        let words: HashMap<_, _> =
            Url::parse(&start.location).unwrap().query_pairs().into_owned().collect();
        visit.provider.expect(&words);
        let query = CallbackQuery::read(&format!("state={}&code=c", words["state"]));
        let outcome = visit.sign_on.finish(&query, Some(&start.browser), now);
        (outcome.map(drop), visit.provider.asked("/keys").len())
    };
    let unknown = || Err(SignOnFailure::IdToken(IdTokenFault::UnknownKey));
    visit.provider.rename_key("two");
    assert_eq!(again(30_000), (unknown(), 1));
    assert_eq!(again(59_999), (unknown(), 1));
    assert_eq!(again(60_000), (Ok(()), 2));
    visit.provider.rename_key("three");
    visit.provider.publish("four");
    assert_eq!(again(120_000), (unknown(), 3));
    assert_eq!(again(120_001), (unknown(), 3));
    assert_eq!(visit.provider.asked("/.well-known/openid-configuration").len(), 1);
}

#[test]
fn a_key_is_for_what_it_says() {
    for change in
        [json!({"use": "enc"}), json!({"alg": "ES384"}), json!({"kty": "oct", "k": "AAAA"})]
    {
        let visit = Visit::begin(FakeProvider::new(KeyKind::Ec));
        visit.provider.change_key(&change);
        assert_eq!(fault(visit.finish()), IdTokenFault::UnknownKey, "{change}");
    }
}

#[test]
fn the_answer_comes_from_the_issuer_that_was_asked() {
    let visit = Visit::begin(FakeProvider::new(KeyKind::Ec));
    let mixed = visit.query("&iss=https%3A%2F%2Fevil.example");
    let outcome = visit.sign_on.finish(&mixed, Some(&visit.browser), NOW);
    assert_eq!(outcome, Err(SignOnFailure::MixedUp));
    assert!(visit.provider.asked("/token").is_empty(), "the code was shown to nobody");
    let named = Visit::begin(FakeProvider::new(KeyKind::Ec));
    let right = named.query("&iss=https%3A%2F%2Fsso.example");
    assert!(named.sign_on.finish(&right, Some(&named.browser), NOW).is_ok());
    let provider = FakeProvider::new(KeyKind::Ec);
    provider.change_discovery(json!({"authorization_response_iss_parameter_supported": true}));
    assert_eq!(Visit::begin(provider).finish(), Err(SignOnFailure::MixedUp), "it does not say");
}

#[test]
fn a_discovery_document_of_another_is_none_and_asked_for_again_later() {
    for (change, part) in [
        (json!({"issuer": "https://evil.example"}), "evil.example"),
        (json!({"token_endpoint": "http://sso.example/token"}), "neither https"),
        (json!({"authorization_endpoint": "javascript:alert(1)"}), "no URL with a host"),
        (json!({"jwks_uri": "file:///etc/shadow"}), "no URL with a host"),
        (json!({"userinfo_endpoint": "https://a:b@sso.example"}), "a password"),
        (json!({"token_endpoint": null}), "cannot be used"),
    ] {
        let provider = FakeProvider::new(KeyKind::Ec);
        provider.change_discovery(change.clone());
        let sign_on = SingleSignOn::new(config(), Arc::new(provider));
        let why = sign_on.begin(CLIENT, NOW).err().unwrap().to_string();
        assert!(why.contains(part), "{change}: {why}");
    }
    let provider = Arc::new(FakeProvider::new(KeyKind::Ec));
    provider.fail(Some(ProviderUnreachable("no route".into())));
    let sign_on = SingleSignOn::new(config(), Arc::clone(&provider) as _);
    let begin = |mono_ms| sign_on.begin(CLIENT, Now { mono_ms, ..NOW }).map(drop);
    assert!(begin(0).unwrap_err().to_string().contains("no route"));
    provider.fail(None);
    assert!(begin(4_999).is_err(), "nobody makes a flood of it");
    assert_eq!(begin(5_000), Ok(()));
}

#[test]
fn what_the_provider_refuses_is_told_in_its_word() {
    let visit = Visit::begin(FakeProvider::new(KeyKind::Ec));
    let query = format!("state={}&error=access_denied%0a", visit.words["state"]);
    let denied = visit.sign_on.finish(&CallbackQuery::read(&query), Some(&visit.browser), NOW);
    assert_eq!(denied, Err(SignOnFailure::Denied("access_denied".into())));
    let visit = Visit::begin(FakeProvider::new(KeyKind::Ec));
    visit.provider.answer("/token", 400, br#"{"error": "invalid_grant"}"#);
    let refused = SignOnFailure::Refused(ProviderDocument::Tokens, "invalid_grant".into());
    assert_eq!(visit.finish(), Err(refused));
    for (path, what) in [("/token", ProviderDocument::Tokens), ("/keys", ProviderDocument::Keys)] {
        let visit = Visit::begin(FakeProvider::new(KeyKind::Ec));
        visit.provider.answer(path, 302, b"");
        assert_eq!(visit.finish(), Err(SignOnFailure::Status(what, 302)));
        let visit = Visit::begin(FakeProvider::new(KeyKind::Ec));
        visit.provider.answer(path, 200, b"<html>");
        assert!(matches!(visit.finish(), Err(SignOnFailure::BadAnswer(of, _)) if of == what));
    }
}

#[test]
fn groups_are_asked_for_where_the_token_has_none() {
    let visit = Visit::begin(FakeProvider::new(KeyKind::Ec));
    visit.provider.answer("/userinfo", 200, br#"{"sub": "248289761001", "groups": ["root"]}"#);
    let person = visit.finish_with(json!({"groups": null})).unwrap();
    assert_eq!(person.groups, ["root"]);
    let bearer = visit.provider.asked("/userinfo")[0].authorization.clone();
    assert_eq!(bearer.as_deref(), Some("Bearer access"));
    for other in [r#"{"sub": "7", "groups": ["root"]}"#, r#"{"groups": ["root"]}"#] {
        let visit = Visit::begin(FakeProvider::new(KeyKind::Ec));
        visit.provider.answer("/userinfo", 200, other.as_bytes());
        let outcome = visit.finish_with(json!({"groups": null}));
        assert_eq!(outcome, Err(SignOnFailure::OtherSubject));
    }
}
