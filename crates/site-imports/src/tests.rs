//! Configurations as people write them, and what comes of them.

use import_report::{ImportSurroundings, ImportedConfig};
use std::io;
use std::path::{Path, PathBuf};

/// No file is there.
pub(crate) struct NoFiles;

impl ImportSurroundings for NoFiles {
    fn read(&self, _: &Path) -> io::Result<String> {
        Err(io::Error::new(io::ErrorKind::NotFound, "not there"))
    }

    fn list(&self, _: &Path) -> io::Result<Vec<String>> {
        Err(io::Error::new(io::ErrorKind::NotFound, "not there"))
    }

    fn variable(&self, _: &str) -> Option<String> {
        None
    }
}

/// One text at every path that is asked for.
struct OneText(&'static str);

impl ImportSurroundings for OneText {
    fn read(&self, path: &Path) -> io::Result<String> {
        match path.to_str() {
            Some("/c") => Ok(self.0.into()),
            Some("/old.htpasswd") => Ok("ann:$apr1$x$y\n".into()),
            _ => NoFiles.read(path),
        }
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        NoFiles.list(path)
    }

    fn variable(&self, _: &str) -> Option<String> {
        None
    }
}

type Import = fn(
    &[PathBuf],
    &dyn ImportSurroundings,
) -> Result<ImportedConfig, Vec<import_report::ImportFault>>;

fn made(import: Import, text: &'static str) -> ImportedConfig {
    import(&["/c".into()], &OneText(text)).expect("a configuration")
}

/// Routes in one line each.
fn routes(config: &ImportedConfig) -> Vec<String> {
    let begun = config.yaml.split("  routes:").nth(1).expect("routes");
    if !begun.starts_with('\n') {
        return begun.trim().split("}, { ").map(str::to_owned).collect();
    }
    begun.split("\n    - ").skip(1).map(|it| it.trim().replace("\n     ", "")).collect()
}

#[test]
fn locations_stand_in_the_order_in_which_nginx_tries_them() {
    let config = made(
        crate::from_nginx,
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
    let found = routes(&config);
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
        let config = made(crate::from_nginx, Box::leak(text.into_boxed_str()));
        let found = routes(&config);
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
        let config = made(crate::from_nginx, Box::leak(text.into_boxed_str()));
        assert!(!config.yaml.contains("pool: "), "{guard} {}", config.yaml);
    }
}

#[test]
fn a_location_whose_expression_looks_around_is_closed_as_widely_as_it_may_be_meant() {
    let config = made(
        crate::from_nginx,
        "
        server { listen 80; location / { proxy_pass http://h; }
          location ~ ^/(?!public/)x { deny all; } }",
    );
    assert!(routes(&config)[0].contains("path: \"~^/x\"") && config.table().contains("CLOSED"));
}

#[test]
fn haproxys_rules_stand_in_their_order() {
    let config = made(
        crate::from_haproxy,
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
    let found = routes(&config);
    assert!(found[0].contains("clients: [\"10.0.0.0/8\"]"), "{found:#?}");
    assert!(found.iter().any(|it| it.contains("/admin*") && it.contains("status: 403")));
    assert!(found.iter().any(|it| it.contains("https://{host}{uri}")));
    assert!(config.yaml.contains("balance: \"least_connections\""), "{}", config.yaml);
    // A condition that is not known, of a rule that closes, closes.
    assert!(!found.iter().any(|it| it.contains("pool: ")), "{found:#?}");
    assert!(config.table().contains("CLOSED: "));
}

#[test]
fn caddys_directives_stand_in_caddys_order() {
    let config = made(
        crate::from_caddy,
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
    let found = routes(&config);
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
fn a_text_that_breaks_off_anywhere_is_a_configuration_or_a_fault() {
    let seeds: [(Import, &str); 3] = [
        (crate::from_nginx, include_str!("../../../fuzz/seeds/site_file/nginx")),
        (crate::from_haproxy, include_str!("../../../fuzz/seeds/site_file/haproxy")),
        (crate::from_caddy, include_str!("../../../fuzz/seeds/site_file/caddy")),
    ];
    for (import, text) in seeds {
        assert!(import(&["/c".into()], &OneText(text)).is_ok(), "{text}");
        for (at, _) in text.char_indices() {
            for piece in [&text[..at], &text[at..]] {
                let broken: &'static str = Box::leak(piece.to_owned().into_boxed_str());
                match import(&["/c".into()], &OneText(broken)) {
                    Ok(made) => assert!(!made.yaml.is_empty()),
                    Err(faults) => assert!(!faults.is_empty()),
                }
            }
        }
    }
}

#[test]
fn conditions_that_double_too_often_close() {
    let many = "if ($http_a) { add_header X y; }\n".repeat(40);
    let text = format!("server {{ listen 80; location / {{ {many} proxy_pass http://h; }} }}");
    let text: &'static str = Box::leak(text.into_boxed_str());
    match crate::from_nginx(&["/c".into()], &OneText(text)) {
        Ok(made) => assert!(made.table().contains("CLOSED"), "{}", made.table()),
        Err(faults) => assert!(faults[0].message.contains("1024 routes")),
    }
}
