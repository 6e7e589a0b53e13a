//! Fields that only a proxy in front may send, and those that are for the gateway alone.

use crate::support::{Gateway, Origin, Reply, ask, get, ok, parts, simple, start};
use door_gateway::{FieldRule, RouteSettings, Settings};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

/// One of each kind, and two spellings.
const CLAIMS: [&str; 18] = [
    "X-Original-URL",
    "X-Original-Host",
    "X-Rewrite-URL",
    "X-Forwarded-Prefix",
    "X-Forwarded-Server",
    "X-Forwarded-User",
    "X-Host",
    "X-HTTP-Method-Override",
    "X-HTTP-Method",
    "Remote-User",
    "X-Remote-User",
    "X-WebAuth-User",
    "X-Auth-Request-Email",
    "X-Real-IP",
    "X-SSL-Client-Verify",
    "Client-Cert",
    "X-Sendfile-Type",
    "proxy",
];

fn pass(name: &str) -> FieldRule {
    FieldRule { pass: Some(name.into()), ..FieldRule::default() }
}

/// Asks with all claims, each with the value `claimed`.
fn claiming(gateway: &Gateway, method: &str) -> String {
    let fields = CLAIMS.map(|name| [name, ": claimed\r\n"].concat()).concat();
    let request = format!(
        "{method} / HTTP/1.1\r\nHost: app.example\r\nContent-Length: 0\r\nX-Api-Key: mine\r\n{fields}\r\n"
    );
    ask(gateway.address, &request)
}

/// The claims that reached the server with its last request.
fn believed(server: &Origin) -> Vec<&'static str> {
    let seen = server.seen().pop().unwrap().to_ascii_lowercase();
    assert!(seen.contains("x-api-key: mine\r\n"), "{seen}");
    let is_there =
        |name: &&str| seen.contains(&format!("\r\n{}: claimed\r\n", name.to_lowercase()));
    CLAIMS.into_iter().filter(is_there).collect()
}

#[test]
fn a_stranger_claims_in_vain_what_a_proxy_in_front_may_say() {
    let server = Origin::start(|_, _, _| ok("x"));
    let gateway = start(simple(&[server.address]), parts(""));
    claiming(&gateway, "GET");
    assert_eq!(believed(&server), [""; 0]);
    let mut settings = simple(&[server.address]);
    settings.trusted = vec![settings::Text("127.0.0.1".parse().unwrap())];
    let gateway = start(settings, parts(""));
    claiming(&gateway, "GET");
    assert_eq!(believed(&server), CLAIMS);
}

#[test]
fn what_a_rule_passes_is_passed_on_its_route() {
    let server = Origin::start(|_, _, _| ok("x"));
    let mut settings = simple(&[server.address]);
    settings.headers.request = vec![pass("x-host")];
    settings.routes[0].headers.request = vec![pass("X-Rewrite-URL"), pass("Remote-User")];
    let gateway = start(settings.clone(), parts(""));
    claiming(&gateway, "GET");
    assert_eq!(believed(&server), ["X-Rewrite-URL", "X-Host", "Remote-User"]);
    settings.routes[0].headers.request = vec![pass("X-Forwarded-For"), pass("X-Api-Key")];
    let paths: Vec<_> = settings.check().into_iter().map(|it| it.path).collect();
    let expected = ["routes.0.headers.request.0.pass", "routes.0.headers.request.1.pass"];
    assert_eq!(paths, expected);
}

#[test]
fn another_method_may_be_asked_for_with_a_post_where_no_route_chooses_by_method() {
    let server = Origin::start(|_, _, _| ok("x"));
    let check = |method: &str, change: &dyn Fn(&mut Settings), expected: &[&str]| {
        let mut settings = simple(&[server.address]);
        change(&mut settings);
        let gateway = start(settings, parts(""));
        claiming(&gateway, method);
        assert_eq!(believed(&server), expected, "{method}");
    };
    let both = ["X-HTTP-Method-Override", "X-HTTP-Method"];
    check("POST", &|_| {}, &both);
    check("GET", &|_| {}, &[]);
    check("POST", &|settings| settings.routes[0].cache = true, &[]);
    let by_method = |settings: &mut Settings| {
        let delete = RouteSettings {
            methods: vec!["DELETE".into()],
            null_answer: true,
            ..RouteSettings::default()
        };
        settings.routes.insert(0, delete);
    };
    check("POST", &by_method, &[]);
}

