//! Several files in one answer: `/dir/??a.js,b.js`.

use crate::support::{Edge, Folder, site};
use door_web::{AuthSettings, CompressChoice, SiteSettings, SiteSwitch};
use std::collections::BTreeMap;

fn base() -> Folder {
    let base = Folder::new();
    base.write("www/js/a.js", "a();\n");
    base.write("www/js/deep/b.js", "b();\n".repeat(100));
    base.write("www/js/style.css", "p{}");
    base.write("www/js/.hidden.js", "hidden");
    base.write("www/js/index.html", "index");
    base.write("www/js/in/c.js", "c();\n");
    base.write("outside.js", "outside");
    base
}

fn joining() -> SiteSettings {
    SiteSettings { concat: SiteSwitch::On, ..site("www", &[]) }
}

#[test]
fn files_come_one_behind_the_other_and_are_revalidated_as_one() {
    let base = base();
    let edge = Edge::start_with(&base, &[joining()], "");
    let asked = "GET /js/??a.js,deep/b.js,a.js?v=7";
    let answer = edge.ask(asked, &[]);
    let all = ["a();\n", &"b();\n".repeat(100), "a();\n"].concat();
    assert_eq!((answer.status, answer.text()), (200, all.clone()));
    assert_eq!(answer.field("content-type"), "text/javascript; charset=utf-8");
    let tag = answer.field("etag").to_owned();
    assert_eq!(edge.ask(asked, &[("If-None-Match", &tag)]).status, 304);
    let since = answer.field("last-modified").to_owned();
    assert_eq!(edge.ask(asked, &[("If-Modified-Since", &since)]).status, 304);
    let part = edge.ask(asked, &[("Range", "bytes=0-9")]);
    assert_eq!((part.status, part.text().as_str()), (206, &all[..10]));
    assert_eq!(edge.ask(&asked.replace("GET", "HEAD"), &[]).field("content-length"), "510");
    base.write("www/js/a.js", "changed();\n");
    edge.until("GET /js/??a.js", &[], "changed();\n");
    assert_eq!(edge.ask(asked, &[("If-None-Match", &tag)]).status, 200, "one has changed");
}

#[test]
fn each_name_is_a_request_of_its_own() {
    let base = base();
    let edge = Edge::start_with(&base, &[joining()], "");
    let many = ["a.js"; 101].join(",");
    for (names, status) in [
        ("a.js,none.js", 404),
        ("a.js,.hidden.js", 404),
        ("a.js,", 404),
        ("deep", 404),
        ("../../outside.js", 404),
        ("../js/a.js", 200),
        ("a.js,style.css", 400),
        (many.as_str(), 400),
        (&["a.js"; 100].join(","), 200),
    ] {
        assert_eq!(edge.ask(&format!("GET /js/??{names}"), &[]).status, status, "{names}");
    }
    assert_eq!(edge.ask("GET /js/a.js??a.js", &[]).status, 400, "no folder");
    assert_eq!(edge.ask("POST /js/??a.js", &[("Content-Length", "0")]).status, 405);
    let off = Edge::start_with(&base, &[site("www", &[])], "");
    assert_eq!(off.ask("GET /js/??a.js", &[]).text(), "index");
}

#[test]
fn a_file_behind_a_password_is_not_joined_to_one_that_is_not() {
    let base = base();
    let users = BTreeMap::from([(
        "ann".to_owned(),
        "$2b$05$abcdefghijklmnopqrstuu5Lo0g67CiD3M4RpN1BmBb4Crp5w7dbK".to_owned(),
    )]);
    let auth = AuthSettings { path: "/js/in/*".into(), users, ..AuthSettings::default() };
    let edge = Edge::start_with(&base, &[SiteSettings { auth: vec![auth], ..joining() }], "");
    assert_eq!(edge.ask("GET /js/??a.js,in/c.js", &[]).status, 404);
    assert_eq!(edge.ask("GET /js/in/??c.js", &[]).status, 401);
}

#[test]
fn rules_hold_for_each_name() {
    let base = base();
    let edge = Edge::start_with(&base, &[joining()], "/js/deep/*\n");
    assert_eq!(edge.ask("GET /js/deep/b.js", &[]).status, 403);
    let blocked = edge.ask("GET /js/??a.js,deep/b.js", &[]);
    assert_eq!((blocked.status, blocked.text().contains("/js/deep/*")), (403, true));
    assert_eq!(edge.ask("GET /js/??a.js,./deep/%62.js", &[]).status, 403);
    assert_eq!(edge.ask("GET /js/??a.js", &[]).status, 200);
}

#[test]
fn what_is_joined_is_coded() {
    let base = base();
    let compress = CompressChoice::Switch(true);
    let edge = Edge::start_with(&base, &[SiteSettings { compress, ..joining() }], "");
    let answer = edge.ask("GET /js/??a.js,deep/b.js", &[("Accept-Encoding", "gzip")]);
    assert_eq!((answer.status, answer.field("content-encoding")), (200, "gzip"));
}
