//! What is in a folder, as a page and as JSON.

use crate::support::{Edge, Folder, site};
use door_web::{ListingMode, SiteSettings};
use std::os::unix::fs::symlink;

fn listing() -> (Folder, Edge) {
    let base = Folder::new();
    base.write("secret.txt", "secret");
    base.write("www/docs/index.html", "an index page");
    base.write("www/files/<b>&.txt", "12345");
    base.write("www/files/ü ?#.txt", "1");
    base.write("www/files/.hidden", "1");
    base.write("www/files/sub/x", "1");
    let files = base.path().join("www/files");
    symlink("../../secret.txt", files.join("out.txt")).unwrap();
    symlink("sub", files.join("link")).unwrap();
    let edge = Edge::start_with(
        &base,
        &[SiteSettings { listing: ListingMode::On, ..site("www", &[]) }],
        "",
    );
    (base, edge)
}

#[test]
fn a_page_lists_what_could_be_asked_for_and_nothing_else() {
    let (_base, edge) = listing();
    let page = edge.ask("GET /files/", &[("Accept", "text/html,*/*;q=0.8")]);
    assert_eq!((page.status, page.field("content-type")), (200, "text/html; charset=utf-8"));
    assert_eq!(page.field("vary"), "accept");
    let text = page.text();
    for shown in ["&lt;b&gt;&amp;.txt", "ü ?#.txt", "href=\"./sub/\"", "href=\"./link/\""] {
        assert!(text.contains(shown), "{shown}: {text}");
    }
    for absent in ["<b>", ".hidden", "out.txt", "secret"] {
        assert!(!text.contains(absent), "{absent}: {text}");
    }
    assert_eq!(edge.ask("GET /files/%C3%BC%20%3F%23.txt", &[]).text(), "1");
    assert_eq!(edge.ask("GET /files", &[]).field("location"), "/files/");
    assert_eq!(edge.ask("GET /docs/", &[]).text(), "an index page");
    assert_eq!(edge.ask("GET /files/.hidden/", &[]).status, 404);
    let head = edge.ask("HEAD /files/", &[]);
    assert_eq!(head.field("content-length"), page.field("content-length"));
}

#[test]
fn programs_get_json() {
    let (_base, edge) = listing();
    for answer in [
        edge.ask("GET /files/?format=json&sort=size&order=desc", &[]),
        edge.ask("GET /files/?sort=size&order=desc", &[("Accept", "application/json")]),
    ] {
        assert_eq!(answer.field("content-type"), "application/json");
        let json: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!(
            (json["path"].as_str(), json["complete"].as_bool()),
            (Some("/files/"), Some(true))
        );
        let names: Vec<_> = json["entries"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["name"].as_str().unwrap())
            .collect();
        assert_eq!(names, ["sub", "link", "<b>&.txt", "ü ?#.txt"]);
        let file = &json["entries"][2];
        assert_eq!((file["type"].as_str(), file["size"].as_u64()), (Some("file"), Some(5)));
        assert_eq!(file["url"], "./%3Cb%3E&.txt");
    }
}
