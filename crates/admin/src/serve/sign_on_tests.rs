//! Single sign-on, asked as a browser asks that a provider sends back.

use super::house::{Answer, House};
use crate::Settings;
use admin_api::{AuditTable, CallerInfo, SessionTable, UserTable};
use http::StatusCode;
use http::header::{LOCATION, SET_COOKIE};
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use rcgen::{KeyPair, PKCS_ECDSA_P256_SHA256};
use serde_json::{Value, json};
use single_sign_on::{
    ProviderAnswer, ProviderRequest, ProviderTransport, ProviderUnreachable, SignOnSettings,
};
use std::sync::{Arc, Mutex};
use url::Url;

const ISSUER: &str = "https://sso.example";
const FAILED: &str = "/#sign-on-failed";

/// A provider that says of whoever comes what the test wants.
struct FakeProvider {
    key: EncodingKey,
    person: Mutex<Value>,
}

impl FakeProvider {
    fn new() -> Arc<Self> {
        let pair = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap();
        let key = EncodingKey::from_ec_der(&pair.serialize_der());
        Arc::new(Self { key, person: Mutex::new(Value::Null) })
    }
}

impl ProviderTransport for FakeProvider {
    fn send(&self, request: ProviderRequest) -> Result<ProviderAnswer, ProviderUnreachable> {
        let at = |path: &str| format!("{ISSUER}{path}");
        let body = match request.url.strip_prefix(ISSUER) {
            Some("/.well-known/openid-configuration") => json!({
                "issuer": ISSUER, "authorization_endpoint": at("/authorize"),
                "token_endpoint": at("/token"), "jwks_uri": at("/keys"),
            }),
            Some("/keys") => {
                json!({"keys": [Jwk::from_encoding_key(&self.key, Algorithm::ES256).unwrap()]})
            }
            Some("/token") => {
                let claims = self.person.lock().unwrap().clone();
                let header = Header::new(Algorithm::ES256);
                json!({"id_token": jsonwebtoken::encode(&header, &claims, &self.key).unwrap()})
            }
            other => return Err(ProviderUnreachable(format!("{other:?} is not there"))),
        };
        Ok(ProviderAnswer { status: 200, body: body.to_string().into_bytes() })
    }
}

/// A house with single sign-on.
struct SignOnHouse {
    house: House,
    provider: Arc<FakeProvider>,
}

impl SignOnHouse {
    fn new(more: &Value) -> Self {
        let mut settings = json!({
            "name": "Example Ltd", "issuer": ISSUER, "client_id": "tidegate",
            "public_url": "http://127.0.0.1:9053",
            "roles": {"operator": ["staff"], "administrator": ["root"]},
        });
        settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let settings: SignOnSettings = serde_json::from_value(settings).unwrap();
        let settings = Settings { single_sign_on: Some(settings), ..Settings::default() };
        let provider = FakeProvider::new();
        Self { house: House::with_provider(&settings, Some(Arc::clone(&provider) as _)), provider }
    }

    async fn browse(&self, path: &str, cookie: &str) -> Answer {
        let fields =
            [("cookie", cookie), ("sec-fetch-site", "cross-site"), ("user-agent", "Browser")];
        self.house.ask("GET", path, &fields, "").await
    }

    /// Begins, and has the provider say this of the person; the path to come back to, and the
    /// cookie.
    async fn begin(&self, person: Value) -> (String, String) {
        let start = self.browse("/login/oidc", "").await;
        assert_eq!(start.status, StatusCode::SEE_OTHER);
        let url = Url::parse(start.header(LOCATION)).unwrap();
        let word = |name: &str| url.query_pairs().find(|it| it.0 == name).unwrap().1.into_owned();
        assert_eq!(word("redirect_uri"), "http://127.0.0.1:9053/login/oidc/callback");
        let now_s = transport::clock::now().unix_secs();
        let mut claims = json!({
            "iss": ISSUER, "sub": "1", "aud": "tidegate", "nonce": word("nonce"), "iat": now_s,
            "exp": now_s + 300, "preferred_username": "Anna", "groups": ["staff"],
        });
        let Value::Object(person) = person else { panic!("{person}") };
        claims.as_object_mut().unwrap().extend(person);
        *self.provider.person.lock().unwrap() = claims;
        (format!("/login/oidc/callback?code=c&state={}", word("state")), start.cookie())
    }

    async fn sign_on(&self, person: Value) -> Answer {
        let (back, cookie) = self.begin(person).await;
        self.browse(&back, &cookie).await
    }

    async fn audit(&self) -> Vec<(String, String, String, u16)> {
        let page: AuditTable = self.house.get("/api/audit").await.json();
        let told = page.entries.into_iter().map(|it| (it.who, it.kind, it.action, it.status));
        told.collect()
    }

