//! Single sign-on with a provider of its own over loopback, honest and not.

use serde_json::{Value, json};
use std::fs;
use tidegate_tests::Scratch;
use tidegate_tests::clients::{curl, curl_with_head};
use tidegate_tests::sign_on_provider::{IllWill, SignOnProvider};
use tidegate_tests::tidegate::{Tidegate, refused};

const SECRET: &str = "hush-hush-hush";

fn start(provider: &SignOnProvider) -> Tidegate {
    let yaml = format!(
        "admin:\n  listen: \"127.0.0.1:0\"\n  single_sign_on:\n    name: Example Ltd\n    issuer: \
         \"{}\"\n    client_id: tidegate\n    client_secret: {SECRET}\n    \
         public_url: http://localhost\n    roles: {{ operator: [staff], administrator: [root] }}\n",
        provider.issuer()
    );
    Tidegate::start(&yaml)
}

/// A browser with cookies of its own.
struct Browser<'t> {
    edge: &'t Tidegate,
    jar: String,
}

impl<'t> Browser<'t> {
    fn new(edge: &'t Tidegate, name: &str) -> Self {
        Self { edge, jar: edge.scratch.path().join(name).display().to_string() }
    }

    fn base(&self) -> String {
        format!("http://{}", self.edge.address("admin", "http"))
    }

    fn get(&self, url: &str) -> (u16, String) {
        curl_with_head(&["-b", &self.jar, "-c", &self.jar, url])
    }

    /// To the provider and back: the address at which a sign-in ends.
    fn come_back(&self) -> String {
        let (status, head) = self.get(&format!("{}/login/oidc?again=1", self.base()));
        assert_eq!(status, 303, "{head}");
        let (status, head) = self.get(&location(&head));
        assert_eq!(status, 302, "{head}");
        location(&head).replace("http://localhost", &self.base())
    }

    fn is_signed_on(&self) -> bool {
        curl(&["-b", &self.jar, &format!("{}/api/me", self.base())]).0 == 200
    }
}

fn location(head: &str) -> String {
    let line = head.lines().find_map(|line| line.strip_prefix("location: "));
    line.unwrap_or_else(|| panic!("no location: {head}")).trim().to_owned()
}

fn assert_failed((status, head): &(u16, String)) {
    assert_eq!((*status, location(head).as_str()), (303, "/#sign-on-failed"), "{head}");
    assert!(!head.contains("tidegate_session="), "{head}");
}

/// The audit log: who, what, why not.
fn audit(edge: &Tidegate) -> Vec<Value> {
    let token = fs::read_to_string(edge.state().join("admin.token")).unwrap();
    let bearer = format!("Authorization: Bearer {}", token.trim());
    let url = format!("http://{}/api/audit", edge.address("admin", "http"));
    let (_, text) = curl(&["-H", &bearer, &url]);
    let page: Value = serde_json::from_str(&text).unwrap();
    page["entries"].as_array().unwrap().clone()
}

#[test]
fn people_sign_on_with_the_provider_and_their_groups_say_what_they_may() {
    let provider = SignOnProvider::start();
    let edge = start(&provider);
    let anna = Browser::new(&edge, "anna");
    let (status, head) = anna.get(&format!("{}/login/oidc", anna.base()));
    assert_eq!((status, location(&head).as_str()), (303, "http://localhost/login/oidc?again=1"));
    assert_eq!(provider.asked(), [""; 0], "nobody is asked before somebody signs in");
    let (status, page) = anna.get(&anna.come_back());
    assert!(
        status == 200 && page.contains("SameSite=Strict") && page.contains("0;url=/"),
        "{page}"
    );
    let (_, me) = curl(&["-b", &anna.jar, &format!("{}/api/me", anna.base())]);
    let me: Value = serde_json::from_str(&me).unwrap();
    assert_eq!((&me["name"], &me["role"]), (&json!("anna"), &json!("operator")));
    let told = &audit(&edge)[0];
    assert_eq!((&told["who"], &told["kind"]), (&json!("anna"), &json!("user")));
    assert_eq!(told["action"], "GET /login/oidc/callback");
    // The session and the user outlive kill -9, and the secret is shown and written nowhere.
    let (jar, yaml) = (anna.jar.clone(), fs::read_to_string(&edge.config).unwrap());
    let shown = edge.told(&["ctl", "config"]);
    assert!(shown.contains("client_secret: …") && !shown.contains(SECRET), "{shown}");
    let (_, scratch) = edge.stop_by("KILL");
    for name in ["admin.users", "admin.audit", "admin.sessions"] {
        assert!(
            !fs::read_to_string(scratch.path().join("state").join(name)).unwrap().contains(SECRET)
        );
    }
    let edge = Tidegate::start_in(scratch, &yaml);
    assert!(Browser { edge: &edge, jar }.is_signed_on());
}

