//! Routes of the gateway with curl: folders, scripts, redirects and answers of its own.

use tidegate_tests::Scratch;
use tidegate_tests::clients::{curl, curl_with_head};
use tidegate_tests::origin::{Origin, Page, header};
use tidegate_tests::php::Php;
use tidegate_tests::tidegate::{self, Tidegate};

/// A gateway with these routes, and the beginning of its URLs.
fn start(scratch: Scratch, pools: &str, routes: &str) -> (Tidegate, String) {
    let yaml = format!(
        "gateway:\n  listen: [\"http://127.0.0.1:0\"]\n  pools: {{ {pools} }}\n  routes:\n{routes}\n\
         admin: {{ listen: \"127.0.0.1:0\" }}\n"
    );
    let tidegate = Tidegate::start_in(scratch, &yaml);
    let base = format!("http://{}", tidegate.address("gateway", "http"));
    (tidegate, base)
}

#[test]
fn a_route_serves_a_folder_as_the_web_door_does() {
    let scratch = Scratch::new();
    let script = "let a = 1;\n".repeat(400);
    scratch.write("site/index.html", "home");
    scratch.write("site/app.js", &script);
    scratch.write("site/docs/a.txt", "0123456789");
    scratch.write("site/.secret", "hidden");
    scratch.write("outside.txt", "outside");
    let root = scratch.path().join("site").display().to_string();
    let routes = format!(
        "    - {{ path: \"/files/*\", root: \"{root}\", compress: true }}\n    \
         - {{ path: \"/list/*\", root: \"{root}\", index: [], listing: true }}\n    \
         - {{ path: \"/*\", root: \"{root}\", fallback: /index.html }}"
    );
    let (_tidegate, base) = start(scratch, "", &routes);
    let url = |path: &str| format!("{base}{path}");
    assert_eq!(curl(&[&url("/files/")]), (200, "home".into()));
    assert_eq!(curl(&[&url("/files/docs/a.txt")]), (200, "0123456789".into()));
    assert_eq!(curl(&["-r", "2-4", &url("/files/docs/a.txt")]), (206, "234".into()));
    let (_, head) = curl_with_head(&[&url("/files/docs/a.txt")]);
    let etag = format!("If-None-Match: {}", header(&head, "etag").unwrap());
    assert_eq!(curl(&["-H", &etag, &url("/files/docs/a.txt")]), (304, String::new()));
    let (status, head) = curl_with_head(&["-I", &url("/files/docs/a.txt")]);
    assert_eq!((status, header(&head, "content-length").as_deref()), (200, Some("10")));
    // The route's own compression.
    let (_, coded) = curl_with_head(&["--compressed", &url("/files/app.js")]);
    assert!(header(&coded, "content-encoding").is_some() && coded.ends_with(&script), "{coded}");
    // A folder without its slash, below the route's prefix.
    let (status, moved) = curl_with_head(&[&url("/files/docs?a=b")]);
    assert_eq!((status, header(&moved, "location").as_deref()), (301, Some("/files/docs/?a=b")));
    assert_eq!(curl(&[&url("/files/docs/")]).0, 404);
    let (status, listed) = curl(&[&url("/list/docs/")]);
    assert!(status == 200 && listed.contains("a.txt"), "{listed}");
    assert_eq!(curl(&[&url("/some/page")]), (200, "home".into()));
    assert_eq!(curl(&["-X", "POST", &url("/files/docs/a.txt")]).0, 405);
    for path in ["/files/.secret", "/files/..%2foutside.txt", "/files/docs/..;/..;/outside.txt"] {
        let (status, body) = curl(&["--path-as-is", &url(path)]);
        assert!(matches!(status, 400 | 404), "{path}: {status} {body}");
    }
    assert_eq!(curl(&["--path-as-is", &url("/files/../../outside.txt")]).0, 400);
    // What the client resolves and what is resolved here are the same.
    let dots = curl(&["--path-as-is", &url("/files/x/%2e%2e/docs/./a.txt")]);
    assert_eq!(dots, (200, "0123456789".into()));
}

