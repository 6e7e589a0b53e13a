//! What stands before a file: passwords and scripts, whichever way leads to it.

use crate::support::{Edge, Folder, site};
use door_web::{
    AuthSettings, CompressChoice, FastcgiChoice, HeaderRule, ListingMode, SiteSettings,
};
use std::collections::BTreeMap;

const HASH: &str = "$6$saltstring$svn8UoSVapNtMuq1ukKS4tPQd8iKwSMHWjl/O817G3uBnIFNjnQJuesI68u4OTLiBFdcbYEdFCoEOfaS35inz1";
/// `bob`, whose password is that of [`HASH`].
const BOB: (&str, &str) = ("Authorization", "Basic Ym9iOkhlbGxvIHdvcmxkIQ==");

#[test]
fn a_guarded_file_in_memory_is_still_guarded() {
    let base = Folder::new();
    for name in ["in/secret.txt", "open/index.html", "app.html", "free.txt"] {
        base.write(&format!("www/{name}"), format!("text of {name}"));
    }
    let users = BTreeMap::from([("bob".to_owned(), HASH.to_owned())]);
    let auth = ["/in/*", "/open/index.html", "/app.html"].map(|path| AuthSettings {
        path: path.into(),
        users: users.clone(),
        ..AuthSettings::default()
    });
    let fallback = Some("/app.html".into());
    let guarded = SiteSettings { auth: auth.into(), fallback, ..site("www", &[]) };
    let edge = Edge::start_with(&base, &[guarded], "");
    for path in ["/in/secret.txt", "/open/", "/nothing", "/app.html", "//in/secret.txt"] {
        let request = format!("GET {path}");
        for _ in 0..2 {
            assert_eq!(edge.ask(&request, &[BOB]).status, 200, "{path}");
            let denied = edge.ask(&request, &[]);
            assert_eq!(denied.status, 401, "{path}");
            assert!(!denied.text().contains("text of"), "{path}");
        }
    }
    assert_eq!(edge.ask("GET /free.txt", &[]).status, 200);
}

#[test]
fn no_way_leads_to_the_source_of_a_script() {
    let base = Folder::new();
    let source = format!("<?php {}", "secret(); ".repeat(100));
    for name in ["a.php", "index.php", "front.php", "sub/index.php", "sub/b.txt"] {
        base.write(&format!("www/{name}"), &source);
    }
    // Nobody answers there.
    let server = FastcgiChoice::Address("tcp://127.0.0.1:1".into());
    let scripted = SiteSettings {
        fastcgi: BTreeMap::from([("*.php".to_owned(), server)]),
        index: vec!["index.php".into(), "index.html".into()],
        fallback: Some("/front.php".into()),
        errors: BTreeMap::from([("5xx".to_owned(), "/front.php".to_owned())]),
        listing: ListingMode::On,
        compress: CompressChoice::Switch(true),
        ..site("www", &[])
    };
    let edge = Edge::start_with(&base, &[scripted], "");
    for path in [
        "/",
        "/a.php",
        "/a.php/",
        "/a.php/x",
        "/%61.php",
        "/a%2ephp",
        "//a.php",
        "/front.php",
        "/none",
        "/none.txt",
        "/sub/",
        "/sub/none",
        "/a.php?x=.txt",
    ] {
        for fields in [vec![], vec![("Accept-Encoding", "gzip")], vec![("Range", "bytes=0-9")]] {
            for method in ["GET", "HEAD"] {
                let answer = edge.ask(&format!("{method} {path}"), &fields);
                assert_eq!(answer.status, 502, "{method} {path} {fields:?}");
                assert!(!answer.text().contains("<?php"), "{method} {path}");
            }
        }
    }
    // What no pattern names is a file.
    assert_eq!(edge.ask("GET /sub/b.txt", &[]).text(), source);
}

#[test]
fn a_site_below_a_path_has_its_scripts_below_its_root() {
    let base = Folder::new();
    base.write("www/a.php", "<?php echo $_SERVER['SCRIPT_NAME'], ' ', $_SERVER['REQUEST_SCHEME'];");
    let php = crate::php::Php::start(&base, 1);
    let server = FastcgiChoice::Address(php.address());
    let fastcgi = BTreeMap::from([("*.php".to_owned(), server)]);
    let below = SiteSettings { path: "/docs/".into(), fastcgi, ..site("www", &[]) };
    let edge = Edge::start_with(&base, &[below], "");
    let answer = edge.ask("GET /docs/a.php", &[]);
    assert_eq!(answer.status, 200);
    assert!(answer.text().contains("/docs/a.php http"), "{}", answer.text());
    assert_eq!(edge.ask("GET /docs/docs/a.php", &[]).status, 404);
}

#[test]
fn a_fallback_may_be_a_script() {
    let base = Folder::new();
    base.write("www/front.php", "<?php echo $_SERVER['REQUEST_URI'];");
    base.write("www/style.css", "a{}");
    let php = crate::php::Php::start(&base, 1);
    let server = FastcgiChoice::Address(php.address());
    let framework = SiteSettings {
        fastcgi: BTreeMap::from([("*.php".to_owned(), server)]),
        fallback: Some("/front.php".into()),
        headers: vec![HeaderRule {
            pattern: "*".into(),
            set: BTreeMap::from([("X-Frame-Options".to_owned(), "DENY".to_owned())]),
            remove: vec!["X-Powered-By".into()],
        }],
        ..site("www", &[])
    };
    let edge = Edge::start_with(&base, &[framework], "");
    let front = edge.ask("GET /any/thing?x=1", &[]);
    assert_eq!((front.field("x-frame-options"), front.field("x-powered-by")), ("DENY", ""));
    let front = front.text();
    assert!(front.contains("/any/thing?x=1"), "{front}");
    assert_eq!(edge.ask("GET /style.css", &[]).text(), "a{}");
    assert_eq!(edge.ask("POST /style.css", &[("Content-Length", "0")]).status, 405);
}
