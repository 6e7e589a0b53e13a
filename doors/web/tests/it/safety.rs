//! What is not served: anything outside the folder, anything hidden, anything blocked.

use crate::support::{Answer, Edge, Folder, send, site};
use door_web::{CompressChoice, SiteSettings};
use file_access::private_files::{PrivateFiles, PrivatePaths};
use std::io::Write;
use std::os::unix::fs::symlink;
use vocab::{Action, Source};

fn www() -> Folder {
    let base = Folder::new();
    base.write("secret.txt", "secret");
    base.write("www/index.html", "hello");
    base.write("www/plain.txt", "plain");
    base.write("www/.env", "secret");
    base.write("www/.git/config", "secret");
    base.write("www/.well-known/security.txt", "contact");
    base
}

#[test]
fn no_path_leads_out_of_the_folder() {
    let base = www();
    let edge = Edge::start(&base);
    for path in [
        "/../secret.txt",
        "/..%2fsecret.txt",
        "/%2e%2e/secret.txt",
        "/%2e%2e%2fsecret.txt",
        "/..%252fsecret.txt",
        "/a/../../secret.txt",
        "/plain.txt/../../secret.txt",
        "//../secret.txt",
        "/..;/secret.txt",
        "/..\\secret.txt",
        "/%00/../secret.txt",
        "/plain.txt%00.html",
        "/%",
        "/etc/passwd",
        "//etc/passwd",
        "/proc/self/environ",
    ] {
        let answer = edge.ask(&format!("GET {path}"), &[]);
        assert!(matches!(answer.status, 400 | 404), "{path}: {}", answer.status);
        assert!(!answer.text().contains("secret") && !answer.text().contains("root:"), "{path}");
    }
}

#[test]
fn links_are_followed_inside_the_folder_and_never_out_of_it() {
    let base = www();
    let www_path = base.path().join("www");
    symlink("plain.txt", www_path.join("inside.txt")).unwrap();
    symlink("../secret.txt", www_path.join("outside.txt")).unwrap();
    symlink(base.path().join("secret.txt"), www_path.join("absolute.txt")).unwrap();
    symlink("..", www_path.join("up")).unwrap();
    symlink("/proc/self/root", www_path.join("magic")).unwrap();
    symlink("loop.txt", www_path.join("loop.txt")).unwrap();
    let edge = Edge::start(&base);
    assert_eq!(edge.ask("GET /inside.txt", &[]).text(), "plain");
    for path in [
        "/outside.txt",
        "/absolute.txt",
        "/up/secret.txt",
        "/up/",
        "/magic/etc/passwd",
        "/loop.txt",
    ] {
        assert_eq!(edge.ask(&format!("GET {path}"), &[]).status, 404, "{path}");
    }
}

#[test]
fn hidden_files_are_not_there() {
    let base = www();
    let edge = Edge::start(&base);
    for path in ["/.env", "/%2eenv", "/.git/config", "/.git/", "/./.env"] {
        assert_eq!(edge.ask(&format!("GET {path}"), &[]).status, 404, "{path}");
    }
    assert_eq!(edge.ask("GET /.well-known/security.txt", &[]).text(), "contact");
}

#[test]
fn what_is_no_regular_file_is_not_served() {
    let base = www();
    let made = std::process::Command::new("mkfifo").arg(base.path().join("www/pipe")).status();
    assert!(made.unwrap().success());
    let edge = Edge::start(&base);
    assert_eq!(edge.ask("GET /pipe", &[]).status, 404);
    assert_eq!(edge.ask("GET /plain.txt/", &[]).status, 404);
    assert_eq!(edge.ask("GET /plain.txt/more", &[]).status, 404);
    assert_eq!(edge.ask(&format!("GET /{}", "x".repeat(300)), &[]).status, 404);
}

#[test]
fn only_reading_is_possible() {
    let base = www();
    let edge = Edge::start(&base);
    for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "PROPFIND"] {
        let answer = edge.ask(&format!("{method} /plain.txt"), &[("Content-Length", "0")]);
        assert_eq!((answer.status, answer.field("allow")), (405, "GET, HEAD"), "{method}");
    }
    let mut stream = edge.connect();
    send(&mut stream, "www.example", "PUT /plain.txt", &[("Content-Length", "3")]);
    stream.write_all(b"new").unwrap();
    assert_eq!(Answer::read(&mut stream).status, 405);
    assert_eq!(edge.ask("GET /plain.txt", &[]).text(), "plain");
}

