//! Which route a request takes, what routes answer by themselves, and what servers are asked for.

use crate::support;

use door_gateway::{
    BlockSettings, FixedAnswerSettings, LimitSettings, PatternSource, RedirectSettings,
    ReproxySettings, RewriteSettings, RouteSettings, ScriptChoice, Settings,
};
use settings::Text;
use std::collections::BTreeMap;
use support::{Gateway, Origin, Reply, ask, get, ok, parts, simple, start};

/// A route that answers with this word.
fn says(word: &str) -> RouteSettings {
    let answer = FixedAnswerSettings { body: word.into(), ..Default::default() };
    RouteSettings { answer: Some(answer), ..Default::default() }
}

fn at(path: &str, route: RouteSettings) -> RouteSettings {
    RouteSettings { path: path.into(), ..route }
}

fn gateway(routes: Vec<RouteSettings>) -> Gateway {
    start(Settings { routes, ..Default::default() }, parts(""))
}

fn map(name: &str, value: &str) -> BTreeMap<String, String> {
    [(name.to_owned(), value.to_owned())].into()
}

/// What is answered to a head without its end.
fn fetch(gateway: &Gateway, head: &str) -> String {
    ask(gateway.address, &format!("{head}\r\n\r\n"))
}

fn field(answer: &str, name: &str) -> Option<String> {
    let head = answer.split("\r\n\r\n").next()?;
    let mut fields = head.lines().skip(1).filter_map(|line| line.split_once(": "));
    fields.find(|(it, _)| it.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_owned())
}

fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or("none")
}

#[test]
fn hosts_are_exact_wildcards_or_expressions_in_the_order_written() {
    let host = |host: &str, word: &str| RouteSettings { host: Some(host.into()), ..says(word) };
    let gateway = gateway(vec![
        host("www.example", "exact"),
        host("~^w[0-9]+\\.example$", "expression"),
        host("*.inner.example", "inner"),
        host("*.example", "below"),
        says("any"),
    ]);
    for (host, word) in [
        ("WWW.example:8081", "exact"),
        ("w12.example", "expression"),
        ("a.b.inner.example", "inner"),
        ("inner.example", "below"),
        ("wx.example", "below"),
        ("example", "any"),
        ("[::1]", "any"),
    ] {
        let answer = fetch(&gateway, &format!("GET / HTTP/1.1\r\nHost: {host}"));
        assert!(answer.ends_with(word), "{host}: {answer}");
    }
    assert!(fetch(&gateway, "GET / HTTP/1.0").ends_with("any"));
}

#[test]
fn paths_are_exact_prefixes_patterns_or_expressions_in_the_order_written() {
    let gateway = gateway(vec![
        at("/health", says("exact")),
        at("/user/*/edit", says("pattern")),
        at("~^/v[12]/", says("expression")),
        at("/static/*", says("prefix")),
        at("/a b/*", says("decoded")),
    ]);
    for (path, word) in [
        ("/health", "exact"),
        ("/%68ealth?x", "exact"),
        ("//health", "exact"),
        ("/x/../health", "exact"),
        ("/user/7/edit", "pattern"),
        ("/user/7/8/edit?a", "pattern"),
        ("/v2/x", "expression"),
        ("/static/", "prefix"),
        ("/a%20b/c", "decoded"),
    ] {
        let answer = get(&gateway, path);
        assert!(answer.ends_with(word), "{path}: {answer}");
    }
    for path in ["/health/", "/user/7/edit/", "/v3/x", "/static", "/"] {
        assert_eq!(status(&get(&gateway, path)), "404", "{path}");
    }
}