#[test]
fn what_a_browser_brings_from_elsewhere_signs_nobody_on() {
    let provider = SignOnProvider::start();
    let edge = start(&provider);
    let (anna, eve) = (Browser::new(&edge, "anna"), Browser::new(&edge, "eve"));
    // Eve's sign-in ends in Anna's browser, then what Anna brought is replayed.
    let theirs = eve.come_back();
    let own = anna.come_back();
    assert_failed(&anna.get(&theirs));
    let own_again = anna.come_back();
    assert_failed(&anna.get(&own_again.replace(&provider.issuer(), "https://evil.example")));
    assert_failed(&anna.get(&own));
    let right = anna.come_back();
    assert_eq!(anna.get(&right).0, 200);
    assert_failed(&eve.get(&right));
    assert!(!eve.is_signed_on());
    for claims in [
        json!({"sub": "2", "groups": ["staff"], "preferred_username": "eve", "nonce": "other"}),
        json!({"sub": "2", "groups": ["staff"], "preferred_username": "eve", "exp": 1}),
        json!({"sub": "2", "groups": ["staff"], "preferred_username": "eve", "aud": "other"}),
        json!({"sub": "2", "groups": [], "preferred_username": "eve"}),
        json!({"sub": "2", "groups": ["root"], "preferred_username": "anna"}),
    ] {
        provider.person(claims);
        assert_failed(&eve.get(&eve.come_back()));
        assert!(!eve.is_signed_on());
    }
    let why: Vec<_> = audit(&edge).iter().map(|it| it["error"].to_string()).collect();
    for part in [
        "another browser",
        "not from the issuer",
        "used already",
        "another sign-in",
        "has expired",
        "another client",
        "no role",
        "another user of this name",
    ] {
        assert!(why.iter().any(|it| it.contains(part)), "{part}: {why:#?}");
    }
}

#[test]
fn a_provider_that_is_slow_endless_or_leads_elsewhere_keeps_nobody_waiting() {
    let provider = SignOnProvider::start();
    let edge = start(&provider);
    let anna = Browser::new(&edge, "anna");
    for (ill_will, part) in [
        (IllWill::Silent, "in time"),
        (IllWill::Endless, "longer than"),
        (IllWill::Redirects, "redirects"),
    ] {
        let back = anna.come_back();
        provider.turn("/token", Some(ill_will));
        let begun = std::time::Instant::now();
        assert_failed(&anna.get(&back));
        assert!(begun.elapsed().as_secs() < 18, "{:?}", begun.elapsed());
        let why = audit(&edge)[0]["error"].to_string();
        assert!(why.contains(part), "{ill_will:?}: {why}");
        provider.turn("/token", None);
    }
    assert!(!provider.asked().iter().any(|path| path == "/elsewhere"));
    assert_eq!(anna.get(&anna.come_back()).0, 200);
}

#[test]
fn settings_that_cannot_work_are_told_with_their_place() {
    let scratch = Scratch::new();
    let right =
        "issuer: \"https://sso.example\", client_id: t, public_url: \"https://tide.example\"";
    for (more, told) in [
        ("", "admin.single_sign_on.roles: nobody would be let in"),
        (", role: root", "role"),
        (", role: viewer, ca: none.pem", "admin.single_sign_on.ca: "),
        (", role: viewer, scopes: [profile]", "admin.single_sign_on.scopes"),
    ] {
        let yaml =
            format!("admin:\n  listen: \"127.0.0.1:0\"\n  single_sign_on: {{ {right}{more} }}\n");
        let (said, code) = refused(&yaml, &scratch, &scratch.path().join("state"));
        assert!(code != 0 && said.contains(told), "{more}: {said}");
    }
}
