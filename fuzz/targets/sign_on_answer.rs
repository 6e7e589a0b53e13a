//! Answers of a provider of single sign-on: whatever it says of itself, its keys, a token and a
//! person, nobody is signed on by bytes that no key has signed.
#![no_main]

use libfuzzer_sys::fuzz_target;
use single_sign_on::{
    CallbackQuery, ClaimNames, ProviderAnswer, ProviderConfig, ProviderRequest, ProviderTransport,
    ProviderUnreachable, SingleSignOn,
};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use vocab::Now;

const ISSUER: &str = "https://sso.example";
const NOW: Now = Now { unix_ms: 1_800_000_000_000, mono_ms: 0 };

/// A provider that answers with the pieces of an input, or about itself as an honest one does.
struct Provider {
    metadata: Option<Vec<u8>>,
    keys: Vec<u8>,
    tokens: Vec<u8>,
    person: Vec<u8>,
}

impl ProviderTransport for Provider {
    fn send(&self, request: ProviderRequest) -> Result<ProviderAnswer, ProviderUnreachable> {
        let honest = || {
            let place = |name: &str| format!("\"{name}\":\"{ISSUER}/{name}\"");
            let places =
                ["authorization_endpoint", "token_endpoint", "jwks_uri", "userinfo_endpoint"];
            let places = places.map(place).join(",");
            format!("{{\"issuer\":\"{ISSUER}\",{places}}}").into_bytes()
        };
        let body = if request.url.ends_with("openid-configuration") {
            self.metadata.clone().unwrap_or_else(honest)
        } else if request.url.ends_with("jwks_uri") {
            self.keys.clone()
        } else if request.form.is_some() {
            self.tokens.clone()
        } else {
            self.person.clone()
        };
        Ok(ProviderAnswer { status: 200, body })
    }
}

fn config() -> ProviderConfig {
    ProviderConfig {
        issuer: ISSUER.into(),
        client_id: "tidegate".into(),
        client_secret: None,
        scopes: vec!["openid".into()],
        redirect_uri: "https://tide.example/login/oidc/callback".into(),
        claims: ClaimNames { name: "name".into(), groups: Some("groups".into()) },
    }
}

fuzz_target!(|input: &[u8]| {
    let Some((kind, rest)) = input.split_first() else { return };
    let mut pieces = rest.split(|byte| *byte == 0).map(<[u8]>::to_vec);
    let mut piece = || pieces.next().unwrap_or_default();
    let metadata = (kind % 4 == 0).then(&mut piece);
    let provider = Provider { metadata, keys: piece(), tokens: piece(), person: piece() };
    let query = piece();
    let service = SingleSignOn::new(config(), Arc::new(provider));
    let client = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let Ok(start) = service.begin(client, NOW) else { return };
    let state = start.location.split("&state=").nth(1).and_then(|rest| rest.split('&').next());
    let words = String::from_utf8_lossy(&query);
    let query = format!("code=x&state={}&{words}", state.unwrap_or_default());
    let found = service.finish(&CallbackQuery::read(&query), Some(&start.browser), NOW);
    assert!(found.is_err(), "the nonce is random, so that no input knows it");
});
