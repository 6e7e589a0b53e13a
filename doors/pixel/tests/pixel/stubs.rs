//! Stand-ins for well-known scripts: each parses, and a page that waits for its object goes on.

use crate::support::Edge;
use std::path::{Path, PathBuf};
use std::process::Command;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/null-answers/stubs")
}

fn node(args: &[&str]) -> (bool, String) {
    let output = Command::new("node").args(args).output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&said).into_owned())
}

#[test]
fn every_stand_in_parses() {
    for entry in std::fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("// Stands in for "), "{}", path.display());
        // What is imported is a module, and node tells by the name alone.
        let (well, said) = if text.contains("\nexport ") {
            let url = format!("import({:?}).then(() => {{}})", path.to_str().unwrap());
            node(&["--experimental-default-type=module", "--input-type=module", "-e", &url])
        } else {
            node(&["--check", path.to_str().unwrap()])
        };
        assert!(well, "{}: {said}", path.display());
    }
}

#[test]
fn pages_that_wait_for_a_script_go_on_with_its_stand_in() {
    let harness = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pixel/stubs.cjs");
    let (well, said) = node(&[harness.to_str().unwrap(), folder().to_str().unwrap()]);
    assert!(well, "{said}");
}

#[test]
fn a_well_known_address_is_answered_with_its_stand_in() {
    let edge = Edge::start("||google-analytics.com^\n||googletagmanager.com^\n||shop.example^\n");
    for (host, path, mark) in [
        ("www.google-analytics.com", "/analytics.js", "Stands in for analytics.js"),
        ("www.googletagmanager.com", "/gtag/js?id=G-1", "Stands in for gtm.js"),
        ("cdn.shop.example", "/js/matomo.js?v=5", "Stands in for Matomo"),
    ] {
        for field in [("Sec-Fetch-Dest", "script"), ("Accept", "*/*")] {
            let answer = edge.ask_host(host, &format!("GET {path}"), &[field]);
            assert!(answer.text().contains(mark), "{host}{path}: {answer:?}");
            let media = answer.field("content-type");
            assert_eq!((answer.status, media), (200, "text/javascript; charset=utf-8"));
            assert_eq!(answer.field("content-length"), answer.body.len().to_string());
            assert_eq!(answer.field("cache-control"), "max-age=60");
        }
    }
    let other = edge.ask_host("www.google-analytics.com", "GET /other.js", &[]);
    assert_eq!(other.text(), "");
}