#[test]
fn the_policy_blocks_by_url_and_by_host() {
    let base = www();
    base.write("www/private/report.txt", "private");
    let edge = Edge::start(&base);
    let answer = edge.ask("GET /private/report.txt", &[]);
    assert_eq!(answer.status, 403);
    assert!(answer.text().contains("list mine, line 2: /private/*"), "{}", answer.text());
    assert_eq!(edge.ask_host("blocked.example", "GET /", &[]).status, 403);
    let rows = edge.rows(2);
    assert!(
        rows.iter().all(|row| (row.action, row.source) == (Action::Block, Source::Policy)),
        "{rows:#?}"
    );
}

#[test]
fn private_files_are_served_by_no_way_and_listed_nowhere() {
    let base = www();
    let www_path = base.path().join("www");
    for (file, content) in [
        ("www/state/ca/ca.key", "secret"),
        ("www/edge.yaml", "secret"),
        ("www/plain.css", "a{}"),
        ("www/listed/plain.txt", "plain"),
    ] {
        base.write(file, content);
    }
    symlink("state", www_path.join("linked")).unwrap();
    symlink("../edge.yaml", www_path.join("listed/link.yaml")).unwrap();
    std::fs::hard_link(www_path.join("state/ca/ca.key"), www_path.join("listed/hard")).unwrap();
    std::fs::hard_link(www_path.join("edge.yaml"), www_path.join("plain.css.gz")).unwrap();
    let private = ["www/state", "www/state/ca", "www/edge.yaml"].map(|it| base.path().join(it));
    let private = PrivateFiles::new(PrivatePaths { private: private.into(), public: Vec::new() });
    let settings = SiteSettings {
        listing: door_web::ListingMode::On,
        fallback: Some("/edge.yaml".into()),
        errors: [("404".to_owned(), "/state/ca/ca.key".to_owned())].into(),
        compress: CompressChoice::Switch(true),
        ..site("www", &[])
    };
    let edge = Edge::start_hiding(&base, &[settings], private);
    for path in [
        "/edge.yaml",
        "/state/",
        "/state",
        "/state/ca/ca.key",
        "/linked/ca/ca.key",
        "/listed/link.yaml",
        "/listed/hard",
        "/plain.css.gz",
        "/nothing",
    ] {
        let answer = edge.ask(&format!("GET {path}"), &[("accept-encoding", "gzip")]);
        assert_eq!(answer.status, 404, "{path}");
        assert!(!answer.text().contains("secret"), "{path}");
    }
    let listed = edge.ask("GET /listed/?format=json", &[]).text();
    assert!(listed.contains("plain.txt"), "{listed}");
    assert!(!listed.contains("hard") && !listed.contains("yaml"), "{listed}");
    let coded = edge.ask("GET /plain.css", &[("accept-encoding", "gzip")]);
    assert_eq!((coded.status, coded.text().contains("secret")), (200, false));
    // A backup of an editor, written beside it while the door runs.
    base.write("www/edge.yaml~", "secret");
    assert_eq!(edge.ask("GET /edge.yaml~", &[]).status, 404);
}

#[test]
fn dot_segments_are_resolved_and_change_nothing_that_is_refused() {
    let base = www();
    base.write("www/dir/f.txt", "f");
    base.write("www/private/x.txt", "private");
    let edge = Edge::start(&base);
    for (path, body) in [
        ("/./plain.txt", "plain"),
        ("/dir/./f.txt", "f"),
        ("/dir/../plain.txt", "plain"),
        ("/gone/../plain.txt", "plain"),
        ("/dir/%2E%2e/plain.txt", "plain"),
        ("/.git/../plain.txt", "plain"),
    ] {
        let answer = edge.ask(&format!("GET {path}"), &[]);
        assert_eq!((answer.status, answer.text()), (200, body.into()), "{path}");
    }
    for path in ["/dir/../.env", "/./.git/config", "/dir/.%2e/.git/config"] {
        assert_eq!(edge.ask(&format!("GET {path}"), &[]).status, 404, "{path}");
    }
    // A rule of the policy is about the path that is served.
    for path in ["/private/x.txt", "/./private/x.txt", "/dir/../private/x.txt", "//private/x.txt"] {
        assert_eq!(edge.ask(&format!("GET {path}"), &[]).status, 403, "{path}");
    }
    assert_eq!(edge.ask("GET /dir/..", &[]).text(), "hello");
}
