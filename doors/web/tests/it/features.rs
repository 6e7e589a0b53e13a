//! What a site can be told: paths, hosts, redirects, fields, its own pages, links and hidden names.

use crate::support::{Edge, Folder, site};
use door_web::{
    CacheRule, CompressChoice, HeaderRule, HiddenFiles, SiteRedirectSettings, SiteSettings,
    SiteSwitch, SymlinkMode,
};
use std::collections::BTreeMap;
use std::os::unix::fs::symlink;
use std::process::Command;

fn base() -> Folder {
    let base = Folder::new();
    base.write("www/index.html", "home");
    base.write("www/app.js", "code");
    base.write("www/404.html", "nothing, sadly");
    base.write("www/.env", "hidden");
    base.write("docs/index.html", "docs");
    base.write("docs/a b.html", "a page");
    base.write("outside.txt", "outside");
    base
}

fn start(base: &Folder, site: SiteSettings) -> Edge {
    Edge::start_with(base, &[site], "||blocked.example^\n")
}

#[test]
fn a_site_may_stand_below_a_path() {
    let base = base();
    let docs = SiteSettings { path: "/docs/".into(), ..site("docs", &["a.example"]) };
    let edge = Edge::start_with(&base, &[site("www", &["a.example"]), docs], "");
    let ask = |path: &str| edge.ask_host("a.example", &format!("GET {path}"), &[]);
    assert_eq!(ask("/").text(), "home");
    assert_eq!(ask("/docs/").text(), "docs");
    assert_eq!(ask("/%64ocs/a%20b.html").text(), "a page");
    assert_eq!(ask("/docs/app.js").status, 404);
    let moved = ask("/docs?x=1");
    assert_eq!((moved.status, moved.field("location")), (301, "/docs/?x=1"));
}

#[test]
fn hosts_are_exact_before_wildcards_before_expressions() {
    let base = Folder::new();
    for name in ["exact", "below", "deeper", "matching", "rest"] {
        base.write(&format!("{name}/index.html"), name);
    }
    let sites = [
        site("matching", &[r"~^w\d+\.example$", "~b"]),
        site("rest", &[]),
        site("below", &["*.b.example"]),
        site("deeper", &["*.c.b.example"]),
        site("exact", &["www.b.example"]),
    ];
    let edge = Edge::start_with(&base, &sites, "");
    for (host, shown) in [
        ("www.b.example", "exact"),
        ("WWW.B.example.:8080", "exact"),
        ("x.b.example", "below"),
        ("x.y.b.example", "below"),
        ("x.c.b.example", "deeper"),
        ("b.example", "matching"),
        ("w42.example", "matching"),
        ("w42.example.org", "rest"),
        ("[::1]:80", "rest"),
    ] {
        assert_eq!(edge.ask_host(host, "GET /", &[]).text(), shown, "{host}");
    }
}

#[test]
fn redirects_come_before_files_and_keep_the_query() {
    let base = base();
    let redirect = |from: &str, to: &str, status| SiteRedirectSettings {
        from: from.into(),
        to: to.into(),
        status,
    };
    let redirects = vec![
        redirect("/old/*", "/new/$1", 301),
        redirect("/app.js", "https://cdn.example/app.js?v=2", 308),
    ];
    let edge = start(&base, SiteSettings { redirects, ..site("www", &[]) });
    for (path, status, location) in [
        ("/old/a%20b?x=1&y", 301, "/new/a%20b?x=1&y"),
        ("/%6Fld//x", 301, "/new/x"),
        ("/old/%0d%0aSet-Cookie:%20a=b", 301, "/new/%0D%0ASet-Cookie:%20a=b"),
        ("/app.js?x", 308, "https://cdn.example/app.js?v=2"),
    ] {
        let answer = edge.ask(&format!("GET {path}"), &[]);
        assert_eq!((answer.status, answer.field("location")), (status, location), "{path}");
        assert_eq!(answer.field("set-cookie"), "");
    }
    let posted = edge.ask("POST /app.js", &[("Content-Length", "0")]);
    assert_eq!(posted.status, 308);
}

