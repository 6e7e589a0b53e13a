//! Configurations as people write them, and what comes of them.

use import_report::ImportedConfig;
use test_support::OneText;

fn made(text: &str) -> ImportedConfig {
    crate::from_caddy(&["/c".into()], &OneText(text)).expect("a configuration")
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