#[test]
fn methods_fields_queries_and_clients_choose() {
    let mut settings = Settings {
        routes: vec![
            RouteSettings { methods: vec!["PUT".into(), "PURGE".into()], ..says("method") },
            RouteSettings { with_headers: map("X-Version", "2"), ..says("field") },
            RouteSettings { with_headers: map("Cookie", "~\\bbeta=1\\b"), ..says("cookie") },
            RouteSettings { with_query: map("preview", "*"), ..says("query") },
            RouteSettings {
                clients: vec![Text("10.0.0.0/8".parse().unwrap())],
                path: "/in/*".into(),
                ..says("client")
            },
            RouteSettings {
                methods: vec!["GET".into()],
                with_headers: map("X-A", "*"),
                with_query: map("q", "a b"),
                path: "/all/*".into(),
                ..says("all")
            },
            RouteSettings { path: "/*".into(), ..says("rest") },
        ],
        ..Default::default()
    };
    settings.trusted = vec![Text("127.0.0.1/32".parse().unwrap())];
    let gateway = start(settings, parts(""));
    for (head, word) in [
        ("PUT / HTTP/1.1\r\nContent-Length: 0", "method"),
        ("PURGE /in/ HTTP/1.1", "method"),
        ("GET / HTTP/1.1\r\nX-Version: 2", "field"),
        ("GET / HTTP/1.1\r\nX-Version: 1\r\nX-Version: 2", "field"),
        ("GET / HTTP/1.1\r\nX-Version: 22", "rest"),
        ("GET / HTTP/1.1\r\nCookie: a=b; beta=1", "cookie"),
        ("GET / HTTP/1.1\r\nCookie: abeta=1", "rest"),
        ("GET /?a&preview HTTP/1.1", "query"),
        ("GET /?apreview=1 HTTP/1.1", "rest"),
        ("GET /in/ HTTP/1.1\r\nX-Forwarded-For: 10.1.2.3", "client"),
        ("GET /in/ HTTP/1.1\r\nX-Forwarded-For: 10.1.2.3, 192.0.2.1", "rest"),
        ("GET /in/ HTTP/1.1", "rest"),
        ("GET /all/?x=y&q=a+b HTTP/1.1\r\nX-A:", "all"),
        ("GET /all/?q=a%20b HTTP/1.1\r\nX-A: b", "all"),
        ("POST /all/?q=a+b HTTP/1.1\r\nX-A: b\r\nContent-Length: 0", "rest"),
        ("GET /all/?q=a+b HTTP/1.1", "rest"),
    ] {
        let answer = fetch(&gateway, &format!("{head}\r\nHost: app.example"));
        assert!(answer.ends_with(word), "{head}: {answer}");
    }
}

#[test]
fn a_route_may_ask_for_the_other_end_whatever_it_says_of_the_client() {
    let networks = |text: &str| vec![Text(text.parse().unwrap())];
    let mut settings = Settings {
        routes: vec![
            RouteSettings { peers: networks("10.0.0.0/8"), ..says("elsewhere") },
            RouteSettings {
                peers: networks("127.0.0.0/8"),
                clients: networks("192.0.2.0/24"),
                ..says("both")
            },
            RouteSettings { peers: networks("127.0.0.1/32"), ..says("peer") },
            says("rest"),
        ],
        ..Default::default()
    };
    settings.trusted = networks("127.0.0.1/32");
    let gateway = start(settings, parts(""));
    for (client, word) in [("10.1.2.3", "peer"), ("192.0.2.7", "both"), ("127.0.0.1", "peer")] {
        let head = format!("GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: {client}");
        let answer = fetch(&gateway, &head);
        assert!(answer.ends_with(word), "{client}: {answer}");
    }
}

