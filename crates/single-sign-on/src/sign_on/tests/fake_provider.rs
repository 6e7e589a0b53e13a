//! A provider in memory, with a key of its own, that does as the test says.

use crate::{ProviderAnswer, ProviderRequest, ProviderTransport, ProviderUnreachable};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use rcgen::{KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_RSA_SHA256, RsaKeySize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::sync::Mutex;
use url::form_urlencoded;
use vocab::Now;

pub(super) const ISSUER: &str = "https://sso.example";
pub(super) const NOW: Now = Now { unix_ms: 1_800_000_000_000, mono_ms: 0 };
/// Bytes of PKCS#8 before the key of RSA of 2048 bits.
const PKCS8_HEAD: usize = 26;

/// Kind of a key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyKind {
    Rsa,
    Ec,
}

type TokenMaker = Box<dyn Fn(&Value, &FakeProvider) -> String + Send>;

/// A provider.
pub(super) struct FakeProvider {
    key: EncodingKey,
    algorithm: Algorithm,
    state: Mutex<State>,
}

struct State {
    /// Name of the key in heads of tokens, and in the key set.
    key_id: String,
    published: Value,
    discovery: Value,
    claims: Value,
    challenge: String,
    maker: Option<TokenMaker>,
    answers: HashMap<String, ProviderAnswer>,
    failure: Option<ProviderUnreachable>,
    asked: Vec<ProviderRequest>,
}

impl FakeProvider {
    pub(super) fn new(kind: KeyKind) -> Self {
        let (key, algorithm) = match kind {
            KeyKind::Rsa => {
                let pair = KeyPair::generate_rsa_for(&PKCS_RSA_SHA256, RsaKeySize::_2048).unwrap();
                let der = pair.serialize_der();
                (EncodingKey::from_rsa_der(&der[PKCS8_HEAD..]), Algorithm::RS256)
            }
            KeyKind::Ec => {
                let pair = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap();
                (EncodingKey::from_ec_der(&pair.serialize_der()), Algorithm::ES256)
            }
        };
        let mut published =
            serde_json::to_value(Jwk::from_encoding_key(&key, algorithm).unwrap()).unwrap();
        published["kid"] = "one".into();
        let at = |path: &str| format!("{ISSUER}{path}");
        let state = State {
            key_id: "one".into(),
            published,
            discovery: json!({
                "issuer": ISSUER,
                "authorization_endpoint": at("/authorize?tenant=a"),
                "token_endpoint": at("/token"),
                "jwks_uri": at("/keys"),
                "userinfo_endpoint": at("/userinfo"),
            }),
            claims: Value::Null,
            challenge: String::new(),
            maker: None,
            answers: HashMap::new(),
            failure: None,
            asked: Vec::new(),
        };
        Self { key, algorithm, state: Mutex::new(state) }
    }

    /// Makes claims for the sign-in that a browser was sent here for.
    pub(super) fn expect(&self, words: &HashMap<String, String>) {
        let now = NOW.unix_secs();
        let mut state = self.state.lock().unwrap();
        state.challenge.clone_from(&words["code_challenge"]);
        state.claims = json!({
            "iss": ISSUER, "sub": "248289761001", "aud": words["client_id"],
            "nonce": words["nonce"], "iat": now, "exp": now + 300,
            "preferred_username": "anna", "groups": ["staff"],
        });
    }

    /// Sets claims; null takes one away.
    pub(super) fn change_claims(&self, change: Value) {
        merge(&mut self.state.lock().unwrap().claims, change);
    }

    pub(super) fn change_discovery(&self, change: Value) {
        merge(&mut self.state.lock().unwrap().discovery, change);
    }

    pub(super) fn change_key(&self, change: &Value) {
        merge(&mut self.state.lock().unwrap().published, change.clone());
    }

    /// Signs under another name from now on, and publishes it.
    pub(super) fn rename_key(&self, id: &str) {
        self.state.lock().unwrap().key_id = id.into();
        self.publish(id);
    }

