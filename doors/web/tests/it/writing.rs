//! Files that clients write: by `PUT`, `PATCH` and `DELETE`, and as file managers do.

use crate::support::{Answer, Edge, Folder, send, site};
use door_web::{AuthSettings, PutChoice, PutSettings, SiteSettings};
use file_access::private_files::{PrivateFiles, PrivatePaths};
use settings::Text;
use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use vocab::ByteSize;

fn writable() -> SiteSettings {
    SiteSettings {
        webdav: true,
        writers: vec![Text("127.0.0.1".parse().unwrap())],
        ..site("www", &[])
    }
}

fn base() -> Folder {
    let base = Folder::new();
    base.write("www/a.txt", "old");
    base.write("www/sub/b.txt", "below");
    base
}

/// Asks with a body.
fn write(edge: &Edge, request: &str, fields: &[(&str, &str)], body: &str) -> Answer {
    let mut stream = edge.connect();
    let len = body.len().to_string();
    let fields = [fields, &[("Content-Length", len.as_str())]].concat();
    send(&mut stream, "www.example", request, &fields);
    // A refusal may close the connection before all of it is sent.
    let _ = stream.write_all(body.as_bytes());
    Answer::read_to(request, &mut stream)
}

fn status(edge: &Edge, request: &str, fields: &[(&str, &str)]) -> u16 {
    edge.ask(request, fields).status
}