#[test]
fn a_cache_is_not_poisoned_by_what_is_no_part_of_its_key() {
    let server = Origin::start(|_, _, request| {
        let lower = request.to_ascii_lowercase();
        let reflected = lower.lines().filter(|line| line.contains("claimed")).count();
        let body = format!("{reflected} claims");
        let length = body.len();
        Reply::Keep(format!(
            "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: {length}\r\n\r\n{body}"
        ))
    });
    let mut settings = simple(&[server.address]);
    settings.routes[0].cache = true;
    let gateway = start(settings, parts(""));
    assert!(claiming(&gateway, "GET").ends_with("0 claims"));
    let said = get(&gateway, "/");
    assert!(said.ends_with("0 claims") && said.contains("hit"), "{said}");
}

#[test]
fn what_an_authority_says_of_the_user_is_no_claim_of_a_stranger() {
    let authority = Origin::start(|_, _, request| {
        assert!(!request.to_ascii_lowercase().contains("claimed"), "{request}");
        Reply::Keep("HTTP/1.1 204 No\r\nRemote-User: anna\r\n\r\n".into())
    });
    let server = Origin::start(|_, _, _| ok("x"));
    let mut settings = simple(&[server.address]);
    let text = format!(
        r#"{{ "url": "http://{}/verify", "copy_headers": ["Remote-User"] }}"#,
        authority.address
    );
    settings.routes[0].forward_auth = Some(serde_json::from_str(&text).unwrap());
    let gateway = start(settings, parts(""));
    claiming(&gateway, "GET");
    assert_eq!(believed(&server), [""; 0]);
    let seen = server.seen().pop().unwrap();
    assert!(seen.contains("remote-user: anna\r\n"), "{seen}");
}

/// Fields of an answer that are for the gateway alone.
const INTERNAL: &str = "X-Accel-Redirect: /private/a\r\nX-Accel-Expires: 9\r\n\
    X-Accel-Buffering: no\r\nX-Reproxy-URL: http://10.0.0.1/\r\nX-Reproxy-File: /srv/a\r\n\
    X-Sendfile: /srv/a\r\nX-LIGHTTPD-send-file: /srv/a\r\n";

#[test]
fn no_client_reads_what_a_server_says_to_the_gateway() {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let server = Origin::start(move |_, _, request| {
        counted.fetch_add(1, SeqCst);
        let early = if request.contains("early") {
            format!("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n{INTERNAL}\r\n")
        } else {
            String::new()
        };
        Reply::Keep(format!(
            "{early}HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\n{INTERNAL}Content-Length: 1\r\n\r\nx"
        ))
    });
    let check = |settings: Settings, path: &str| {
        let gateway = start(settings, parts(""));
        for _ in 0..2 {
            let said = get(&gateway, path).to_ascii_lowercase();
            assert!(said.starts_with("http/1.1 "), "{said}");
            for field in ["x-accel", "x-reproxy", "x-sendfile", "x-lighttpd", "/srv"] {
                assert!(!said.contains(field), "{path}: {said}");
            }
        }
    };
    check(simple(&[server.address]), "/");
    check(simple(&[server.address]), "/early");
    let mut cached = simple(&[server.address]);
    cached.routes[0].cache = true;
    let before = count.load(SeqCst);
    check(cached, "/");
    assert_eq!(count.load(SeqCst), before + 1);
}

#[test]
fn a_rule_passes_what_another_proxy_in_front_acts_on() {
    let server = Origin::start(|_, _, _| {
        Reply::Keep(format!("HTTP/1.1 200 OK\r\n{INTERNAL}Content-Length: 1\r\n\r\nx"))
    });
    let mut settings = simple(&[server.address]);
    settings.routes[0].headers.response = vec![pass("X-Accel-Redirect")];
    let gateway = start(settings, parts(""));
    let said = get(&gateway, "/").to_ascii_lowercase();
    assert!(said.contains("x-accel-redirect: /private/a\r\n"), "{said}");
    assert!(!said.contains("x-accel-expires") && !said.contains("x-sendfile"), "{said}");
}
