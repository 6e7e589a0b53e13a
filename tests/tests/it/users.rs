//! Users of the admin from outside: what outlives kill -9, HTTPS with a certificate of our own, and
//! what is in the state folder.

use std::fs;
use tidegate_tests::Scratch;
use tidegate_tests::clients::{curl, curl_with_head};
use tidegate_tests::tidegate::{Tidegate, refused};

const YAML: &str = r#"
admin:
  listen: "127.0.0.1:0"
  https: { listen: "127.0.0.1:0", names: [tide.home] }
"#;
const JSON: &str = "Content-Type: application/json";
const PASSWORD: &str = "correct horse";

fn add_user(edge: &Tidegate, name: &str, role: &str) {
    let token = fs::read_to_string(edge.state().join("admin.token")).unwrap();
    let bearer = format!("Authorization: Bearer {}", token.trim());
    let url = format!("http://{}/api/users", edge.address("admin", "http"));
    let body = format!(r#"{{"name": "{name}", "role": "{role}", "password": "{PASSWORD}"}}"#);
    assert_eq!(curl(&["-H", &bearer, "-H", JSON, "-d", &body, &url]).0, 204);
}

#[test]
fn users_tokens_and_what_they_did_outlive_kill_nine() {
    let edge = Tidegate::start(YAML);
    add_user(&edge, "anna", "administrator");
    let base = format!("http://{}", edge.address("admin", "http"));
    let jar = edge.scratch.path().join("cookies").display().to_string();
    let login = format!(r#"{{"user": "anna", "password": "{PASSWORD}"}}"#);
    assert_eq!(curl(&["-c", &jar, "-H", JSON, "-d", &login, &format!("{base}/login")]).0, 204);
    let own_page = format!("Origin: {base}");
    let order = r#"{"name": "script", "scope": "operator"}"#;
    let url = format!("{base}/api/tokens");
    let (status, made) = curl(&["-b", &jar, "-H", &own_page, "-H", JSON, "-d", order, &url]);
    assert_eq!(status, 200, "{made}");
    let made: serde_json::Value = serde_json::from_str(&made).unwrap();
    let token = made["token"].as_str().unwrap();
    let (_, scratch) = edge.stop_by("KILL");
    for name in ["admin.users", "admin.tokens", "admin.audit", "admin.sessions"] {
        let text = fs::read_to_string(scratch.path().join("state").join(name)).unwrap();
        assert!(!text.contains(PASSWORD) && !text.contains(token), "{name}: {text}");
    }
    let edge = Tidegate::start_in(scratch, YAML);
    let base = format!("http://{}", edge.address("admin", "http"));
    let (status, me) = curl(&["-b", &jar, &format!("{base}/api/me")]);
    assert!(status == 200 && me.contains(r#""name":"anna""#), "{me}");
    let bearer = format!("Authorization: Bearer {token}");
    let pause = ["-H", &bearer, "-H", JSON, "-d", r#"{"seconds": 60}"#];
    assert_eq!(curl(&[&pause[..], &[&format!("{base}/api/pause")]].concat()).0, 200);
    let set = ["-H", &bearer, "-H", JSON, "-d", r#"{"changes": []}"#];
    let (status, told) = curl(&[&set[..], &[&format!("{base}/api/config")]].concat());
    assert!(status == 403 && told.contains("administrator"), "{told}");
    let (_, audit) = curl(&["-b", &jar, &format!("{base}/api/audit")]);
    let audit: serde_json::Value = serde_json::from_str(&audit).unwrap();
    let told: Vec<_> = audit["entries"].as_array().unwrap().iter().collect();
    let told: Vec<_> = told.iter().map(|it| format!("{} {}", it["who"], it["action"])).collect();
    assert_eq!(
        told,
        [
            r#""script" "POST /api/config""#,
            r#""script" "POST /api/pause""#,
            r#""anna" "POST /api/tokens""#,
            r#""anna" "POST /login""#,
            r#""admin.token" "POST /api/users""#,
        ]
    );
}

#[test]
fn over_https_the_own_authority_vouches_and_the_cookie_stays_there() {
    let edge = Tidegate::start(YAML);
    add_user(&edge, "anna", "viewer");
    let secured = edge.address("admin", "https");
    let ca = edge.state().join("ca/ca.pem").display().to_string();
    let login = format!(r#"{{"user": "anna", "password": "{PASSWORD}"}}"#);
    let jar = edge.scratch.path().join("cookies").display().to_string();
    let resolve = format!("tide.home:{}:127.0.0.1", secured.port());
    for base in [format!("https://{secured}"), format!("https://tide.home:{}", secured.port())] {
        let trust = ["--cacert", &ca, "--resolve", &resolve];
        let post = ["-c", &jar, "-H", JSON, "-d", &login];
        let url = format!("{base}/login");
        let (status, head) = curl_with_head(&[&trust[..], &post, &[&url]].concat());
        assert_eq!(status, 204, "{head}");
        assert!(head.contains("set-cookie: __Host-tidegate_session=") && head.contains("; Secure"));
        let me = format!("{base}/api/me");
        assert_eq!(curl(&[&trust[..], &["-b", &jar, &me]].concat()).0, 200);
        // A page of another listener of the same host is another page.
        let plain = format!("Origin: {}", base.replace("https://", "http://"));
        let refused = [&trust[..], &["-H", &plain], &post, &[&url]].concat();
        assert_eq!(curl(&refused).0, 403);
    }
    // A cookie that was planted over plain HTTP signs nobody in here.
    let jar = fs::read_to_string(&jar).unwrap();
    let id = jar.lines().last().unwrap().split('\t').next_back().unwrap();
    let planted = format!("Cookie: tidegate_session={id}");
    let me = format!("https://{secured}/api/me");
    assert_eq!(curl(&["--cacert", &ca, "-H", &planted, &me]).0, 401);
    assert_eq!(curl(&["-H", &planted, &me]).0, 0, "nobody else vouches for it");
    assert!(edge.told(&["ctl", "status"]).contains("https://"));
}

#[test]
fn a_certificate_that_cannot_be_had_is_told_with_its_place() {
    let scratch = Scratch::new();
    for (yaml, told) in [
        ("listen: \"127.0.0.1:9443\", certificate: none.pem, key: none.key", "none.pem"),
        ("listen: \"127.0.0.1:9443\", certificate: none.pem", "set admin.https.key"),
        ("listen: \"127.0.0.1:9443\", names: [com]", "admin.https.names.0"),
        ("names: [tide.home]", "listen"),
    ] {
        let yaml = format!("admin:\n  listen: \"127.0.0.1:9053\"\n  https: {{ {yaml} }}\n");
        let (said, code) = refused(&yaml, &scratch, &scratch.path().join("state"));
        assert!(code != 0 && said.contains(told), "{yaml}: {said}");
    }
    let taken = "admin: { listen: \"127.0.0.1:9053\", https: { listen: \"127.0.0.1:9053\" } }\n";
    let (said, code) = refused(taken, &scratch, &scratch.path().join("state"));
    assert!(code != 0 && said.contains("admin.https.listen"), "{said}");
}