    /// Publishes the key under this name.
    pub(super) fn publish(&self, id: &str) {
        self.change_key(&json!({ "kid": id }));
    }

    pub(super) fn jwk(&self) -> Value {
        self.state.lock().unwrap().published.clone()
    }

    /// Makes the ID token so.
    pub(super) fn answer_token(&self, maker: impl Fn(&Value, &Self) -> String + Send + 'static) {
        self.state.lock().unwrap().maker = Some(Box::new(maker));
    }

    pub(super) fn answer(&self, path: &str, status: u16, body: &[u8]) {
        let answer = ProviderAnswer { status, body: body.to_vec() };
        self.state.lock().unwrap().answers.insert(path.into(), answer);
    }

    pub(super) fn fail(&self, failure: Option<ProviderUnreachable>) {
        self.state.lock().unwrap().failure = failure;
    }

    /// Requests for a path so far.
    pub(super) fn asked(&self, path: &str) -> Vec<ProviderRequest> {
        let state = self.state.lock().unwrap();
        state.asked.iter().filter(|it| it.url == format!("{ISSUER}{path}")).cloned().collect()
    }

    pub(super) fn signed(&self, claims: &Value) -> String {
        let key_id = self.state.lock().unwrap().key_id.clone();
        let header = Header { kid: Some(key_id), ..Header::new(self.algorithm) };
        jsonwebtoken::encode(&header, claims, &self.key).unwrap()
    }

    fn tokens(&self, form: &str) -> ProviderAnswer {
        let words: HashMap<_, _> = form_urlencoded::parse(form.as_bytes()).into_owned().collect();
        assert_eq!(words["grant_type"], "authorization_code");
        assert_eq!(words["redirect_uri"], "https://tide.example/login/oidc/callback");
        let (claims, maker, challenge) = {
            let mut state = self.state.lock().unwrap();
            (state.claims.clone(), state.maker.take(), state.challenge.clone())
        };
        let hashed = URL_SAFE_NO_PAD.encode(Sha256::digest(&words["code_verifier"]));
        assert_eq!(hashed, challenge, "the verifier of this sign-in");
        let id_token = maker.map_or_else(|| self.signed(&claims), |make| make(&claims, self));
        let body = json!({
            "access_token": "access", "token_type": "Bearer", "id_token": id_token
        });
        ProviderAnswer { status: 200, body: body.to_string().into_bytes() }
    }
}

impl ProviderTransport for FakeProvider {
    fn send(&self, request: ProviderRequest) -> Result<ProviderAnswer, ProviderUnreachable> {
        let path = request.url.strip_prefix(ISSUER).unwrap_or(&request.url).to_owned();
        let json =
            |value: &Value| ProviderAnswer { status: 200, body: value.to_string().into_bytes() };
        {
            let mut state = self.state.lock().unwrap();
            state.asked.push(request.clone());
            if let Some(failure) = &state.failure {
                return Err(failure.clone());
            }
            if let Some(answer) = state.answers.get(&path) {
                return Ok(answer.clone());
            }
            match path.as_str() {
                "/.well-known/openid-configuration" => return Ok(json(&state.discovery)),
                "/keys" => return Ok(json(&json!({"keys": [{"kty": "new"}, state.published]}))),
                "/token" => {}
                other => panic!("nobody asks {other}"),
            }
        }
        Ok(self.tokens(&request.form.unwrap_or_default()))
    }
}

/// A token with a head and a signature that anybody can write.
pub(super) fn forged(head: &Value, claims: &Value, signature: &str) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    format!("{}.{}.{signature}", part(head), part(claims))
}

fn merge(into: &mut Value, change: Value) {
    let (Some(into), Value::Object(change)) = (into.as_object_mut(), change) else { return };
    for (name, value) in change {
        if value.is_null() {
            into.remove(&name);
        } else {
            into.insert(name, value);
        }
    }
}
