//! Configurations as people write them, and what comes of them.

use import_report::ImportedConfig;
use test_support::{OneText, route_lines};

fn made(text: &str) -> ImportedConfig {
    crate::from_nginx(&["/c".into()], &OneText(text)).expect("a configuration")
}

#[test]
fn locations_stand_in_the_order_in_which_nginx_tries_them() {
    let config = made(
        "
        server { listen 80;
          location / { return 201; }
          location ~ \\.php$ { return 202; }
          location ^~ /s/ { return 203; }
          location /s/deep/ { return 204; }
          location = /x { return 205; }
          location /n/ { return 206; location ~ y { return 207; } }
        }",
    );
    let found = route_lines(&config.yaml);
    let statuses: Vec<&str> =
        found.iter().filter_map(|it| it.split("status: ").nth(1)?.get(..3)).collect();
    assert_eq!(statuses, ["205", "202", "204", "203", "207", "202", "206", "202", "201"]);
    assert!(found[1].contains("path: \"~^/s/deep/"), "{found:#?}");
}

#[test]
fn an_access_rule_that_cannot_be_carried_closes_what_it_guarded() {
    for guard in [
        "auth_request /auth;",
        "auth_jwt on;",
        "access_by_lua_block { ngx.exit(403) }",
        "modsecurity on;",
        "auth_basic x; auth_basic_user_file /old.htpasswd;",
        "auth_basic x;",
        "allow nowhere; deny all;",
        "if ($geoip_country_code = XX) { return 403; }",
        "if ($ssl_client_verify != SUCCESS) { return 403; }",
        "if ($http_a$http_b ~ x) { deny all; }",
        "include unread.conf;",
        "uwsgi_pass unix:/run/a.sock;",
        "rewrite ^/a /b last;",
    ] {
        let text =
            format!("server {{ listen 80; location /a {{ {guard} proxy_pass http://h; }} }}");
        let config = made(&text);
        let found = route_lines(&config.yaml);
        assert!(
            found.iter().any(|it| it.contains("answer: { status: 403 }") && it.contains("\"/a*\"")
                || it.contains("answer: { status: 403 }") && it.contains("~^/a")),
            "{guard} {found:#?}"
        );
        assert!(config.table().contains("CLOSED: "), "{guard} {}", config.table());
    }
    for guard in [
        "ssl_verify_client on; ssl_client_certificate a.pem;",
        "include unread.conf;",
        "location ~ (?=x)[ { deny all; }",
    ] {
        let text = format!("server {{ listen 80; {guard} location / {{ proxy_pass http://h; }} }}");
        let config = made(&text);
        assert!(!config.yaml.contains("pool: "), "{guard} {}", config.yaml);
    }
}

#[test]
fn a_location_whose_expression_looks_around_is_closed_as_widely_as_it_may_be_meant() {
    let config = made(
        "
        server { listen 80; location / { proxy_pass http://h; }
          location ~ ^/(?!public/)x { deny all; } }",
    );
    assert!(
        route_lines(&config.yaml)[0].contains("path: \"~^/x\"")
            && config.table().contains("CLOSED")
    );
}

#[test]
fn conditions_that_double_too_often_close() {
    let many = "if ($http_a) { add_header X y; }\n".repeat(40);
    let text = format!("server {{ listen 80; location / {{ {many} proxy_pass http://h; }} }}");
    match crate::from_nginx(&["/c".into()], &OneText(&text)) {
        Ok(made) => assert!(made.table().contains("CLOSED"), "{}", made.table()),
        Err(faults) => assert!(faults[0].message.contains("1024 routes")),
    }
}

#[test]
fn redirects_say_the_groups_of_the_expression_that_was_held_last() {
    for (directives, due) in [
        ("return 301 https://$host$request_uri;", r#"to: "https://{host}{uri}""#),
        (
            "rewrite ^/a/(.*)$ /b/$1 permanent;",
            r#"{ from: "^/a/(.*)$", status: 301, to: "/b/${1}?{query}" }"#,
        ),
        ("rewrite ^/a/(.*)$ /b?c=$1 redirect;", r#"status: 302, to: "/b?c=${1}&{query}" }"#),
        ("rewrite ^/a/(.*)$ /b/$1? redirect;", r#"to: "/b/${1}" }"#),
        ("rewrite ^/(.*)$ https://n.example/$1 permanent;", r#"to: "https://n.example{uri}""#),
        (
            "location ~ ^/(?<year>\\d+)/ { return 302 /y/$year/$1$is_args$args; }",
            r#"to: "/y/${year}/${1}?{query}" }"#,
        ),
        (
            "if ($host ~* ^www\\.(.+)$) { return 301 $scheme://$1$request_uri; }",
            r#"{ from_host: "(?i)^www\\.(.+)$", status: 301, to: "{scheme}://{host.1}{uri}" }"#,
        ),
        (
            "if ($uri ~ ^/a(/.*)$) { set $rest $1; return 301 https://n.example$rest; }",
            r#"to: "https://n.example/${1}" }"#,
        ),
        ("return 301 \"/a{c}$b\";", "CLOSED: $b has no counterpart"),
        (
            "location ~ ^/(a) { if ($http_x ~ (b)) { return 301 /$1; } return 404; }",
            "$1 has no counterpart",
        ),
        (
            "if ($uri ~ ^/(a)) { set $a $1; } location ~ ^/(b) { return 301 /$a/$1; }",
            "has no counterpart",
        ),
    ] {
        let config = made(&format!("server {{ listen 80; {directives} }}"));
        let said = format!("{}\n{}", config.yaml, config.table());
        assert!(said.contains(due), "{directives}\n{said}");
    }
    let named = made(
        "server { listen 80; server_name ~^(?<who>[a-z]+)\\.old\\.example$;
           return 301 https://new.example/$who$request_uri; }",
    );
    assert!(named.yaml.contains("https://new.example/{host.who}{uri}"), "{}", named.yaml);
}

#[test]
fn a_text_that_breaks_off_anywhere_is_a_configuration_or_a_fault() {
    let text = include_str!("../../../fuzz/seeds/site_file/nginx");
    let import = |text: &str| crate::from_nginx(&["/c".into()], &OneText(text));
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
