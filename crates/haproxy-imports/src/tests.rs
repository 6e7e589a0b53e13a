//! Configurations as people write them, and what comes of them.

use import_report::ImportedConfig;
use test_support::{OneText, route_lines};

fn made(text: &str) -> ImportedConfig {
    crate::from_haproxy(&["/c".into()], &OneText(text)).expect("a configuration")
}

#[test]
fn haproxys_rules_stand_in_their_order() {
    let config = made(
        "
defaults
  mode http
  timeout connect 5s
  timeout client 30s
frontend f
  bind :80
  bind :443 ssl crt /etc/a.pem
  acl inside src 10.0.0.0/8
  acl api path_beg /api /v2
  http-request deny if { path_beg /admin } !inside
  http-request redirect scheme https code 301 unless { ssl_fc }
  http-request deny if { req.ssl_sni x }
  use_backend api if api
  default_backend web
backend api
  balance leastconn
  option httpchk GET /health
  server a 10.0.0.1:80 check weight 3
  server b 10.0.0.2:80 check backup
backend web
  cookie SRV insert
  server c 10.0.0.3:8080 maxconn 9 cookie c
",
    );
    let found = route_lines(&config.yaml);
    assert!(found[0].contains("clients: [\"10.0.0.0/8\"]"), "{found:#?}");
    assert!(found.iter().any(|it| it.contains("/admin*") && it.contains("status: 403")));
    assert!(found.iter().any(|it| it.contains("https://{host}{uri}")));
    assert!(config.yaml.contains("balance: \"least_connections\""), "{}", config.yaml);
    // A condition that is not known, of a rule that closes, closes.
    assert!(!found.iter().any(|it| it.contains("pool: ")), "{found:#?}");
    assert!(config.table().contains("CLOSED: "));
}

#[test]
fn redirects_say_samples_and_what_regsub_makes_of_them() {
    for (rule, due) in [
        ("prefix https://n.example code 301", r#"{ status: 301, to: "https://n.example{uri}" }"#),
        ("prefix https://n.example drop-query", r#"to: "https://n.example{path}" }"#),
        ("prefix / drop-query append-slash if { path /a }", r#"to: "{path}/" }"#),
        ("location /b?%[query] code 303", r#"{ status: 303, to: "/b?{query}" }"#),
        ("scheme https code 308", r#"{ status: 308, to: "https://{host}{uri}" }"#),
        (
            "location https://%[hdr(host),regsub(^www[.],,i)]%[path]",
            r#"to: "https://{host.1}{host.2}{path}" }"#,
        ),
        ("location /%[path,regsub(^/a/,b/)]", "404 where regsub finds nothing"),
        ("location /a set-cookie X", "it sets no cookie"),
        ("location /%[var(txn.x)]", "CLOSED: %[var(txn.x)] has no counterpart"),
        ("location /a code 200", "CLOSED: this is no redirect of a route"),
    ] {
        let config = made(&format!(
            "defaults\n mode http\nfrontend f\n bind :80\n http-request redirect {rule}\n default_backend b\nbackend b\n server a 10.0.0.1:80\n"
        ));
        let said = format!("{}\n{}", config.yaml, config.table());
        assert!(said.contains(due), "{rule}\n{said}");
    }
}

#[test]
fn a_text_that_breaks_off_anywhere_is_a_configuration_or_a_fault() {
    let text = include_str!("../../../fuzz/seeds/site_file/haproxy");
    let import = |text: &str| crate::from_haproxy(&["/c".into()], &OneText(text));
    assert!(import(text).is_ok(), "{text}");
    for (at, _) in text.char_indices() {
        for piece in [&text[..at], &text[at..]] {
            match import(piece) {
                Ok(made) => assert!(!made.yaml.is_empty()),
                Err(faults) => assert!(!faults.is_empty()),
            }
        }
    }
}
