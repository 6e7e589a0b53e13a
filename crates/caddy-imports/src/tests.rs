//! Configurations as people write them, and what comes of them.

use import_report::ImportedConfig;
use test_support::{OneText, route_lines};

fn made(text: &str) -> ImportedConfig {
    crate::from_caddy(&["/c".into()], &OneText(text)).expect("a configuration")
}

#[test]
fn caddys_directives_stand_in_caddys_order() {
    let config = made(
        "
(log) {
  header X-From {args[0]}
}
www.example {
  import log here
  reverse_proxy 127.0.0.1:9000
  handle_path /api/* {
    reverse_proxy 127.0.0.1:9001 127.0.0.1:9002 {
      lb_policy least_conn
      health_uri /up
    }
  }
  basic_auth /admin/* {
    ann $2a$14$Zkx19XLiW6VYouLHR5NmfOFU0z2GTNmpkT/5qqR7hx4IjWJPDhjvG
  }
  respond /hello \"hi\" 201
}
http://plain.example {
  root * /srv/www
  file_server browse
  authorize with x
}
",
    );
    let found = route_lines(&config.yaml);
    assert!(config.yaml.contains("strip_prefix: \"/api\"") && config.yaml.contains("X-From"));
    assert!(
        found.iter().any(|it| it.contains("auth: ") && it.contains("(?i)^/admin/")),
        "{found:#?}"
    );
    assert!(found.iter().any(|it| it.contains("https://{host}{uri}")), "{found:#?}");
    // A directive of a plug-in may be a guard.
    assert!(!config.yaml.contains("/srv/www"), "{}", config.yaml);
    assert!(config.table().contains("CLOSED: nobody knows whom this directive lets in"));
}

#[test]
fn redirects_and_rewrites_say_placeholders() {
    for (directives, due) in [
        (
            "redir https://n.example{uri} permanent",
            r#"{ status: 301, to: "https://n.example{uri}" }"#,
        ),
        ("redir /a {scheme}://{host}/b?{query} 307", r#"to: "{scheme}://{host}/b?{query}" }"#),
        ("redir https://{labels.1}.n.example/", r#"to: "https://{host.l1}.n.example/""#),
        ("redir * /x/{path.1}", r#"to: "/x/${s1}""#),
        (
            "@m path_regexp m ^/u/([0-9]+)$\n redir @m /v/{re.m.1}",
            r#"{ from: "^/u/([0-9]+)$", status: 302, to: "/v/${1}" }"#,
        ),
        ("@m path_regexp ^/u/([0-9]+)$\n redir @m /v/{re.1}", r#"to: "/v/${1}" }"#),
        (
            "handle_path /a/* {\n redir https://n.example{path}\n }",
            r#"{ from: "^/a/?(.*)$", status: 302, to: "https://n.example/${1}" }"#,
        ),
        ("uri replace /a /b\n reverse_proxy 127.0.0.1:1", r#"rewrite: { from: "/a", to: "/b" }"#),
        (
            "uri strip_suffix .html\n reverse_proxy 127.0.0.1:1",
            r#"rewrite: { from: "\\.html$", to: "" }"#,
        ),
        (
            "uri path_regexp ^/a/(.*) /b/$1\n reverse_proxy 127.0.0.1:1",
            r#"rewrite: { from: "^/a/(.*)", to: "/b/$1" }"#,
        ),
        (
            "uri path_regexp ^/a /b/$1\n reverse_proxy 127.0.0.1:1",
            "CLOSED: the new path has no counterpart",
        ),
        ("redir * /x/{http.vars.a}", "CLOSED: {http.vars.a} has no counterpart"),
        ("redir https://n.example html", "CLOSED: this is no redirect of a route"),
    ] {
        let config = made(&format!("http://site.example {{\n {directives}\n}}\n"));
        let said = format!("{}\n{}", config.yaml, config.table());
        assert!(said.contains(due), "{directives}\n{said}");
    }
}

#[test]
fn a_text_that_breaks_off_anywhere_is_a_configuration_or_a_fault() {
    let text = include_str!("../../../fuzz/seeds/site_file/caddy");
    let import = |text: &str| crate::from_caddy(&["/c".into()], &OneText(text));
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
