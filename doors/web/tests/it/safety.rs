//! What is not served: anything outside the folder, anything hidden, anything blocked.

use crate::support::{Answer, Edge, Folder, send};
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
    for path in ["/.env", "/%2eenv", "/.git/config", "/.git/", "/./plain.txt"] {
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
    assert_eq!(Answer::read(&mut stream, false).status, 405);
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
