//! Slashes in a path that some servers see and others do not: routes that let them pass, and what
//! may not be got around by them.

use crate::support::{Gateway, Origin, Reply, get, ok, parts, simple, start};
use door_gateway::{
    BlockSettings, EncodedSlash, FixedAnswerSettings, ForecastQuestion, PatternSource,
    ReproxySettings, RouteSettings, Settings,
};
use std::net::SocketAddr;
use transport::clock;
use vocab::RequestKind;

/// A server that answers with the target that it was asked for.
fn told() -> Origin {
    Origin::start(|_, _, request| ok(request.split(' ').nth(1).unwrap()))
}

fn pool(path: &str) -> RouteSettings {
    RouteSettings { path: path.into(), pool: Some("app".into()), ..Default::default() }
}

fn keeps(path: &str) -> RouteSettings {
    RouteSettings { encoded_slash: EncodedSlash::Keep, ..pool(path) }
}

fn decodes(path: &str) -> RouteSettings {
    RouteSettings { encoded_slash: EncodedSlash::Decode, ..pool(path) }
}

fn unmerged(path: &str) -> RouteSettings {
    RouteSettings { merge_slashes: false, ..pool(path) }
}

/// A route that answers by itself, in place of one with a password.
fn held(path: &str) -> RouteSettings {
    let answer = FixedAnswerSettings { body: "held".into(), ..Default::default() };
    RouteSettings { path: path.into(), answer: Some(answer), ..Default::default() }
}

fn routed(server: SocketAddr, routes: Vec<RouteSettings>) -> Settings {
    Settings { routes, ..simple(&[server]) }
}

/// The target that reached the server, or the status without one.
fn target(gateway: &Gateway, path: &str) -> String {
    let answer = get(gateway, path);
    match answer.strip_prefix("HTTP/1.1 200 OK") {
        Some(rest) => rest.split("\r\n\r\n").nth(1).unwrap().to_owned(),
        None => answer.split(' ').nth(1).unwrap_or("none").to_owned(),
    }
}

#[test]
fn slashes_that_are_data_reach_servers_as_they_are() {
    let server = told();
    let routes = vec![
        RouteSettings { strip_prefix: Some("/npm".into()), ..keeps("/npm/*") },
        keeps("/api/*"),
        unmerged("/img/*"),
        pool("/*"),
    ];
    let gateway = start(routed(server.address, routes), parts(""));
    for (asked, expected) in [
        // npm: a package of a scope.
        ("/npm/@scope%2fpkg", "/@scope%2Fpkg"),
        ("/npm/@scope%2Fpkg/-/pkg-1.0.0.tgz", "/@scope%2Fpkg/-/pkg-1.0.0.tgz"),
        // GitLab: a project and a file as one segment each.
        (
            "/api/v4/projects/group%2Fsub%2Fproject/repository/files/src%2Fa%2Ers?ref=x%2Fy",
            "/api/v4/projects/group%2Fsub%2Fproject/repository/files/src%2Fa.rs?ref=x%2Fy",
        ),
        // RabbitMQ: the virtual host that is called "/".
        ("/api/queues/%2F/orders", "/api/queues/%2F/orders"),
        ("/api/vhosts/%2f", "/api/vhosts/%2F"),
        ("/api/users/DOMAIN%5cuser", "/api/users/DOMAIN%5Cuser"),
        ("/api//x", "/api/x"),
        ("/api/a%252Fb", "/api/a%252Fb"),
        // A proxy of pictures: a URL in the path.
        ("/img/fit/https://a.example//b.png", "/img/fit/https://a.example//b.png"),
        ("/img/a/.//./b//", "/img/a//b//"),
        // Others hold to the default.
        ("/other%2Fx", "400"),
        ("/other//x", "/other/x"),
        ("/img/a%2Fb", "400"),
    ] {
        assert_eq!(target(&gateway, asked), expected, "{asked}");
    }
}

#[test]
fn slashes_that_are_decoded_are_slashes_to_all() {
    let server = told();
    let routes = vec![held("/admin/*"), decodes("/*")];
    let gateway = start(routed(server.address, routes), parts(""));
    for (asked, expected) in [
        ("/a%2Fb%2f%2Fc?d=%2F", "/a/b/c?d=%2F"),
        ("/a%5Cb", "/a/b"),
        ("/a%2F..%2Fb", "/b"),
        ("/a%2F%2e%2e%2F..%2Fb", "400"),
        ("/a%252Fb", "/a%252Fb"),
        ("/a//b", "/a/b"),
        // Whatever is asked for inside is refused by the route that refuses them.
        ("/admin%2Fx", "400"),
        ("/x/..%2fadmin%2Fx", "400"),
        ("/admin/x", "held"),
    ] {
        assert_eq!(target(&gateway, asked), expected, "{asked}");
    }
}