#[test]
fn scripts_are_run_by_php_fpm_behind_the_routes_guards() {
    let scratch = Scratch::new();
    let echo = "<?php header('Content-Type: text/plain'); foreach (['REQUEST_METHOD', 'SCRIPT_NAME', \
                'PATH_INFO', 'QUERY_STRING', 'REQUEST_URI', 'REMOTE_ADDR', 'SERVER_NAME', 'MINE', 'REMOTE_USER'] as $n) \
                echo $n, '=', $_SERVER[$n] ?? '-', \"\\n\"; echo file_get_contents('php://input');";
    scratch.write("site/echo.php", echo);
    scratch.write("site/front.php", "<?php echo 'front ', $_SERVER['REQUEST_URI'];");
    scratch.write("site/a.txt", "file");
    let php = Php::start(&scratch);
    // bcrypt of "secret", cost 4.
    let hash = "$2y$04$iwNqjtuDwvlXg9Jz2OcW0e6W9k/hIy9YvmVpGa0zqhj/GHIFPPLsq";
    let (root, address) = (scratch.path().join("site").display().to_string(), php.address());
    let routes = format!(
        "    - path: \"/app/*\"\n      root: \"{root}\"\n      fallback: /front.php\n      \
         block: {{ patterns: [\"/blocked\"] }}\n      body_max: 1KiB\n      \
         auth: {{ users: {{ ann: \"{hash}\" }} }}\n      \
         fastcgi: {{ \"*.php\": {{ server: \"{address}\", params: {{ MINE: mine }} }} }}"
    );
    let (_tidegate, base) = start(scratch, "", &routes);
    let url = |path: &str| format!("{base}{path}");
    assert_eq!(curl(&[&url("/app/echo.php")]).0, 401);
    let curl = |args: &[&str]| curl(&[&["-u", "ann:secret"], args].concat());
    let (status, told) = curl(&["-d", "sent", &url("/app//echo.php/in/fo?a=b")]);
    for line in [
        "REQUEST_METHOD=POST",
        "SCRIPT_NAME=/app/echo.php",
        "PATH_INFO=/in/fo",
        "QUERY_STRING=a=b",
        "REQUEST_URI=/app/echo.php/in/fo?a=b",
        "REMOTE_ADDR=127.0.0.1",
        "SERVER_NAME=127.0.0.1",
        "MINE=mine",
        "REMOTE_USER=ann",
        "sent",
    ] {
        assert!(status == 200 && told.contains(line), "{line} in {told}");
    }
    assert_eq!(curl(&[&url("/app/a.txt")]), (200, "file".into()));
    assert_eq!(curl(&[&url("/app/any?x")]), (200, "front /app/any?x".into()));
    assert_eq!(curl(&[&url("/app/echo.php/blocked")]).0, 403);
    let large = "x".repeat(2_000);
    assert_eq!(curl(&["-d", &large, &url("/app/echo.php")]).0, 413);
    drop(php);
    assert_eq!(curl(&[&url("/app/echo.php")]).0, 502);
}

#[test]
fn redirects_fixed_and_null_answers_stand_beside_a_pool() {
    let page = Page::new("text/plain", "from the server");
    let origin = Origin::start(&[("/page", page)]);
    let routes = "    - { host: old.example, redirect: { to: \"https://new.example{uri}\", status: 308 } }\n    \
                  - { path: /teapot, answer: { status: 418, body: short, type: text/x-pot } }\n    \
                  - { path: \"/ads/*\", null_answer: true }\n    \
                  - { path: \"/api/*\", strip_prefix: /api, pool: app }\n    \
                  - { path: \"/*\", methods: [GET, HEAD], pool: app }";
    let pools = format!("app: {{ servers: [\"http://{}\"] }}", origin.address);
    let (_tidegate, base) = start(Scratch::new(), &pools, routes);
    let url = |path: &str| format!("{base}{path}");
    let (status, moved) = curl_with_head(&["-H", "Host: old.example", &url("/a//b?c=d")]);
    let to = header(&moved, "location");
    assert_eq!((status, to.as_deref()), (308, Some("https://new.example/a/b?c=d")));
    let (status, pot) = curl_with_head(&[&url("/teapot")]);
    assert!(status == 418 && pot.ends_with("short"), "{pot}");
    assert_eq!(header(&pot, "content-type").as_deref(), Some("text/x-pot"));
    let (status, script) = curl_with_head(&[&url("/ads/tag.js")]);
    assert_eq!(status, 200, "{script}");
    assert!(header(&script, "content-type").unwrap().starts_with("text/javascript"), "{script}");
    assert_eq!(curl(&[&url("/page")]), (200, "from the server".into()));
    assert_eq!(curl(&[&url("/api/page")]), (200, "from the server".into()));
    assert_eq!(curl(&["-X", "DELETE", &url("/page")]).0, 404);
}