#[test]
fn a_redirect_says_what_was_asked_and_nothing_else() {
    let to = |to: &str, status: u16| RouteSettings {
        redirect: Some(RedirectSettings { to: to.into(), status, ..RedirectSettings::default() }),
        ..Default::default()
    };
    let gateway = gateway(vec![
        at("/secure/*", to("https://{host}{uri}", 308)),
        at("/old/*", to("/new{path}?from={query}&by={client}", 301)),
        at("/*", to("{scheme}://www.example/", 302)),
    ]);
    let location = |path: &str| {
        let answer = get(&gateway, path);
        (status(&answer).to_owned(), field(&answer, "location").unwrap_or_default())
    };
    let is = |status: &str, to: &str| (status.to_owned(), to.to_owned());
    assert_eq!(location("/secure/a?b=c"), is("308", "https://app.example/secure/a?b=c"));
    assert_eq!(location("/secure/a"), is("308", "https://app.example/secure/a"));
    assert_eq!(location("/old/x?y"), is("301", "/new/old/x?from=y&by=127.0.0.1"));
    assert_eq!(location("/else"), is("302", "http://www.example/"));
    assert_eq!(location("/old/x;y"), is("301", "/new/old/x;y?from=&by=127.0.0.1"));
    // No spelling begins another field or another host.
    assert_eq!(status(&get(&gateway, "/secure/%0d%0aSet-Cookie:%20a=b")), "400");
    let query = location("/secure/a?%0d%0aSet-Cookie:a");
    assert_eq!(query, is("308", "https://app.example/secure/a?%0d%0aSet-Cookie:a"));
    assert_eq!(location("//evil.example/"), is("302", "http://www.example/"));
    let nameless = fetch(&gateway, "GET /secure/ HTTP/1.0");
    assert_eq!(status(&nameless), "400", "{nameless}");
}

#[test]
fn a_fixed_answer_and_an_answer_of_nothing() {
    let answer = FixedAnswerSettings {
        status: 503,
        body: "{\"down\":true}".into(),
        media: "application/json".into(),
    };
    let gone = FixedAnswerSettings { status: 410, ..Default::default() };
    let gateway = gateway(vec![
        at("/down", RouteSettings { answer: Some(answer), ..Default::default() }),
        at("/gone", RouteSettings { answer: Some(gone), ..Default::default() }),
        at("/*", RouteSettings { null_answer: true, ..Default::default() }),
    ]);
    let down = get(&gateway, "/down");
    assert_eq!(
        (status(&down), field(&down, "content-type").as_deref()),
        ("503", Some("application/json"))
    );
    assert!(down.ends_with("\r\n\r\n{\"down\":true}"), "{down}");
    let gone = get(&gateway, "/gone");
    assert!(status(&gone) == "410" && gone.ends_with("\r\n\r\n"), "{gone}");
    for (path, media) in [
        ("/a.js", "text/javascript"),
        ("/a.css", "text/css"),
        ("/a.png", "image/png"),
        ("/a.json", "application/json"),
        ("/a.html", "text/html"),
    ] {
        let answer = get(&gateway, path);
        let found = field(&answer, "content-type").unwrap_or_default();
        assert!(status(&answer) == "200" && found.starts_with(media), "{path}: {answer}");
    }
    let beacon = fetch(&gateway, "POST /b HTTP/1.1\r\nHost: a\r\nContent-Length: 0");
    assert_eq!(status(&beacon), "204", "{beacon}");
}

#[test]
fn guards_stand_before_own_answers_and_folders_too() {
    let limit = |route: RouteSettings| RouteSettings {
        limit: Some(LimitSettings {
            rate: "1/h".into(),
            burst: None,
            key: "route".into(),
            log_only: false,
            shared: None,
        }),
        block: Some(BlockSettings {
            patterns: PatternSource::Inline(vec!["/.env".into()]),
            ..Default::default()
        }),
        ..route
    };
    let folder = RouteSettings { root: Some("/srv".into()), ..Default::default() };
    let gateway = gateway(vec![at("/own/*", limit(says("own"))), at("/*", limit(folder))]);
    for path in ["/own/a", "/folder/a"] {
        let blocked = get(&gateway, &path.replace("/a", "/%2eEnv"));
        assert_eq!(status(&blocked), "403", "{blocked}");
        let first = get(&gateway, path);
        assert!(status(&first) == "200" && field(&first, "ratelimit").is_some(), "{first}");
        assert_eq!(status(&get(&gateway, path)), "429", "{path}");
    }
    // The policy is asked as well.
    let routes = vec![says("own")];
    let gateway = start(Settings { routes, ..Default::default() }, parts("||bad.example^\n"));
    let blocked = fetch(&gateway, "GET / HTTP/1.1\r\nHost: bad.example");
    assert_eq!(status(&blocked), "403", "{blocked}");
}