/// Ways to write `/admin/secret` with slashes that not every server sees.
const SPELLINGS: [&str; 26] = [
    "/admin%2Fsecret",
    "/admin%2fsecret",
    "/admin%5Csecret",
    "/%2Fadmin/secret",
    "/%2Fadmin%2Fsecret",
    "/%5cadmin/secret",
    "//admin/secret",
    "/admin//secret",
    "//admin%2Fsecret",
    "/admin/%2Fsecret",
    "/x%2F..%2Fadmin%2Fsecret",
    "/x/..%2Fadmin/secret",
    "/x/..%5cadmin%5csecret",
    "/x/%2e%2e%2fadmin/secret",
    "/npm/..%2Fadmin/secret",
    "/npm%2F../admin/secret",
    "/npm/x%2F..%2F..%2Fadmin%2Fsecret",
    "/admin;x%2Fsecret",
    "/admin%2F;x/secret",
    "/admin;a=b%2F/secret",
    "/;%2Fadmin/secret",
    "/admin%2F/secret",
    "/./admin%2Fsecret",
    "/npm/..;%2Fadmin/secret",
    "/x%2Fy/../admin%2Fsecret",
    "/npm/x%5cy/../../admin%5csecret",
];

#[test]
fn no_such_spelling_walks_past_a_route_a_pattern_or_a_policy() {
    let both = |path: &str| RouteSettings { merge_slashes: false, ..keeps(path) };
    let block = BlockSettings {
        patterns: PatternSource::Inline(vec!["|/admin/secret".into()]),
        ..Default::default()
    };
    let blocks = RouteSettings { block: Some(block.clone()), ..RouteSettings::default() };
    let open = || vec![both("/npm/*"), both("/*")];
    let with = |first: RouteSettings| [vec![first], open()].concat();
    for (routes, whole, rules) in [
        (with(held("/admin/*")), None, ""),
        (with(held("~^/admin/")), None, ""),
        (with(held("/admin/secret")), None, ""),
        (with(RouteSettings { merge_slashes: true, ..keeps("/admin/*") }), None, "/admin/secret"),
        (with(blocks), None, ""),
        (open(), Some(block), ""),
        (open(), None, "||app.example/admin/secret\n"),
    ] {
        let server = told();
        let mut settings = routed(server.address, routes);
        settings.block = whole;
        let gateway = start(settings, parts(rules));
        for path in SPELLINGS {
            let got = target(&gateway, path);
            assert!(matches!(&*got, "400" | "403" | "held"), "{path}: {got}");
        }
        assert_eq!(server.seen().len(), 0, "{:?}", server.seen());
        assert_eq!(target(&gateway, "/npm/@a%2Fb"), "/npm/@a%2Fb");
        assert_eq!(target(&gateway, "/x//y"), "/x//y");
    }
}

#[test]
fn a_later_route_is_not_walked_past_either() {
    let server = told();
    let routes = vec![keeps("~^/files/[^/]+$"), held("/files/secret/*"), pool("/*")];
    let gateway = start(routed(server.address, routes), parts(""));
    assert_eq!(target(&gateway, "/files/secret%2Fx"), "400");
    assert_eq!(target(&gateway, "/files/a"), "/files/a");
    // It says itself what it is about.
    let routes = vec![keeps("~^/files/[^/]+%2F[^/]+$"), keeps("/exact%2fly"), pool("/*")];
    let gateway = start(routed(server.address, routes), parts(""));
    assert_eq!(target(&gateway, "/files/a%2Fb"), "/files/a%2Fb");
    assert_eq!(target(&gateway, "/exact%2Fly"), "/exact%2Fly");
    assert_eq!(target(&gateway, "/exact/ly"), "/exact/ly");
    assert_eq!(target(&gateway, "/files/a%2Fb%2Fc/d"), "400");
}

