//! Users, roles, sessions, tokens and the audit log, asked as browsers and programs ask.

use super::house::{Answer, House};
use admin_api::{AuditTable, CallerInfo, SessionTable, TokenTable, UserTable};
use http::StatusCode;
use serde_json::{Value, json};

const PASSWORD: &str = "correct horse";
const JSON: (&str, &str) = ("content-type", "application/json");
const OWN_PAGE: (&str, &str) = ("sec-fetch-site", "same-origin");

/// A house with a user of each role: `vera`, `otto`, `anna`.
async fn house_with_users() -> House {
    let house = House::new();
    for (name, role) in [("vera", "viewer"), ("otto", "operator"), ("Anna", "administrator")] {
        let user = json!({"name": name, "role": role, "password": PASSWORD}).to_string();
        assert_eq!(house.post("/api/users", &user).await.status, StatusCode::NO_CONTENT);
    }
    house
}

async fn login(house: &House, body: Value) -> Answer {
    house.ask("POST", "/login", &[JSON], &body.to_string()).await
}

async fn session(house: &House, user: &str) -> String {
    let answer = login(house, json!({"user": user, "password": PASSWORD})).await;
    assert_eq!(answer.status, StatusCode::NO_CONTENT);
    answer.cookie()
}

async fn with(house: &House, cookie: &str, method: &str, path: &str, body: &str) -> Answer {
    house.ask(method, path, &[("cookie", cookie), JSON, OWN_PAGE], body).await
}

async fn bearer(house: &House, token: &str, method: &str, path: &str, body: &str) -> Answer {
    let value = format!("Bearer {token}");
    house.ask(method, path, &[("authorization", &value), JSON], body).await
}