/// A server that answers with the target and the host that it was asked for.
fn told() -> Origin {
    Origin::start(|_, _, request| {
        let target = request.split(' ').nth(1).unwrap().to_owned();
        let mut lines = request.lines();
        let host =
            lines.find_map(|it| it.to_ascii_lowercase().strip_prefix("host: ").map(str::to_owned));
        ok(&format!("{target} {}", host.unwrap_or_default()))
    })
}

#[test]
fn servers_are_asked_for_the_path_and_the_host_that_the_route_says() {
    let server = told();
    let pool = |path: &str| RouteSettings {
        path: path.into(),
        pool: Some("app".into()),
        ..Default::default()
    };
    let rewrite = |from: &str, to: &str| Some(RewriteSettings { from: from.into(), to: to.into() });
    let mut settings = simple(&[server.address]);
    settings.routes = vec![
        RouteSettings {
            strip_prefix: Some("/app".into()),
            set_host: "server".into(),
            ..pool("/app/*")
        },
        RouteSettings {
            rewrite: rewrite("^/u/([0-9]+)$", "/user?id=${1}"),
            set_host: "inner.example:81".into(),
            ..pool("/u/*")
        },
        RouteSettings {
            strip_prefix: Some("/v1".into()),
            rewrite: rewrite("^/x(.*)$", "/$1"),
            cache: true,
            set_host: "server".into(),
            ..pool("/v1/*")
        },
        pool("/*"),
    ];
    let gateway = start(settings, parts(""));
    let own = server.address.to_string();
    for (path, expected) in [
        ("/app/a%20b?c=d", format!("/a%20b?c=d {own}")),
        ("/%61pp//x", format!("/x {own}")),
        ("/u/7?x=y", "/user?id=7&x=y inner.example:81".into()),
        ("/u/7", "/user?id=7 inner.example:81".into()),
        ("/v1/xy", format!("/y {own}")),
        ("/apple", "/apple app.example".into()),
    ] {
        let answer = get(&gateway, path);
        assert!(answer.ends_with(&format!("\r\n\r\n{expected}")), "{path}: {answer}");
    }
    // What a rewrite makes is read like what a client sends.
    assert_eq!(status(&get(&gateway, "/v1/x..")), "400");
}

#[test]
fn a_servers_own_address_becomes_the_public_path() {
    let server = Origin::start(|_, _, request| {
        let host =
            request.lines().find_map(|it| it.strip_prefix("host: ").or(it.strip_prefix("Host: ")));
        Reply::Keep(format!(
            "HTTP/1.1 302 Found\r\nLocation: http://{}/login\r\nContent-Length: 0\r\n\r\n",
            host.unwrap()
        ))
    });
    let mut settings = simple(&[server.address]);
    settings.routes[0].path = "/app/*".into();
    settings.routes[0].strip_prefix = Some("/app".into());
    settings.routes[0].set_host = "server".into();
    let gateway = start(settings, parts(""));
    let answer = get(&gateway, "/app/x");
    assert_eq!(field(&answer, "location").as_deref(), Some("/app/login"), "{answer}");
}

