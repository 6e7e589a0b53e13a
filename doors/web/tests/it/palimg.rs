//! Images with another palette: `/palimg/a.gif/p1ff0000`.

use crate::support::{Edge, Folder, site};
use door_web::{AuthSettings, SiteSettings, SiteSwitch};
use std::collections::BTreeMap;

/// A GIF of one pixel and two colours.
const GIF: &[u8] =
    b"GIF89a\x01\0\x01\0\x80\0\0\x09\x09\x09\x09\x09\x09,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;";

fn base() -> Folder {
    let base = Folder::new();
    base.write("www/palimg/a.gif", GIF);
    base.write("www/palimg/lies.gif", &GIF[..14]);
    base.write("www/palimg/text.png", "no image");
    base.write("www/palimg/in/b.gif", GIF);
    base.write("www/c.gif", GIF);
    base
}

fn changing() -> SiteSettings {
    SiteSettings { palimg: SiteSwitch::On, ..site("www", &[]) }
}

#[test]
fn a_palette_is_changed_in_the_answer_alone() {
    let base = base();
    let edge = Edge::start_with(&base, &[changing()], "");
    let answer = edge.ask("GET /palimg/a.gif/p1ff00aa", &[]);
    let expected = [&GIF[..16], b"\xff\0\xaa", &GIF[19..]].concat();
    assert_eq!((answer.status, answer.body.as_slice()), (200, expected.as_slice()));
    assert_eq!(answer.field("content-type"), "image/gif");
    let tag = answer.field("etag").to_owned();
    assert_eq!(edge.ask("GET /palimg/a.gif/p1ff00aa", &[("If-None-Match", &tag)]).status, 304);
    assert_eq!(edge.ask("GET /palimg/a.gif/p0ff00aa", &[("If-None-Match", &tag)]).status, 200);
    let part = edge.ask("GET /palimg/a.gif/p1ff00aa", &[("Range", "bytes=16-18")]);
    assert_eq!((part.status, part.body.as_slice()), (206, &b"\xff\0\xaa"[..]));
    assert_eq!(edge.ask("GET /palimg/a.gif", &[]).body, GIF);
}

#[test]
fn what_is_no_image_or_no_change_is_not_found() {
    let base = base();
    let edge = Edge::start_with(&base, &[changing()], "");
    for path in [
        "/palimg/a.gif/p",
        "/palimg/a.gif/p1FF00AA",
        "/palimg/a.gif/p1ff00aa/",
        "/palimg/none.gif/p1ff00aa",
        "/palimg/lies.gif/p1ff00aa",
        "/palimg/text.png/p1ff00aa",
        "/palimg/in/b.gif/p1ff00aa",
        "/c.gif/p1ff00aa",
        "/palimg/%2e%2e/c.gif/p1ff00aa",
    ] {
        assert_eq!(edge.ask(&format!("GET {path}"), &[]).status, 404, "{path}");
    }
    assert_eq!(edge.ask("POST /palimg/a.gif/p1ff00aa", &[("Content-Length", "0")]).status, 405);
    let off = Edge::start_with(&base, &[site("www", &[])], "");
    assert_eq!(off.ask("GET /palimg/a.gif/p1ff00aa", &[]).status, 404);
}

#[test]
fn an_image_is_as_guarded_as_it_was() {
    let base = base();
    let users = BTreeMap::from([(
        "ann".to_owned(),
        "$2b$05$abcdefghijklmnopqrstuu5Lo0g67CiD3M4RpN1BmBb4Crp5w7dbK".to_owned(),
    )]);
    let auth = AuthSettings { path: "/palimg/*.gif".into(), users, ..AuthSettings::default() };
    let edge = Edge::start_with(&base, &[SiteSettings { auth: vec![auth], ..changing() }], "");
    assert_eq!(edge.ask("GET /palimg/a.gif/p1ff00aa", &[]).status, 401);
    let blocking = Edge::start_with(&base, &[changing()], "/palimg/a.gif|\n");
    assert_eq!(blocking.ask("GET /palimg/a.gif", &[]).status, 403);
    assert_eq!(blocking.ask("GET /palimg/a.gif/p1ff00aa", &[]).status, 403);
}