#[tokio::test]
async fn a_role_opens_what_is_for_it_and_nothing_more() {
    let house = house_with_users().await;
    let [viewer, operator, administrator] = [
        session(&house, "vera").await,
        session(&house, "otto").await,
        session(&house, "ANNA").await,
    ];
    let description: Value = house.get("/api/openapi.json").await.json();
    for (path, methods) in description["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            if operation["security"][0] == json!({}) || path.contains('{') {
                continue;
            }
            let method = method.to_uppercase();
            let verb = method.parse().unwrap();
            let needed = crate::permissions::needed_role(&verb, path);
            for (role, cookie) in
                [(accounts::UserRole::Viewer, &viewer), (accounts::UserRole::Operator, &operator)]
            {
                let body = if path == "/api/reload" { "" } else { "[]" };
                let answer = with(&house, cookie, &method, path, body).await;
                let refused = answer.status == StatusCode::FORBIDDEN;
                assert_eq!(refused, role < needed, "{role}: {method} {path}: {}", answer.status);
            }
        }
    }
    for (cookie, role) in [(&viewer, "viewer"), (&operator, "operator")] {
        let me: CallerInfo = with(&house, cookie, "GET", "/api/me", "").await.json();
        assert_eq!((me.kind.as_str(), me.role.as_str(), me.totp), ("user", role, false));
        let refused = with(&house, cookie, "GET", "/api/users", "").await;
        assert_eq!(refused.status, StatusCode::FORBIDDEN);
        assert!(refused.problem().error.contains("administrator"));
    }
    let answer = with(&house, &viewer, "POST", "/api/pause", r#"{"seconds": 60}"#).await;
    assert_eq!(answer.status, StatusCode::FORBIDDEN);
    let answer = with(&house, &operator, "POST", "/api/pause", r#"{"seconds": 60}"#).await;
    assert_eq!(answer.status, StatusCode::OK);
    let users: UserTable = with(&house, &administrator, "GET", "/api/users", "").await.json();
    let seen: Vec<_> = users.users.iter().map(|it| (it.name.as_str(), it.sessions)).collect();
    assert_eq!(seen, [("vera", 1), ("otto", 1), ("anna", 1)]);
    let me: CallerInfo = house.get("/api/me").await.json();
    assert_eq!((me.name.as_str(), me.kind.as_str()), ("admin.token", "token"));
}

#[tokio::test]
async fn users_are_told_and_changed_by_name_and_bad_ones_refused() {
    let house = house_with_users().await;
    let offer: Value = house.ask("GET", "/api/sign-in", &[], "").await.json();
    assert_eq!(offer, json!({"users": true, "single_sign_on": null}));
    let post = async |path: &str, body: Value| house.post(path, &body.to_string()).await.status;
    let user = |name: &str| json!({"name": name, "role": "viewer", "password": PASSWORD});
    assert_eq!(post("/api/users", user("VERA")).await, StatusCode::CONFLICT);
    assert_eq!(post("/api/users", user("a:b")).await, StatusCode::BAD_REQUEST);
    let bad_role = json!({"name": "new", "role": "root", "password": PASSWORD});
    assert_eq!(post("/api/users", bad_role).await, StatusCode::BAD_REQUEST);
    let short = json!({"name": "new", "role": "viewer", "password": "123456789"});
    assert_eq!(post("/api/users", short).await, StatusCode::BAD_REQUEST);
    let nobody = json!({"name": "nobody", "role": "viewer"});
    assert_eq!(post("/api/users/change", nobody).await, StatusCode::NOT_FOUND);
    let vera = session(&house, "vera").await;
    let promoted = json!({"name": "Vera", "role": "operator"});
    assert_eq!(post("/api/users/change", promoted).await, StatusCode::NO_CONTENT);
    let ended = with(&house, &vera, "GET", "/api/me", "").await;
    assert_eq!(ended.status, StatusCode::UNAUTHORIZED, "another role ends the sessions");
    let vera = session(&house, "vera").await;
    let me: CallerInfo = with(&house, &vera, "GET", "/api/me", "").await.json();
    assert_eq!(me.role, "operator");
    assert_eq!(post("/api/users/remove", json!({"name": "Vera"})).await, StatusCode::NO_CONTENT);
    assert_eq!(with(&house, &vera, "GET", "/api/me", "").await.status, StatusCode::UNAUTHORIZED);
    let again = login(&house, json!({"user": "vera", "password": PASSWORD})).await;
    assert_eq!(again.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn passwords_are_guessed_ten_times_a_minute_and_the_token_still_passes() {
    let house = house_with_users().await;
    for _ in 0..10 {
        let wrong = login(&house, json!({"user": "anna", "password": "wrong"})).await;
        assert_eq!(wrong.status, StatusCode::UNAUTHORIZED);
    }
    let right = login(&house, json!({"user": "anna", "password": PASSWORD})).await;
    assert_eq!(right.status, StatusCode::TOO_MANY_REQUESTS);
    house.session().await;
    let foreign = [JSON, ("sec-fetch-site", "cross-site")];
    let body = json!({"user": "anna", "password": PASSWORD}).to_string();
    assert_eq!(house.ask("POST", "/login", &foreign, &body).await.status, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn right_passwords_are_no_guesses() {
    let house = house_with_users().await;
    for _ in 0..12 {
        session(&house, "anna").await;
    }
}

#[tokio::test]
async fn ones_own_password_is_changed_with_the_old_one_and_ends_other_sessions() {
    let house = house_with_users().await;
    let (here, there) = (session(&house, "vera").await, session(&house, "vera").await);
    let change = |old: &str, new: &str| json!({"password": old, "new_password": new}).to_string();
    let path = "/api/me/password";
    let wrong = with(&house, &here, "POST", path, &change("wrong", "another horse")).await;
    assert_eq!(wrong.status, StatusCode::FORBIDDEN);
    let short = with(&house, &here, "POST", path, &change(PASSWORD, "short")).await;
    assert_eq!(short.status, StatusCode::BAD_REQUEST);
    let done = with(&house, &here, "POST", path, &change(PASSWORD, "another horse")).await;
    assert_eq!(done.status, StatusCode::NO_CONTENT);
    assert_eq!(with(&house, &here, "GET", "/api/me", "").await.status, StatusCode::OK);
    let other = with(&house, &there, "GET", "/api/me", "").await;
    assert_eq!(other.status, StatusCode::UNAUTHORIZED);
    let old = login(&house, json!({"user": "vera", "password": PASSWORD})).await;
    assert_eq!(old.status, StatusCode::UNAUTHORIZED);
    let none = house.post(path, &change("a", "b")).await;
    assert_eq!(none.status, StatusCode::CONFLICT, "the token of the state folder is no user");
}

#[tokio::test]
async fn two_step_sign_in_asks_for_a_code_after_the_password() {
    let house = house_with_users().await;
    let cookie = session(&house, "vera").await;
    let once_more = json!({"password": PASSWORD}).to_string();
    let offer: Value = with(&house, &cookie, "POST", "/api/me/totp", &once_more).await.json();
    assert!(offer["qr_svg"].as_str().unwrap().starts_with("<svg"));
    let wrong = with(&house, &cookie, "POST", "/api/me/totp/confirm", r#"{"code": "12"}"#).await;
    assert_eq!(wrong.status, StatusCode::FORBIDDEN);
    let secret = totp_rs::Secret::try_from_base32(offer["secret"].as_str().unwrap()).unwrap();
    let totp = totp_rs::Builder::new().with_secret(secret).build().unwrap();
    let now_s = transport::clock::now().unix_ms / 1000;
    let code = json!({"code": totp.generate(now_s).to_string()}).to_string();
    let confirmed = with(&house, &cookie, "POST", "/api/me/totp/confirm", &code).await;
    let codes: Value = confirmed.json();
    let recovery = codes["recovery_codes"][0].as_str().unwrap();
    let missing = login(&house, json!({"user": "vera", "password": PASSWORD})).await;
    assert_eq!(missing.status, StatusCode::UNAUTHORIZED);
    assert_eq!(missing.problem().needs.as_deref(), Some("code"));
    let guess = login(&house, json!({"user": "vera", "password": "wrong", "code": recovery})).await;
    assert_eq!(guess.problem().needs, None, "who does not know the password learns nothing");
    let used =
        json!({"user": "vera", "password": PASSWORD, "code": totp.generate(now_s).to_string()});
    assert_eq!(login(&house, used).await.problem().needs.as_deref(), Some("code"));
    let right = json!({"user": "vera", "password": PASSWORD, "code": recovery});
    assert_eq!(login(&house, right.clone()).await.status, StatusCode::NO_CONTENT);
    assert_eq!(login(&house, right).await.status, StatusCode::UNAUTHORIZED, "it holds once");
    let off = with(&house, &cookie, "POST", "/api/me/totp/remove", &once_more).await;
    assert_eq!(off.status, StatusCode::NO_CONTENT);
    session(&house, "vera").await;
}

#[tokio::test]
async fn sessions_are_seen_and_ended_by_their_user_and_by_administrators() {
    let house = house_with_users().await;
    let (vera, anna) = (session(&house, "vera").await, session(&house, "anna").await);
    let list = async |cookie: &str| -> SessionTable {
        with(&house, cookie, "GET", "/api/sessions", "").await.json()
    };
    assert_eq!(list(&vera).await.sessions.len(), 1);
    let all = list(&anna).await.sessions;
    assert_eq!(all.len(), 2);
    let of = |user: &str| all.iter().find(|it| it.user.as_deref() == Some(user)).unwrap();
    assert!(of("anna").own && !of("vera").own);
    let end = |id: &str| json!({"id": id}).to_string();
    let path = "/api/sessions/end";
    let foreign = with(&house, &vera, "POST", path, &end(&of("anna").id)).await;
    assert_eq!(foreign.status, StatusCode::NOT_FOUND);
    let others = with(&house, &vera, "POST", path, r#"{"user": "anna"}"#).await;
    assert_eq!(others.status, StatusCode::FORBIDDEN);
    let done = with(&house, &anna, "POST", path, &end(&of("vera").id)).await;
    assert_eq!(done.status, StatusCode::NO_CONTENT);
    assert_eq!(with(&house, &vera, "GET", "/api/me", "").await.status, StatusCode::UNAUTHORIZED);
    let stolen = format!("tidegate_session={}", of("anna").id);
    let with_id = with(&house, &stolen, "GET", "/api/me", "").await;
    assert_eq!(with_id.status, StatusCode::UNAUTHORIZED, "its name in the API is no credential");
}

#[tokio::test]
async fn a_token_does_what_its_scope_and_its_user_may() {
    let house = house_with_users().await;
    let otto = session(&house, "otto").await;
    let order = |scope: &str| json!({"name": "script", "scope": scope}).to_string();
    let above = with(&house, &otto, "POST", "/api/tokens", &order("administrator")).await;
    assert_eq!(above.status, StatusCode::FORBIDDEN);
    let made: Value = with(&house, &otto, "POST", "/api/tokens", &order("operator")).await.json();
    let token = made["token"].as_str().unwrap();
    let pause = r#"{"seconds": 60}"#;
    assert_eq!(bearer(&house, token, "POST", "/api/pause", pause).await.status, StatusCode::OK);
    let listed: TokenTable = with(&house, &otto, "GET", "/api/tokens", "").await.json();
    assert!(listed.tokens[0].last_used.is_some());
    let vera = session(&house, "vera").await;
    let seen: TokenTable = with(&house, &vera, "GET", "/api/tokens", "").await.json();
    assert!(seen.tokens.is_empty());
    let id = json!({"id": made["id"]}).to_string();
    let foreign = with(&house, &vera, "POST", "/api/tokens/remove", &id).await;
    assert_eq!(foreign.status, StatusCode::NOT_FOUND);
    let demoted = r#"{"name": "otto", "role": "viewer"}"#;
    house.post("/api/users/change", demoted).await;
    let refused = bearer(&house, token, "POST", "/api/pause", pause).await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN, "no more than its user may");
    house.post("/api/users/remove", r#"{"name": "otto"}"#).await;
    let gone = bearer(&house, token, "GET", "/api/status", "").await;
    assert_eq!(gone.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn a_metrics_token_opens_the_metrics_page_alone() {
    let house = House::new();
    let order = json!({"name": "prometheus", "scope": "metrics", "days": 3650}).to_string();
    let made: Value = house.post("/api/tokens", &order).await.json();
    let token = made["token"].as_str().unwrap();
    assert_eq!(bearer(&house, token, "GET", "/metrics", "").await.status, StatusCode::OK);
    let refused = bearer(&house, token, "GET", "/api/status", "").await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN);
    for days in [0, 3651] {
        let order = json!({"name": "x", "scope": "viewer", "days": days}).to_string();
        assert_eq!(house.post("/api/tokens", &order).await.status, StatusCode::BAD_REQUEST);
    }
}

#[tokio::test]
async fn the_audit_log_tells_who_asked_for_what_without_secrets() {
    let house = house_with_users().await;
    let vera = session(&house, "vera").await;
    with(&house, &vera, "POST", "/api/pause", r#"{"seconds": 60}"#).await;
    login(&house, json!({"user": "<b>x", "password": "hunter2hunter2"})).await;
    house.post("/api/pause", r#"{"seconds": 60}"#).await;
    with(&house, &vera, "GET", "/api/status", "").await;
    let answer = house.get("/api/audit?limit=4").await;
    assert!(!String::from_utf8_lossy(&answer.body).contains(PASSWORD));
    let page: AuditTable = answer.json();
    let told: Vec<_> = page
        .entries
        .iter()
        .map(|it| (it.who.as_str(), it.kind.as_str(), it.action.as_str(), it.status))
        .collect();
    assert_eq!(
        told,
        [
            ("admin.token", "token", "POST /api/pause", 200),
            ("<b>x", "nobody", "POST /login", 401),
            ("vera", "user", "POST /api/pause", 403),
            ("vera", "user", "POST /login", 204),
        ]
    );
    assert_eq!(page.entries[0].body, Some(json!({"seconds": 60})));
    assert!(page.entries[2].error.as_deref().unwrap().contains("operator"));
    let older = page.older.unwrap();
    let rest: AuditTable = house.get(&format!("/api/audit?before={older}")).await.json();
    assert_eq!(rest.entries.len(), 3);
    assert_eq!(rest.entries[2].body.as_ref().unwrap()["password"], "[redacted]");
    let found: AuditTable = house.get("/api/audit?filter=VERA").await.json();
    assert_eq!(found.entries.len(), 3);
    let refused = with(&house, &vera, "GET", "/api/audit", "").await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn a_refused_form_of_the_block_page_is_told_under_the_callers_name() {
    let house = house_with_users().await;
    let fields = "host=ads.example&client=&back=&once=x&act=always";
    for (user, error) in [("vera", "operator"), ("otto", "sent already")] {
        let cookie = session(&house, user).await;
        let form = [
            ("cookie", cookie.as_str()),
            ("content-type", "application/x-www-form-urlencoded"),
            OWN_PAGE,
        ];
        assert_eq!(house.ask("POST", "/allow", &form, fields).await.status, StatusCode::FORBIDDEN);
        let page: AuditTable = house.get("/api/audit?limit=1").await.json();
        let told = &page.entries[0];
        assert_eq!((told.who.as_str(), told.kind.as_str(), told.status), (user, "user", 403));
        assert_eq!((told.action.as_str(), told.role.is_some()), ("POST /allow", true));
        assert!(told.error.as_deref().unwrap().contains(error), "{told:?}");
    }
}

#[tokio::test]
async fn a_flood_of_failures_pushes_nothing_out_of_the_audit_log() {
    let house = House::new();
    house.post("/api/pause", r#"{"seconds": 60}"#).await;
    let picture = [("sec-fetch-site", "cross-site"), ("sec-fetch-dest", "image")];
    for number in 0..30 {
        login(&house, json!({"user": "anna", "password": "wrong"})).await;
        house.ask("GET", &format!("/?token=x{number}"), &picture, "").await;
    }
    let page: AuditTable = house.get("/api/audit?limit=500").await.json();
    assert_eq!(page.entries.len(), 11);
    assert_eq!(page.entries[10].action, "POST /api/pause");
}

#[tokio::test]
async fn refused_changes_of_a_viewer_push_nothing_out_of_the_audit_log() {
    let house = house_with_users().await;
    let vera = session(&house, "vera").await;
    house.post("/api/pause", r#"{"seconds": 60}"#).await;
    for _ in 0..30 {
        let refused = with(&house, &vera, "POST", "/api/pause", r#"{"seconds": 60}"#).await;
        assert_eq!(refused.status, StatusCode::FORBIDDEN);
    }
    let page: AuditTable = house.get("/api/audit?limit=500").await.json();
    let refused = page.entries.iter().filter(|it| it.who == "vera" && it.status == 403);
    assert_eq!(refused.count(), 10);
}