#[test]
fn fields_follow_the_rules_of_the_site() {
    let base = base();
    let headers = vec![
        HeaderRule {
            set: BTreeMap::from([("X-Frame-Options".into(), "DENY".into())]),
            ..HeaderRule::default()
        },
        HeaderRule {
            pattern: "*.html".into(),
            remove: vec!["X-Content-Type-Options".into()],
            ..HeaderRule::default()
        },
    ];
    let rule =
        |pattern: &str, value: &str| CacheRule { pattern: pattern.into(), value: value.into() };
    let cache_control =
        vec![rule("*.js", "public, max-age=31536000, immutable"), rule("", "no-cache")];
    let edge = start(&base, SiteSettings { headers, cache_control, ..site("www", &[]) });
    // Twice: from the disk, and from memory.
    for _ in 0..2 {
        let home = edge.ask("GET /", &[]);
        assert_eq!(
            (home.field("x-frame-options"), home.field("cache-control")),
            ("DENY", "no-cache")
        );
        assert_eq!(home.field("x-content-type-options"), "");
        let code = edge.ask("GET /app.js", &[]);
        assert_eq!(code.field("cache-control"), "public, max-age=31536000, immutable");
        assert_eq!(code.field("x-content-type-options"), "nosniff");
        let same = edge.ask("GET /app.js", &[("If-None-Match", code.field("etag"))]);
        assert_eq!((same.status, same.field("cache-control")), (304, code.field("cache-control")));
        let none = edge.ask("GET /none", &[]);
        assert_eq!((none.status, none.field("x-frame-options")), (404, "DENY"));
    }
}

#[test]
fn a_site_has_its_own_pages_for_errors() {
    let base = base();
    let errors = BTreeMap::from([
        ("404".into(), "/404.html".into()),
        ("4xx".into(), "/missing.html".into()),
    ]);
    let edge = start(&base, SiteSettings { errors, ..site("www", &[]) });
    for _ in 0..2 {
        let none = edge.ask("GET /none", &[]);
        assert_eq!((none.status, none.text().as_str()), (404, "nothing, sadly"));
        assert_eq!(none.field("content-type"), "text/html; charset=utf-8");
        assert_eq!((none.field("etag"), none.field("content-security-policy")), ("", ""));
        let head = edge.ask("HEAD /none", &[]);
        assert_eq!((head.status, head.field("content-length")), (404, "14"));
    }
    // A page that is not there leaves ours.
    let post = edge.ask("POST /", &[("Content-Length", "0")]);
    assert_eq!((post.status, post.field("allow")), (405, "GET, HEAD"));
    assert!(post.text().contains("GET, HEAD"));
    // A reason is never hidden.
    assert!(edge.ask_host("blocked.example", "GET /", &[]).text().contains("list mine, line 1"));
}

#[test]
fn an_application_of_one_page_is_found_at_every_path() {
    let base = base();
    let fallback = Some("/index.html".into());
    let edge = start(&base, SiteSettings { fallback, ..site("www", &[]) });
    for path in ["/any/where", "/any/", "/.env", "/app.js/x"] {
        let answer = edge.ask(&format!("GET {path}"), &[]);
        // What is hidden stays hidden, whatever else is shown.
        let expected = if path == "/.env" { 404 } else { 200 };
        assert_eq!(answer.status, expected, "{path}");
        assert!(expected == 404 || answer.text() == "home");
    }
    assert_eq!(edge.ask("GET /app.js", &[]).text(), "code");
    assert_eq!(edge.ask("GET /..%2fx", &[]).status, 400);
}

#[test]
fn links_and_hidden_names_are_the_sites_choice() {
    let base = base();
    symlink("app.js", base.path().join("www/inside.js")).unwrap();
    symlink("../outside.txt", base.path().join("www/outside.txt")).unwrap();
    symlink(base.path().join("docs"), base.path().join("www/docs")).unwrap();
    for (symlinks, inside, outside, docs) in [
        (SymlinkMode::Inside, 200, 404, 404),
        (SymlinkMode::Refuse, 404, 404, 404),
        (SymlinkMode::Follow, 200, 200, 200),
    ] {
        let edge = start(&base, SiteSettings { symlinks, ..site("www", &[]) });
        let status = |path: &str| edge.ask(&format!("GET {path}"), &[]).status;
        let found = (status("/inside.js"), status("/outside.txt"), status("/docs/"));
        assert_eq!(found, (inside, outside, docs), "{symlinks:?}");
        assert_eq!(status("/../outside.txt"), 400);
    }
    let edge = start(&base, SiteSettings { hidden: HiddenFiles::Serve, ..site("www", &[]) });
    assert_eq!(edge.ask("GET /.env", &[]).text(), "hidden");
}