#[test]
fn what_is_kept_apart_is_cached_apart() {
    let server = Origin::start(|_, _, request| {
        let target = request.split(' ').nth(1).unwrap();
        let length = target.len();
        Reply::Keep(format!(
            "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: {length}\r\n\r\n{target}"
        ))
    });
    let route = RouteSettings { cache: true, merge_slashes: false, ..keeps("/*") };
    let gateway = start(routed(server.address, vec![route]), parts(""));
    for path in ["/a/b", "/a%2Fb", "/a//b", "/a%5Cb"] {
        for _ in 0..2 {
            assert_eq!(target(&gateway, path), path);
        }
    }
    assert_eq!(target(&gateway, "/a%2fb"), "/a%2Fb");
    assert_eq!(server.seen().len(), 4);
}

#[test]
fn a_server_may_lead_to_such_a_path() {
    let server = Origin::start(|_, _, request| match request.split(' ').nth(1).unwrap() {
        "/start" => Reply::Keep(
            "HTTP/1.1 200 OK\r\nX-Accel-Redirect: /inner/a%2fb\r\nContent-Length: 0\r\n\r\n".into(),
        ),
        "/wrong" => Reply::Keep(
            "HTTP/1.1 200 OK\r\nX-Accel-Redirect: /other/a%2fb\r\nContent-Length: 0\r\n\r\n".into(),
        ),
        target => ok(target),
    });
    let reproxy = Some(ReproxySettings { reroute: true, ..Default::default() });
    let routes = vec![
        RouteSettings { internal: true, ..keeps("/inner/*") },
        RouteSettings { reproxy, ..pool("/*") },
    ];
    let gateway = start(routed(server.address, routes), parts(""));
    assert_eq!(target(&gateway, "/start"), "/inner/a%2Fb");
    assert_eq!(target(&gateway, "/wrong"), "400");
    assert_eq!(target(&gateway, "/inner/a%2Fb"), "400");
}

#[test]
fn what_is_foretold_is_what_is_done() {
    let by_default = vec![held("/admin/*"), pool("/*")];
    let by_route =
        vec![held("/admin/*"), keeps("/npm/*"), unmerged("/img/*"), decodes("/dec/*"), pool("/*")];
    for routes in [by_default, by_route] {
        let server = told();
        let gateway = start(routed(server.address, routes), parts(""));
        let paths = [
            "/a/b",
            "/a%2Fb",
            "/a//b",
            "/npm/@a%2Fb",
            "/npm/..%2Fx",
            "/img//x",
            "/img/a%2Fb",
            "/dec/a%2Fb",
            "/dec/..%2Fadmin/x",
            "/a%",
            "/a%00",
            "/..",
            "/;/admin/x",
        ];
        for path in paths.into_iter().chain(SPELLINGS) {
            let url = format!("http://app.example{path}");
            let question = ForecastQuestion {
                client: "127.0.0.1".parse().unwrap(),
                page: None,
                url: &url,
                kind: RequestKind::Other,
            };
            let foretold = gateway.door.preview(&question, clock::now());
            let outcome = foretold.unwrap_or_else(|| panic!("{path}")).outcome;
            let done = target(&gateway, path);
            assert_eq!(outcome.starts_with("400"), done == "400", "{path}: {outcome}, {done}");
            assert_eq!(
                outcome.starts_with("passes it"),
                done.starts_with('/'),
                "{path}: {outcome}"
            );
        }
    }
}

#[test]
fn where_such_a_rule_would_do_nothing_or_harm_is_complained_about() {
    let folder = || RouteSettings { root: Some("/srv".into()), ..RouteSettings::default() };
    let patterns = PatternSource::Inline(vec!["/x".into()]);
    let block = Some(BlockSettings { patterns, ..Default::default() });
    let routes = vec![
        RouteSettings { encoded_slash: EncodedSlash::Keep, path: "/a/*".into(), ..folder() },
        RouteSettings { encoded_slash: EncodedSlash::Decode, path: "/b/*".into(), ..folder() },
        RouteSettings { merge_slashes: false, path: "/c/*".into(), ..folder() },
        RouteSettings { encoded_slash: EncodedSlash::Keep, block, ..RouteSettings::default() },
        RouteSettings { merge_slashes: false, ..held("/d/*") },
        RouteSettings { path: "/e%2Ff".into(), ..pool("/") },
        RouteSettings { encoded_slash: EncodedSlash::Keep, ..held("/g/*") },
    ];
    let settings = routed("127.0.0.1:1".parse().unwrap(), routes);
    let paths: Vec<_> = settings.check().into_iter().map(|it| it.path).collect();
    let expected = [
        "routes.0.encoded_slash",
        "routes.2.merge_slashes",
        "routes.3.encoded_slash",
        "routes.4.merge_slashes",
        "routes.5.path",
    ];
    assert_eq!(paths, expected);
}