#[test]
fn check_names_what_a_folder_lacks_and_routes_that_nothing_reaches() {
    let check = |routes: &str| {
        let scratch = Scratch::new();
        let file = scratch.write("edge.yaml", format!("gateway: {{ routes: [{routes}] }}\n"));
        let output = tidegate::run(&["check", "--config", file.to_str().unwrap()]);
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let missing = check("{ root: absent, fastcgi: { \"*.php\": \"php:9000\" } }");
    assert!(missing.contains("gateway.routes.0.root"), "{missing}");
    assert!(missing.contains("gateway.routes.0.fastcgi"), "{missing}");
    let order = check("{ null_answer: true }, { path: /a, null_answer: true }");
    assert!(order.contains("routes.0 takes all of it"), "{order}");
}

#[test]
fn why_knows_the_routes_and_the_patterns_of_the_gateway() {
    let scratch = Scratch::new();
    let origin = Origin::start(&[]);
    let pools = format!("app: {{ servers: [\"http://{}\"] }}", origin.address);
    let routes = "    - { path: \"/*\", block: { patterns: [\"/old/\", \"|/admin\"], answer: 410 } }\n    \
         - { path: \"/*\", block: { patterns: [\"/odd/\"], log_only: true } }\n    \
         - { path: \"/away\", redirect: { to: \"/b\", status: 302 } }\n    \
         - { path: \"/app/*\", pool: app }";
    let (tidegate, base) = start(scratch, &pools, routes);
    let why = |path: &str| tidegate.told(&["why", "--door", "gateway", &format!("{base}{path}")]);
    let has = |path: &str, words: &[&str]| {
        let told = why(path);
        assert!(words.iter().all(|it| told.contains(it)), "{path}: {told}");
    };
    has("/x/%6fld/y", &["blocked: /old/ is line 1 of route 1 of the gateway", "410"]);
    has("/admin", &["blocked: |/admin is line 2 of route 1 of the gateway"]);
    has("/app/a", &["passes it to the pool app (route 4 of the gateway)"]);
    let noted = "/odd/ is line 1 of route 2 of the gateway, which only logs";
    has("/app/odd/a", &["pool app", noted]);
    has("/away", &["sends the client elsewhere with 302 (route 3 of the gateway)"]);
    has("/nowhere", &["404: no route fits"]);
    // Nobody was asked, and nothing was counted.
    assert!(!tidegate.figures().contains("tidegate_gateway_rule_hits_total{"));
    assert!(tidegate.figures().contains("tidegate_gateway_log_only_total 0"));
    assert_eq!(curl(&[&format!("{base}/x/old/y")]).0, 410);
    assert!(tidegate.figures().contains("tidegate_gateway_rule_hits_total{"));
    assert_eq!(origin.requests().len(), 0);
}

#[test]
fn redirects_say_groups_and_lead_to_no_host_that_a_link_chose() {
    let routes = r#"    - { host: "*.old.example", redirect: { to: "https://{host.1}.new.example{uri}", status: 308 } }
    - { path: "~^/user/(?<id>[0-9]+)/(.*)$", redirect: { to: "/people/$2?id=${id}&{query}", status: 301 } }
    - { path: "/docs/*", redirect: { to: "https://docs.example/$1?{query}" } }
    - { path: "/raw/*", redirect: { to: "/$1" } }
    - { path: "/go/*", redirect: { from: "^/go/([a-z]+)$", to: "/pages/$1" } }
    - { path: "/login", redirect: { to: "/in?next={uri}" } }
    - { path: "/big/*", redirect: { to: "/$1$1$1$1$1$1$1$1" } }"#;
    let (_tidegate, base) = start(Scratch::new(), "", routes);
    let ask = |host: &str, path: &str| {
        let host = format!("Host: {host}");
        let url = format!("{base}{path}");
        let (status, head) = curl_with_head(&["--path-as-is", "-H", &host, &url]);
        assert!(header(&head, "set-cookie").is_none(), "{head}");
        (status, header(&head, "location").unwrap_or_default())
    };
    let long = format!("/big/{}", "%C3%BC".repeat(300));
    for (host, path, status, location) in [
        ("a.b.old.example", "/x?y=z", 308, "https://a.b.new.example/x?y=z"),
        ("app.example", "/user/7/a%26b%20c/d?x=y", 301, "/people/a&b%20c/d?id=7&x=y"),
        ("app.example", "/user/7/", 301, "/people/?id=7"),
        ("app.example", "/user/7/%0d%0aSet-Cookie:%20a=b", 400, ""),
        ("app.example", "/docs/a?b", 302, "https://docs.example/a?b"),
        ("app.example", "/docs/@evil.example", 302, "https://docs.example/@evil.example"),
        ("app.example", "/docs//evil.example", 302, "https://docs.example/evil.example"),
        ("app.example", "/raw//evil.example/", 302, "/evil.example/"),
        ("app.example", "/raw/%5Cevil.example/", 400, ""),
        ("app.example", "/go/home", 302, "/pages/home"),
        ("app.example", "/go/7", 404, ""),
        ("app.example", "/login?a=b&admin=1", 302, "/in?next=/login%3Fa=b%26admin=1"),
        ("app.example", &long, 400, ""),
    ] {
        assert_eq!(ask(host, path), (status, location.to_owned()), "{host}{path}");
    }
}

#[test]
fn a_redirect_to_a_group_that_is_not_there_is_refused_where_it_stands() {
    let scratch = Scratch::new();
    for (to, said) in [
        ("/new/$2", "has no group \"2\""),
        ("https://{host.1}/", "the host's pattern has no groups"),
        ("https://new.example$1", "clients choose the host"),
        ("/{who}", "{who} is unknown"),
    ] {
        let yaml = format!(
            "gateway:\n  listen: [\"http://127.0.0.1:0\"]\n  routes:\n    \
             - {{ path: \"~^/old/(.*)$\", redirect: {{ to: \"{to}\" }} }}\n"
        );
        let file = scratch.write("wrong.yaml", &yaml);
        let checked = tidegate::run(&["check", "--config", file.to_str().unwrap()]);
        let text = String::from_utf8_lossy(&checked.stderr);
        assert!(!checked.status.success() && text.contains(said), "{to}: {text}");
        assert!(text.contains("wrong.yaml:4:"), "{text}");
    }
}