/// Ways to write `/admin/secret` that servers have fallen for.
const SPELLINGS: [&str; 35] = [
    "/admin/secret",
    "/admin//secret",
    "//admin/secret",
    "/./admin/secret",
    "/x/../admin/secret",
    "/x/%2e%2e/admin/secret",
    "/x/.%2E/admin/secret",
    "/%61dmin/secret",
    "/admin/%73ecret",
    "/admin%2fsecret",
    "/admin%2Fsecret",
    "/admin\\secret",
    "/admin%5csecret",
    "/x/..;/admin/secret",
    "/x/..;a=b/admin/secret",
    "/x/..%3b/admin/secret",
    "/x/%2e%2e;/admin/secret",
    "/x/..%2fadmin/secret",
    "/x/..%5cadmin/secret",
    "/x/..\\admin/secret",
    "/x//../admin/secret",
    "/admin;/secret",
    "/admin;a=b/secret;c",
    "/;/admin/secret",
    "/admin/;x/secret",
    "/x/../admin;y/%73ecret;",
    "/../admin/secret",
    "/%2e%2e/admin/secret",
    "/%c0%ae%c0%ae/admin/secret",
    "/x/%c0%af../admin/secret",
    "/x/%e0%80%ae%e0%80%ae/admin/secret",
    "/admin/secret%00",
    "/admin/secret%00.css",
    "/admin/secret%",
    "/admin/secret%0",
];

#[test]
fn no_spelling_walks_past_a_pattern_a_policy_or_a_route() {
    let pool = || RouteSettings { pool: Some("app".into()), ..Default::default() };
    let block = BlockSettings {
        patterns: PatternSource::Inline(vec!["|/admin/secret".into()]),
        ..Default::default()
    };
    let by_pattern = vec![RouteSettings { block: Some(block), ..pool() }];
    let by_route = vec![at("/admin/*", says("guarded")), pool()];
    let by_policy = vec![pool()];
    for (routes, rules) in
        [(by_pattern, ""), (by_route, ""), (by_policy, "||app.example/admin/secret\n")]
    {
        let server = told();
        let mut settings = simple(&[server.address]);
        settings.routes = routes;
        let gateway = start(settings, parts(rules));
        for path in SPELLINGS {
            let answer = get(&gateway, path);
            let is_held = matches!(status(&answer), "400" | "403") || answer.ends_with("guarded");
            assert!(is_held, "{path}: {answer}");
        }
        assert_eq!(server.seen().len(), 0, "nothing got there");
        assert_eq!(status(&get(&gateway, "/public")), "200");
    }
}

#[test]
fn the_server_sees_the_path_that_was_decided_about() {
    let server = told();
    let gateway = start(simple(&[server.address]), parts(""));
    for (path, seen) in [
        ("/a//b/./c/../d?x=../y%2e//", "/a/b/d?x=../y%2e//"),
        ("/%7euser/%c3%bc", "/~user/%C3%BC"),
        ("/a;b=c/d%3be", "/a;b=c/d%3Be"),
        ("/cart;jsessionid=1?q", "/cart;jsessionid=1?q"),
        ("/%252e%252e/x", "/%252e%252e/x"),
        ("http://app.example/a/../b", "/b"),
        ("http://app.example?q", "/?q"),
    ] {
        let answer = get(&gateway, path);
        assert!(answer.ends_with(&format!("\r\n\r\n{seen} app.example")), "{path}: {answer}");
    }
}

#[test]
fn a_folder_is_told_which_part_of_the_path_stands_for_it() {
    let folder = |path: &str, root: &str| RouteSettings {
        path: path.into(),
        root: Some(root.into()),
        ..Default::default()
    };
    let script = ScriptChoice::Address("unix:///run/php.sock".into());
    let routes = vec![
        folder("/static/*", "a"),
        RouteSettings { strip_prefix: Some("/x%20y".into()), ..folder("~^/x", "b") },
        RouteSettings { fastcgi: [("*.php".to_owned(), script)].into(), ..folder("/*", "c") },
    ];
    let mut settings = Settings { routes, ..Default::default() };
    let gateway = start(settings.clone(), parts(""));
    for (path, said) in [
        ("/static//a/../b?q", "root=a path=/static/ uri=/static/b?q host=app.example"),
        ("/x%20y/z", "root=b path=/x y/ uri=/x%20y/z host=app.example"),
        ("/%61.php", "root=c path=/ uri=/a.php host=app.example"),
    ] {
        let answer = get(&gateway, path);
        assert!(answer.ends_with(&format!("{said} client=127.0.0.1")), "{path}: {answer}");
    }
    let large = "POST /a.php HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999";
    assert_eq!(status(&fetch(&gateway, large)), "413");
    settings.routes[1].root = Some("gone".into());
    let wrong = gateway.door.reload(settings).unwrap_err();
    assert_eq!(wrong[0].path, "routes.1.root");
    assert!(get(&gateway, "/static/").contains("root=a"), "what was there still stands");
}

