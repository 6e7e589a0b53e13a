//! Who may use the proxy, and what a user's own rules do.

use crate::support::{Given, Origin, ask, curl, ok, proxy, start};
use door_proxy::{AuthSettings, Settings};

fn with_users(settings: &mut Settings) {
    // SHA-256 of "t0ken-of-the-phone".
    let digest = "sha256:2638ba571a3e07e5c0d28923c8ac1548df0e128eeb53d61b752a0307cca32e6d";
    settings.auth = Some(AuthSettings {
        users: [("ann".into(), bcrypt::hash("secret", 4).unwrap())].into(),
        tokens: [("phone".into(), settings::Text(digest.parse().unwrap()))].into(),
        ..AuthSettings::default()
    });
}

#[test]
fn who_says_nothing_or_lies_is_asked_and_reaches_nobody() {
    let origin = Origin::start(|_, _, _| ok("x"));
    let proxy = proxy("", with_users);
    for request in
        [format!("GET http://{}/", origin.address), format!("CONNECT {}", origin.address)]
    {
        for field in
            ["", "Proxy-Authorization: Basic YW5uOndyb25n\r\n", "Proxy-Authorization: x\r\n"]
        {
            let answer = ask(proxy, &format!("{request} HTTP/1.1\r\nHost: a\r\n{field}\r\n"));
            assert!(answer.starts_with("HTTP/1.1 407"), "{request} {field}: {answer}");
            assert!(answer.contains("proxy-authenticate: Basic realm=\"Tidegate\""), "{answer}");
            assert!(answer.contains("proxy-authenticate: Bearer"), "{answer}");
        }
    }
    assert_eq!(origin.connections(), 0);
}

#[test]
fn curl_is_let_in_by_password_or_token_and_shows_it_to_no_origin() {
    let origin = Origin::start(|_, _, _| ok("in"));
    let proxy = proxy("", with_users);
    let url = format!("http://{}/", origin.address);
    for who in ["ann:secret", "t0ken-of-the-phone:"] {
        let address = format!("http://{who}@{proxy}");
        assert_eq!(curl(&["-x", &address, &url]), "in");
        assert_eq!(curl(&["--proxytunnel", "-x", &address, &url]), "in");
    }
    assert!(!origin.seen().concat().to_ascii_lowercase().contains("proxy-authorization"));
}

#[test]
fn a_user_has_a_profile_of_its_own() {
    let origin = Origin::start(|_, _, _| ok("in"));
    let given = Given { rules: "||127.0.0.1^*/ads/\n", free_users: &["ann"], ..Given::default() };
    let proxy = start(&given, |settings| {
        with_users(settings);
        settings.auth.as_mut().unwrap().exempt =
            vec![settings::Text("127.0.0.0/8".parse().unwrap())];
    });
    let url = format!("http://{}/ads/x", origin.address);
    assert!(curl(&["-x", &format!("http://{proxy}"), &url]).contains("List mine, line 1"));
    assert_eq!(curl(&["-x", &format!("http://ann:secret@{proxy}"), &url]), "in");
}

#[test]
fn guessing_is_slowed_down() {
    let proxy = proxy("", with_users);
    let request =
        "GET http://a.example/ HTTP/1.1\r\nHost: a\r\nProxy-Authorization: Bearer no\r\n\r\n";
    let answers: Vec<_> = (0..40).map(|_| ask(proxy, request)).collect();
    assert!(answers[0].starts_with("HTTP/1.1 407"), "{}", answers[0]);
    let last = answers.last().unwrap();
    assert!(last.starts_with("HTTP/1.1 429") && last.contains("retry-after: 5"), "{last}");
}