    /// Why the last deed was not done.
    async fn why(&self) -> String {
        let page: AuditTable = self.house.get("/api/audit?limit=1").await.json();
        page.entries[0].error.clone().unwrap_or_default()
    }
}

fn line(who: &str, kind: &str, action: &str, status: u16) -> (String, String, String, u16) {
    (who.into(), kind.into(), action.into(), status)
}

fn assert_failed(answer: &Answer) {
    assert_eq!((answer.status, answer.header(LOCATION)), (StatusCode::SEE_OTHER, FAILED));
    let cookie = answer.header(SET_COOKIE);
    assert!(cookie.starts_with("tidegate_sign_on=;") && cookie.contains("Max-Age=0"), "{cookie}");
    assert!(answer.headers.get_all(SET_COOKIE).iter().count() == 1, "no session");
}

#[tokio::test]
async fn a_person_comes_back_with_a_session_and_the_role_of_the_group() {
    let house = SignOnHouse::new(&json!({}));
    let offer: Value = house.house.ask("GET", "/api/sign-in", &[], "").await.json();
    let expected = json!({"name": "Example Ltd", "path": "/login/oidc"});
    assert_eq!(offer, json!({"users": false, "single_sign_on": expected}));
    let start = house.browse("/login/oidc", "").await;
    let cookie = start.header(SET_COOKIE);
    for part in ["tidegate_sign_on=", "HttpOnly", "SameSite=Lax", "Max-Age=600", "Path=/;"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    let back = house.sign_on(json!({})).await;
    assert_eq!(back.status, StatusCode::OK);
    let page = String::from_utf8_lossy(&back.body).into_owned();
    assert!(page.contains(r#"content="0;url=/""#), "goes on from a page of ours: {page}");
    let session = back.header(SET_COOKIE);
    assert!(session.contains("SameSite=Strict") && session.contains("Max-Age=43200"), "{session}");
    let session = back.cookie();
    let own = [("cookie", session.as_str()), ("sec-fetch-site", "same-origin")];
    let me: CallerInfo = house.house.ask("GET", "/api/me", &own, "").await.json();
    assert_eq!((me.name.as_str(), me.role.as_str(), me.has_password), ("anna", "operator", false));
    let sessions: SessionTable = house.house.get("/api/sessions").await.json();
    let hour = |text: &str| text[11..13].parse::<u32>().unwrap();
    let own_session = &sessions.sessions[0];
    assert_eq!((hour(&own_session.began) + 12) % 24, hour(&own_session.until), "half a day");
    let users: UserTable = house.house.get("/api/users").await.json();
    let anna = &users.users[0];
    assert!(anna.single_sign_on && anna.last_seen.is_some() && !anna.totp);
    let deed = "GET /login/oidc/callback";
    assert_eq!(house.audit().await, [line("anna", "user", deed, 204)]);
    // Another group at the next sign-in is another role, of the session that is open too.
    assert_eq!(house.sign_on(json!({"groups": ["root"]})).await.status, StatusCode::OK);
    let me: CallerInfo = house.house.ask("GET", "/api/me", &own, "").await.json();
    assert_eq!(me.role, "administrator");
    // The last sign-in stays when all sessions have ended.
    let body = r#"{"user": "anna"}"#;
    let ended = house.house.post("/api/sessions/end", body).await;
    assert_eq!(ended.status, StatusCode::NO_CONTENT);
    let users: UserTable = house.house.get("/api/users").await.json();
    assert!(users.users[0].sessions == 0 && users.users[0].last_seen.is_some());
}

#[tokio::test]
async fn a_state_of_another_browser_and_a_replayed_one_open_nothing() {
    let house = SignOnHouse::new(&json!({}));
    let (theirs, _) = house.begin(json!({"sub": "2", "preferred_username": "eve"})).await;
    let (_, own_cookie) = house.begin(json!({})).await;
    // Somebody is led to the address at which another's sign-in would end (login CSRF).
    assert_failed(&house.browse(&theirs, &own_cookie).await);
    assert!(house.why().await.contains("another browser"));
    let (back, cookie) = house.begin(json!({})).await;
    assert_failed(&house.browse(&back, "").await);
    assert_failed(&house.browse(&back, &cookie).await);
    let (back, cookie) = house.begin(json!({})).await;
    assert_eq!(house.browse(&back, &cookie).await.status, StatusCode::OK);
    assert_failed(&house.browse(&back, &cookie).await);
    assert!(house.why().await.contains("used already"));
    let denied = back.replace("code=c", "error=access_denied");
    assert_failed(&house.browse(&denied, &cookie).await);
}

#[tokio::test]
async fn who_has_no_role_is_not_let_in_and_keeps_neither_session_nor_token() {
    let house = SignOnHouse::new(&json!({}));
    let session = house.sign_on(json!({})).await.cookie();
    let own = [("cookie", session.as_str()), ("sec-fetch-site", "same-origin")];
    assert_eq!(house.house.ask("GET", "/api/me", &own, "").await.status, StatusCode::OK);
    let order = json!({"name": "script", "scope": "viewer"}).to_string();
    let json_own = [own[0], own[1], ("content-type", "application/json")];
    let made = house.house.ask("POST", "/api/tokens", &json_own, &order).await;
    assert!(made.status.is_success(), "{}", String::from_utf8_lossy(&made.body));
    let made: serde_json::Value = made.json();
    let bearer = format!("Bearer {}", made["token"].as_str().unwrap());
    let by_token = [("authorization", bearer.as_str())];
    assert_eq!(house.house.ask("GET", "/api/status", &by_token, "").await.status, StatusCode::OK);
    assert_failed(&house.sign_on(json!({"groups": []})).await);
    assert_eq!(house.house.ask("GET", "/api/me", &own, "").await.status, 401);
    assert_eq!(house.house.ask("GET", "/api/status", &by_token, "").await.status, 401);
    assert_eq!(house.audit().await[0], line("Anna", "nobody", "GET /login/oidc/callback", 403));
    assert!(house.why().await.contains("no role"));
    assert_failed(&house.sign_on(json!({"sub": "2", "groups": ["Staff"]})).await);
    let users: UserTable = house.house.get("/api/users").await.json();
    assert_eq!(users.users.len(), 1, "nobody is made who is not let in");
    let open = SignOnHouse::new(&json!({"role": "viewer", "roles": {}}));
    assert_eq!(open.sign_on(json!({"groups": ["root"]})).await.status, StatusCode::OK);
    let users: UserTable = open.house.get("/api/users").await.json();
    assert_eq!(users.users[0].role, "viewer");
}

#[tokio::test]
async fn a_name_that_somebody_has_is_not_taken_over() {
    let house = SignOnHouse::new(&json!({}));
    let local = json!({"name": "anna", "role": "administrator", "password": "correct horse"});
    house.house.post("/api/users", &local.to_string()).await;
    assert_failed(&house.sign_on(json!({})).await);
    assert!(house.why().await.contains("another user of this name"));
    // Nor is the name of another person of the provider, nor that of the token.
    let other = json!({"preferred_username": "bob"});
    assert_eq!(house.sign_on(other.clone()).await.status, StatusCode::OK);
    let twin = json!({"sub": "2", "preferred_username": "BOB"});
    assert_failed(&house.sign_on(twin).await);
    let token = json!({"sub": "3", "preferred_username": "Admin.Token"});
    assert_eq!(house.sign_on(token).await.status, StatusCode::OK);
    let unfit = json!({"sub": "4", "preferred_username": "a b", "email": "carl@x.example"});
    assert_eq!(house.sign_on(unfit).await.status, StatusCode::OK);
    let users: UserTable = house.house.get("/api/users").await.json();
    let names: Vec<_> = users.users.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["anna", "bob", "3", "carl@x.example"]);
    // Who was removed and signs on again is made again.
    house.house.post("/api/users/remove", r#"{"name": "bob"}"#).await;
    assert_eq!(house.sign_on(other).await.status, StatusCode::OK);
}

#[tokio::test]
async fn nobody_is_led_elsewhere_and_the_log_is_not_flooded() {
    let house = SignOnHouse::new(&json!({"public_url": "https://tide.example"}));
    for path in ["/login/oidc?next=https://evil.example", "/login/oidc?redirect_uri=//evil"] {
        let start = house.browse(path, "").await;
        assert_eq!(start.header(LOCATION), "https://tide.example/login/oidc?again=1");
    }
    let public = [("host", "TIDE.example:80"), ("cookie", "")];
    let secured = house.house.ask("GET", "/login/oidc", &public, "").await;
    assert_eq!(secured.header(LOCATION), "https://tide.example/login/oidc?again=1");
    let plain = SignOnHouse::new(&json!({"public_url": "http://tide.example/"}));
    for path in ["/login/oidc?next=https://evil.example", "/login/oidc?again=1"] {
        let start = plain.house.ask("GET", path, &public, "").await;
        let location = start.header(LOCATION);
        assert!(location.starts_with("https://sso.example/authorize?"), "{location}");
        assert!(!location.contains("evil"), "{location}");
    }
    let again = house.browse("/login/oidc?again=1", "").await;
    assert!(again.header(LOCATION).starts_with(ISSUER), "no circle behind what renames the host");
    for number in 0..20 {
        let path = format!("/login/oidc/callback?state={number}&code=x&next=//evil.example");
        assert_failed(&house.browse(&path, "").await);
    }
    assert_eq!(house.audit().await.len(), 10);
}