#[test]
fn a_server_leads_to_own_answers_and_folders_that_clients_cannot_reach() {
    let server = Origin::start(|_, _, request| {
        let to = request.split(' ').nth(1).unwrap().replace("/go", "/inner");
        Reply::Keep(format!(
            "HTTP/1.1 200 OK\r\nX-Accel-Redirect: {to}\r\nContent-Type: text/x-mine\r\n\
             Content-Length: 0\r\n\r\n"
        ))
    });
    let internal = |route: RouteSettings| RouteSettings { internal: true, ..route };
    let folder = RouteSettings { root: Some("/srv".into()), ..Default::default() };
    let mut settings = simple(&[server.address]);
    settings.routes[0].path = "/go/*".into();
    settings.routes[0].reproxy = Some(ReproxySettings { reroute: true, ..Default::default() });
    settings.routes.push(internal(at("/inner/own", says("own"))));
    settings.routes.push(internal(at("/inner/files/*", folder)));
    let gateway = start(settings, parts(""));
    let own = get(&gateway, "/go/own");
    assert!(own.ends_with("\r\n\r\nown"), "{own}");
    assert_eq!(field(&own, "content-type").as_deref(), Some("text/x-mine"));
    let file = get(&gateway, "/go/files/a?b");
    assert!(file.contains("path=/inner/files/ uri=/inner/files/a?b"), "{file}");
    for path in ["/inner/own", "/inner/files/a", "/inner//own", "/%69nner/own"] {
        assert_eq!(status(&get(&gateway, path)), "404", "{path}");
    }
}

#[test]
fn what_one_route_changes_another_does_not_keep() {
    let server = Origin::start(|_, number, _| {
        let body = format!("{number}");
        Reply::Keep(format!(
            "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        ))
    });
    let pool = || RouteSettings { pool: Some("app".into()), ..Default::default() };
    let mut settings = simple(&[server.address]);
    settings.routes = vec![
        RouteSettings { methods: vec!["GET".into(), "HEAD".into()], cache: true, ..pool() },
        pool(),
    ];
    let gateway = start(settings, parts(""));
    assert!(get(&gateway, "/a").ends_with("\r\n\r\n0"));
    assert!(get(&gateway, "/a").ends_with("\r\n\r\n0"));
    let post = fetch(&gateway, "POST /a HTTP/1.1\r\nHost: app.example\r\nContent-Length: 0");
    assert!(post.ends_with("\r\n\r\n1"), "{post}");
    assert!(get(&gateway, "/a").ends_with("\r\n\r\n2"));
}

#[test]
fn a_thousand_routes_are_told_apart_and_no_more_are_taken() {
    let named = |number: usize| RouteSettings {
        host: Some(format!("h{number}.example")),
        ..says(&number.to_string())
    };
    let mut settings = Settings { routes: (0..1_024).map(named).collect(), ..Default::default() };
    let gateway = start(settings.clone(), parts(""));
    for number in [0, 511, 1_023] {
        let answer = fetch(&gateway, &format!("GET / HTTP/1.1\r\nHost: h{number}.example"));
        assert!(answer.ends_with(&format!("\r\n\r\n{number}")), "{answer}");
    }
    settings.routes.push(named(1_024));
    let paths: Vec<_> = settings.check().into_iter().map(|it| it.path).collect();
    assert_eq!(paths, ["routes"]);
}