/// The names in a folder, in order.
fn names(folder: &Path) -> Vec<String> {
    let found = fs::read_dir(folder).unwrap().map(|it| it.unwrap().file_name());
    let mut names: Vec<_> = found.map(|it| it.into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_file_is_read_as_it_was_written_last() {
    let base = base();
    let edge = Edge::start_with(&base, &[writable()], "");
    assert_eq!(edge.ask("GET /a.txt", &[]).text(), "old");
    for (at, body) in ["first", "second and longer", ""].iter().enumerate() {
        let written = write(&edge, "PUT /new.txt", &[], body);
        assert_eq!(written.status, if at == 0 { 201 } else { 204 });
        let read = edge.ask("GET /new.txt", &[]);
        assert_eq!((read.text().as_str(), read.field("etag")), (*body, written.field("etag")));
    }
    fs::set_permissions(base.path().join("www/a.txt"), fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(write(&edge, "PUT /a.txt", &[], "new").status, 204);
    assert_eq!(edge.ask("GET /a.txt", &[]).text(), "new");
    let mode = fs::metadata(base.path().join("www/a.txt")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "a file keeps its rights");
    assert_eq!(status(&edge, "DELETE /a.txt", &[]), 204);
    assert_eq!(status(&edge, "GET /a.txt", &[]), 404);
    assert_eq!(names(&base.path().join("www")), ["new.txt", "sub"]);
}

#[test]
fn a_large_body_and_one_of_unknown_length_arrive_whole() {
    let base = base();
    let edge = Edge::start_with(&base, &[writable()], "");
    let body = "0123456789abcdef".repeat(100_000);
    assert_eq!(write(&edge, "PUT /big", &[], &body).status, 201);
    assert!(fs::read_to_string(base.path().join("www/big")).unwrap() == body);
    let mut stream = edge.connect();
    send(&mut stream, "www.example", "PUT /chunks", &[("Transfer-Encoding", "chunked")]);
    stream.write_all(b"5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n").unwrap();
    assert_eq!(Answer::read_to("PUT /chunks", &mut stream).status, 201);
    assert_eq!(edge.ask("GET /chunks", &[]).text(), "hello world");
}

#[test]
fn half_an_upload_leaves_nothing() {
    let base = base();
    let edge = Edge::start_with(&base, &[writable()], "");
    let mut stream = edge.connect();
    send(&mut stream, "www.example", "PUT /a.txt", &[("Content-Length", "100")]);
    stream.write_all(b"half of it").unwrap();
    drop(stream);
    // The next one on the same door comes after it.
    assert_eq!(write(&edge, "PUT /c.txt", &[], "c").status, 201);
    assert_eq!(edge.ask("GET /a.txt", &[]).text(), "old");
    assert_eq!(names(&base.path().join("www")), ["a.txt", "c.txt", "sub"]);
}

#[test]
fn a_body_is_held_against_its_digest() {
    let base = base();
    let edge = Edge::start_with(&base, &[writable()], "");
    let right = ("Content-MD5", "XUFAKrxLKna5cZ2REBfFkg==");
    let sha = ("Repr-Digest", "sha-256=:LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=:");
    assert_eq!(write(&edge, "PUT /x", &[right, sha], "hello").status, 201);
    for field in [right, sha] {
        let answer = write(&edge, "PUT /a.txt", &[field], "hellO");
        assert_eq!((answer.status, answer.text().contains("digest")), (400, true));
    }
    assert_eq!(write(&edge, "PUT /a.txt", &[("Digest", "md5=??")], "x").status, 400);
    assert_eq!(write(&edge, "PUT /a.txt", &[("Content-Encoding", "gzip")], "x").status, 415);
    assert_eq!(edge.ask("GET /a.txt", &[]).text(), "old");
}

#[test]
fn a_site_may_pass_over_content_md5_and_over_no_other_digest() {
    let base = base();
    let put = PutSettings { content_md5: false, ..PutSettings::default() };
    let site = SiteSettings { put: PutChoice::Detailed(put), ..writable() };
    let edge = Edge::start_with(&base, &[site], "");
    for field in ["XUFAKrxLKna5cZ2REBfFkg==", "5d41402abc4b2a76b9719d911017c592"] {
        assert_eq!(write(&edge, "PUT /a.txt", &[("Content-MD5", field)], "other").status, 204);
    }
    let sha = ("Repr-Digest", "sha-256=:LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=:");
    assert_eq!(write(&edge, "PUT /a.txt", &[sha], "hellO").status, 400);
}

#[test]
fn conditions_keep_two_writers_apart() {
    let base = base();
    let edge = Edge::start_with(&base, &[writable()], "");
    let tag = edge.ask("GET /a.txt", &[]).field("etag").to_owned();
    assert_eq!(write(&edge, "PUT /a.txt", &[("If-None-Match", "*")], "x").status, 412);
    assert_eq!(write(&edge, "PUT /none", &[("If-Match", "*")], "x").status, 412);
    assert_eq!(write(&edge, "PUT /a.txt", &[("If-Match", &tag)], "mine").status, 204);
    assert_eq!(write(&edge, "PUT /a.txt", &[("If-Match", &tag)], "theirs").status, 412);
    assert_eq!(edge.ask("GET /a.txt", &[]).text(), "mine");
    assert_eq!(write(&edge, "PUT /new", &[("If-None-Match", "*")], "x").status, 201);
}

#[test]
fn ranges_change_a_part_of_a_file_and_the_whole_at_one_moment() {
    let base = base();
    base.write("www/r", "0123456789");
    let edge = Edge::start_with(&base, &[writable()], "");
    let patch = |range: &str, body: &str| {
        let kind = ("Content-Type", "application/x-sabredav-partialupdate");
        write(&edge, "PATCH /r", &[kind, ("X-Update-Range", range)], body).status
    };
    assert_eq!(patch("bytes=2-4", "abc"), 204);
    assert_eq!(patch("append", "!"), 204);
    assert_eq!(edge.ask("GET /r", &[]).text(), "01abc56789!");
    assert_eq!(patch("bytes=2-4", "too long"), 416);
    assert_eq!(patch("bytes=999999999-", "hole"), 416);
    // A link to what is no file is not waited for.
    rustix::fs::mkfifoat(rustix::fs::CWD, base.path().join("www/fifo"), 0o600.into()).unwrap();
    symlink("fifo", base.path().join("www/pipe")).unwrap();
    let kind = ("Content-Type", "application/x-sabredav-partialupdate");
    let append = ("X-Update-Range", "append");
    assert_eq!(write(&edge, "PATCH /pipe", &[kind, append], "x").status, 409);
    let range = ("Content-Range", "bytes 0-1/*");
    assert_eq!(write(&edge, "PUT /r", &[range], "xy").status, 204);
    assert_eq!(edge.ask("GET /r", &[]).text(), "xyabc56789!");
}

#[test]
fn only_writers_write() {
    let base = base();
    let stranger = vec![Text("192.0.2.0/24".parse().unwrap())];
    let edge = Edge::start_with(&base, &[SiteSettings { writers: stranger, ..writable() }], "");
    for request in ["PUT /a.txt", "DELETE /a.txt", "PROPFIND /", "MKCOL /x", "LOCK /a.txt"] {
        assert_eq!(write(&edge, request, &[("Depth", "0")], "").status, 403, "{request}");
    }
    assert_eq!(status(&edge, "GET /a.txt", &[]), 200);
    assert!(edge.ask("OPTIONS /a.txt", &[]).field("dav").starts_with("1,2"));
    let reading = Edge::start_with(&base, &[site("www", &[])], "");
    assert_eq!(write(&reading, "PUT /a.txt", &[], "x").status, 405);
}

#[test]
fn a_page_of_a_stranger_writes_nothing_from_a_network_of_writers() {
    let base = base();
    let named = SiteSettings { hosts: vec!["www.example".into()], ..writable() };
    let edge = Edge::start_with(&base, &[named], "");
    let put = |host: &str, fields: &[(&str, &str)]| {
        let fields = [fields, &[("Content-Length", "0")]].concat();
        edge.ask_host(host, "PUT /page", &fields).status
    };
    let origin = [("Origin", "http://rebound.example")];
    assert_eq!(put("rebound.example", &origin), 403);
    assert_eq!(put("rebound.example", &[("Sec-Fetch-Site", "same-origin")]), 403);
    assert_eq!(put("www.example", &[("Origin", "http://www.example")]), 201);
    assert_eq!(put("rebound.example", &[]), 204, "no browser");
}

#[test]
fn each_way_of_writing_is_a_choice() {
    let base = base();
    let puts = SiteSettings { webdav: false, put: PutChoice::Switch(true), ..writable() };
    let edge = Edge::start_with(&base, std::slice::from_ref(&puts), "");
    assert_eq!(write(&edge, "PUT /n", &[], "x").status, 201);
    let refused = edge.ask("DELETE /n", &[]);
    assert_eq!((refused.status, refused.field("allow")), (405, "GET, HEAD, OPTIONS, PUT, PATCH"));
    assert_eq!(edge.ask("OPTIONS /n", &[]).field("dav"), "");
    let deletes = SiteSettings { put: PutChoice::Switch(false), delete: true, ..puts };
    let edge = Edge::start_with(&base, &[deletes], "");
    assert_eq!(write(&edge, "PUT /n", &[], "x").status, 405);
    assert_eq!(status(&edge, "DELETE /sub/", &[]), 409, "a folder is not removed");
    assert_eq!(status(&edge, "DELETE /sub/b.txt", &[]), 204);
    assert_eq!(status(&edge, "DELETE /sub/b.txt", &[]), 404);
    assert_eq!(status(&edge, "MKCOL /x", &[]), 405);
}

#[test]
fn folders_on_the_way_are_made_where_the_site_says_so() {
    let base = base();
    let put =
        |min| PutChoice::Detailed(PutSettings { min_put_directory: min, ..PutSettings::default() });
    let made = SiteSettings { put: put(Some(1)), ..writable() };
    let edge = Edge::start_with(&base, &[made], "");
    assert_eq!(write(&edge, "PUT /sub/x/y/z", &[], "x").status, 201);
    assert_eq!(write(&edge, "PUT /other/x/z", &[], "x").status, 409);
    assert_eq!(write(&edge, "PUT /sub/.x/z", &[], "x").status, 403);
    let edge = Edge::start_with(&base, &[SiteSettings { put: put(None), ..writable() }], "");
    assert_eq!(write(&edge, "PUT /sub/none/z", &[], "x").status, 409);
    assert_eq!(names(&base.path().join("www/sub")), ["b.txt", "x"]);
}

#[test]
fn a_file_and_a_site_have_their_bounds() {
    let base = base();
    let put = PutSettings {
        body_max: Text(ByteSize(1000)),
        quota: Some(Text(ByteSize(1500))),
        ..PutSettings::default()
    };
    let site = SiteSettings { put: PutChoice::Detailed(put), ..writable() };
    let edge = Edge::start_with(&base, &[site], "");
    assert_eq!(write(&edge, "PUT /big", &[], &"x".repeat(1001)).status, 413);
    let mut stream = edge.connect();
    send(&mut stream, "www.example", "PUT /big", &[("Transfer-Encoding", "chunked")]);
    stream.write_all(format!("3e9\r\n{}\r\n0\r\n\r\n", "x".repeat(1001)).as_bytes()).unwrap();
    assert_eq!(Answer::read_to("PUT /big", &mut stream).status, 413);
    assert_eq!(write(&edge, "PUT /one", &[], &"x".repeat(900)).status, 201);
    assert_eq!(write(&edge, "PUT /two", &[], &"x".repeat(900)).status, 507);
    let copy = [("Destination", "/three")];
    assert_eq!(status(&edge, "COPY /one", &copy), 507);
    // What is replaced or removed gives its room back.
    assert_eq!(status(&edge, "DELETE /one", &[]), 204);
    assert_eq!(write(&edge, "PUT /two", &[], &"x".repeat(900)).status, 201);
    assert_eq!(names(&base.path().join("www")), ["a.txt", "sub", "two"]);
    let find = edge.ask("PROPFIND /", &[("Depth", "0")]);
    assert!(!find.text().contains("quota"), "asked for by name alone");
}

#[test]
fn what_readers_do_not_get_is_out_of_reach() {
    let base = base();
    base.write("www/.secret", "hidden");
    base.write("www/run.php", "source");
    base.write("www/state/key", "private");
    base.write("outside", "outside");
    symlink("../outside", base.path().join("www/link")).unwrap();
    let state = base.path().join("www/state");
    let private = PrivateFiles::new(PrivatePaths { private: vec![state], public: Vec::new() });
    let edge = Edge::start_hiding(&base, &[writable()], private);
    for name in ["/.secret", "/run.php", "/state/key", "/state", "/.new", "/new.php", "/x.PHP~"] {
        let put = write(&edge, &format!("PUT {name}"), &[], "x").status;
        assert!(matches!(put, 403 | 404 | 409), "{name}: {put}");
        let delete = status(&edge, &format!("DELETE {name}"), &[]);
        assert!(matches!(delete, 403 | 404), "{name}: {delete}");
        let copy = status(&edge, &format!("COPY {name}"), &[("Destination", "/copy.txt")]);
        assert!(matches!(copy, 403 | 404), "{name}: {copy}");
        let to = [("Destination", name)];
        let moved = status(&edge, "MOVE /a.txt", &to);
        assert!(matches!(moved, 403 | 404 | 409 | 412), "{name}: {moved}");
    }
    for name in ["/../outside", "/%2e%2e/outside", "/sub/../../outside"] {
        assert_eq!(write(&edge, &format!("PUT {name}"), &[], "x").status, 405, "{name}");
        let to = [("Destination", name)];
        assert!(matches!(status(&edge, "MOVE /a.txt", &to), 400 | 405 | 502), "{name}");
    }
    // The link itself is replaced; what it leads to stays.
    assert!(matches!(write(&edge, "PUT /link", &[], "mine").status, 201 | 204));
    let listed = edge.ask("PROPFIND /", &[("Depth", "1")]).text();
    for hidden in [".secret", "run.php", "state"] {
        assert!(!listed.contains(hidden), "{listed}");
    }
    let read = |name: &str| fs::read_to_string(base.path().join(name)).unwrap();
    assert_eq!(read("outside"), "outside");
    assert_eq!((read("www/state/key"), read("www/.secret")), ("private".into(), "hidden".into()));
    assert_eq!(read("www/run.php"), "source");
}

#[test]
fn a_folder_is_not_moved_away_from_its_password() {
    let base = base();
    base.write("www/private/x.txt", "x");
    let users = BTreeMap::from([(
        "ann".to_owned(),
        "$2b$05$abcdefghijklmnopqrstuu5Lo0g67CiD3M4RpN1BmBb4Crp5w7dbK".to_owned(),
    )]);
    let auth = AuthSettings { path: "/private/*".into(), users, ..AuthSettings::default() };
    let edge = Edge::start_with(&base, &[SiteSettings { auth: vec![auth], ..writable() }], "");
    for (request, to) in [
        ("MOVE /private", "/open"),
        ("COPY /private", "/open"),
        ("MOVE /a.txt", "/private/a.txt"),
        ("COPY /a.txt", "/private/a.txt"),
    ] {
        let got = status(&edge, request, &[("Destination", to)]);
        assert!(got != 401 || request.contains("private/"), "{request}: {got}");
        assert_ne!(status(&edge, &format!("GET {to}"), &[]), 200, "{request} to {to}: {got}");
    }
    assert_eq!(status(&edge, "GET /open/x.txt", &[]), 404);
    assert_eq!(status(&edge, "PUT /private/y", &[("Content-Length", "0")]), 401);
    status(&edge, "DELETE /private", &[]);
    assert_eq!(fs::read_to_string(base.path().join("www/private/x.txt")).unwrap(), "x");
    assert!(!edge.ask("PROPFIND /private", &[("Depth", "1")]).text().contains("x.txt"));
}

#[test]
fn nothing_is_lost_by_a_move_onto_its_own_way() {
    let base = base();
    base.write("www/sub/deep/c.txt", "c");
    let edge = Edge::start_with(&base, &[writable()], "");
    for (request, to) in [
        ("MOVE /sub/deep", "/sub"),
        ("MOVE /sub", "/sub/deep"),
        ("COPY /sub", "/sub/deep"),
        ("COPY /sub/deep", "/"),
        ("MOVE /sub", "/"),
        ("DELETE /", ""),
        ("MOVE /", "/x"),
    ] {
        let to = [("Destination", to)];
        let fields = if to[0].1.is_empty() { &[][..] } else { &to[..] };
        assert_eq!(status(&edge, request, fields), 403, "{request} {to:?}");
    }
    assert_eq!(fs::read_to_string(base.path().join("www/sub/deep/c.txt")).unwrap(), "c");
    assert_eq!(names(&base.path().join("www")), ["a.txt", "sub"]);
    let other = [("Destination", "http://elsewhere.example/x")];
    assert_eq!(status(&edge, "MOVE /a.txt", &other), 502);
    let here = [("Destination", "http://www.example/moved%20here.txt")];
    assert_eq!(status(&edge, "MOVE /a.txt", &here), 201);
    assert_eq!(edge.ask("GET /moved%20here.txt", &[]).text(), "old");
    let kept = [("Destination", "/sub/b.txt"), ("Overwrite", "F")];
    assert_eq!(status(&edge, "MOVE /moved%20here.txt", &kept), 412);
    let replaced = [("Destination", "/sub/b.txt")];
    assert_eq!(edge.ask("GET /sub/b.txt", &[]).text(), "below");
    assert_eq!(status(&edge, "MOVE /moved%20here.txt", &replaced), 204);
    assert_eq!(edge.ask("GET /sub/b.txt", &[]).text(), "old");
}

#[test]
fn a_look_at_everything_and_a_bomb_are_refused() {
    let base = base();
    let edge = Edge::start_with(&base, &[writable()], "");
    for fields in [&[][..], &[("Depth", "infinity")], &[("Depth", "infinity"), ("X-Litmus", "1")]] {
        let answer = edge.ask("PROPFIND /", fields);
        assert_eq!(answer.status, 403);
        assert!(answer.text().contains("propfind-finite-depth"));
    }
    let depth = [("Depth", "0")];
    assert_eq!(write(&edge, "PROPFIND /", &depth, &"<a>".repeat(20_000)).status, 400);
    let entities = "<!DOCTYPE a [<!ENTITY b \"bb\">]><a>&b;</a>";
    assert_eq!(write(&edge, "PROPFIND /", &depth, entities).status, 400);
    assert_eq!(write(&edge, "PROPFIND /", &depth, &"x".repeat(70_000)).status, 413);
    assert_eq!(edge.ask("PROPFIND /", &[("Depth", "1")]).status, 207);
}

#[test]
fn links_to_folders_lead_no_copy_in_circles() {
    let base = base();
    symlink(".", base.path().join("www/sub/again")).unwrap();
    symlink(".", base.path().join("www/sub/and-again")).unwrap();
    symlink("b.txt", base.path().join("www/sub/file")).unwrap();
    let edge = Edge::start_with(&base, &[writable()], "");
    assert_eq!(status(&edge, "COPY /sub/", &[("Destination", "/copy/")]), 201);
    assert_eq!(names(&base.path().join("www/copy")), ["b.txt", "file"]);
    assert_eq!(status(&edge, "DELETE /sub/", &[]), 204);
    assert_eq!(names(&base.path().join("www")), ["a.txt", "copy"]);
}

#[test]
fn a_locked_file_is_its_owners() {
    let base = base();
    let edge = Edge::start_with(&base, &[writable()], "");
    let lock = "<?xml version=\"1.0\"?><D:lockinfo xmlns:D=\"DAV:\"><D:lockscope><D:exclusive/>\
                </D:lockscope><D:locktype><D:write/></D:locktype></D:lockinfo>";
    let locked = write(&edge, "LOCK /a.txt", &[("Timeout", "Infinite")], lock);
    assert_eq!(locked.status, 200);
    assert!(locked.text().contains("Second-600"), "{}", locked.text());
    let token = locked.field("lock-token").to_owned();
    assert_eq!(write(&edge, "PUT /a.txt", &[], "theirs").status, 423);
    assert_eq!(status(&edge, "DELETE /a.txt", &[]), 423);
    let mine = format!("({token})");
    assert_eq!(write(&edge, "PUT /a.txt", &[("If", &mine)], "mine").status, 204);
    assert_eq!(status(&edge, "UNLOCK /a.txt", &[("Lock-Token", &token)]), 204);
    assert_eq!(write(&edge, "PUT /a.txt", &[], "anybody's").status, 204);
    // Locks of one client have a bound; a name that nothing has gets an empty file.
    let locked_names =
        (0..257).filter(|at| write(&edge, &format!("LOCK /l{at}"), &[], lock).status == 201);
    assert_eq!(locked_names.count(), 256);
}