#[test]
fn curl_follows_redirects_and_gets_several_parts() {
    let base = base();
    let redirects = vec![SiteRedirectSettings {
        from: "/start/*".into(),
        to: "/$1".into(),
        ..SiteRedirectSettings::default()
    }];
    let edge = start(&base, SiteSettings { redirects, ..site("www", &[]) });
    let curl = |more: &[&str], path: &str| {
        let output = Command::new("curl")
            .args(["-sS", "--max-time", "20", "--noproxy", "*"])
            .args(more)
            .arg(format!("http://{}{path}", edge.at[0]))
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(curl(&["-L"], "/start/app.js"), "code");
    assert_eq!(curl(&["-r", "1-2"], "/app.js"), "od");
    assert_eq!(curl(&["-r", "0-0,-1"], "/app.js"), "code");
}

#[test]
fn curl_is_sent_to_places_that_say_what_it_asked() {
    let base = base();
    let redirect = |from: &str, to: &str| SiteRedirectSettings {
        from: from.into(),
        to: to.into(),
        ..SiteRedirectSettings::default()
    };
    let redirects = vec![
        redirect("~^/f/(?<name>[a-z]+)-([a-z]+)$", "{scheme}://{host}/${name}.$2?{query}"),
        redirect("/far/*", "https://far.example{uri}"),
    ];
    let edge = start(&base, SiteSettings { redirects, ..site("www", &[]) });
    for (path, due) in [
        ("/f/app-js?v=1", "http://site.example/app.js?v=1"),
        ("/f/app-js", "http://site.example/app.js"),
        ("/f/app-JS", ""),
        ("/far//a%20b?c", "https://far.example/far/a%20b?c"),
        ("/far/%0d%0aX:y", "https://far.example/far/%0D%0AX:y"),
    ] {
        let output = Command::new("curl")
            .args(["-sS", "--max-time", "20", "--noproxy", "*", "--path-as-is", "-o", "/dev/null"])
            .args(["-H", "Host: site.example", "-w", "%{redirect_url}"])
            .arg(format!("http://{}{path}", edge.at[0]))
            .output()
            .unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), due, "{path}");
    }
}

#[test]
fn a_film_begins_where_a_player_wants_it_to() {
    let base = Folder::new();
    let (small, large) = (film(1_000), film(1 << 20));
    base.write("www/a.flv", &small);
    base.write("www/large.flv", &large);
    base.write("www/a.txt", &small);
    let flv = SiteSettings {
        flv: SiteSwitch::On,
        compress: CompressChoice::Switch(true),
        ..site("www", &[])
    };
    let edge = Edge::start_with(&base, &[flv], "");
    // From the file, and then from memory.
    for _ in 0..2 {
        for (path, film) in [("/a.flv", &small), ("/large.flv", &large)] {
            let whole = edge.ask(&format!("GET {path}"), &[]);
            assert_eq!((whole.status, &whole.body), (200, film));
            let rest = edge.ask(&format!("GET {path}?id=1&start=700"), &[("Range", "bytes=0-3")]);
            assert_eq!((rest.status, rest.field("accept-ranges")), (200, ""));
            assert_eq!(rest.field("content-type"), whole.field("content-type"));
            assert_ne!(rest.field("etag"), whole.field("etag"));
            assert_eq!(rest.body, [b"FLV\x01\x05\0\0\0\x09\0\0\0\0", &film[700..]].concat());
            let tag = rest.field("etag");
            let same = edge.ask(&format!("GET {path}?start=700"), &[("If-None-Match", tag)]);
            assert_eq!(same.status, 304);
            let head = edge.ask(&format!("HEAD {path}?start=700"), &[]);
            assert_eq!(head.field("content-length"), rest.body.len().to_string());
        }
    }
    for query in ["start=0", "start=1000", "start=x", "start=-5", "begin=5"] {
        assert_eq!(edge.ask(&format!("GET /a.flv?{query}"), &[]).body, small, "{query}");
    }
    assert_eq!(edge.ask("GET /a.txt?start=700", &[]).body, small);
    let plain = Edge::start(&base);
    assert_eq!(plain.ask("GET /a.flv?start=700", &[]).body, small);
}

/// Bytes that differ wherever they are cut.
fn film(len: u32) -> Vec<u8> {
    (0..len.div_ceil(4)).flat_map(u32::to_be_bytes).take(len as usize).collect()
}
