//! The proxy, web and gateway doors with curl.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use tidegate_tests::clients::{curl, curl_with_head};
use tidegate_tests::origin::{Origin, Page, header};
use tidegate_tests::resolver::{Reply, Resolver};
use tidegate_tests::tidegate::Tidegate;
use tidegate_tests::{Scratch, wait};

fn edge(origin: &Origin) -> Tidegate {
    let scratch = Scratch::new();
    scratch.write("www/index.html", "<h1>the site</h1>");
    scratch.write("www/app.js", "let a = 1;");
    scratch.write("www/.secret", "no");
    scratch.write("outside.txt", "no");
    Tidegate::start_in(
        scratch,
        &format!(
            r#"
policy: {{ lists: [{{ name: mine, rules: ["||ads.example^", "/tracking/*$script"] }}] }}
proxy: {{ listen: ["http://127.0.0.1:0"] }}
web: [{{ listen: ["http://127.0.0.1:0"], root: www }}]
gateway:
  listen: ["http://127.0.0.1:0"]
  pools: {{ app: {{ servers: ["http://{0}"] }} }}
  routes: [{{ path: "/*", pool: app, block: {{ patterns: ["/wp-login.php"] }} }}]
admin: {{ listen: "127.0.0.1:0" }}
"#,
            origin.address
        ),
    )
}

fn origin() -> Origin {
    Origin::start(&[
        ("/", Page::new("text/html", "<p>origin</p>")),
        ("/tracking/t.js", Page::new("text/javascript", "track()")),
        ("/wp-login.php", Page::new("text/html", "log in")),
    ])
}

#[test]
fn the_proxy_forwards_and_asks_the_policy_by_url() {
    let origin = origin();
    let edge = edge(&origin);
    let proxy = format!("http://{}", edge.address("proxy", "http"));
    let through = |url: &str, more: &[&str]| {
        let mut args = vec!["-x", &proxy, url];
        args.extend(more);
        curl(&args)
    };
    assert_eq!(through(&format!("http://{}/", origin.address), &[]), (200, "<p>origin</p>".into()));
    let head = origin.requests().remove(0);
    assert_eq!(header(&head, "via").as_deref(), Some("1.1 tidegate"));
    assert_eq!(header(&head, "proxy-connection"), None);
    assert_eq!(through("http://ads.example/x", &[]).0, 403);
    let script = format!("http://{}/tracking/t.js", origin.address);
    assert_ne!(through(&script, &[]).1, "track()", "a script of a blocked path");
    assert_eq!(origin.requests().len(), 1, "what is blocked never reaches the origin");
}

#[test]
fn the_proxy_takes_parameters_off_that_rules_name() {
    let origin = Origin::start(&[("/shop", Page::new("text/html", "<p>shop</p>"))]);
    let edge = Tidegate::start(
        r#"
policy: { lists: [{ name: clean, rules: ["$removeparam=utm_source", "$removeparam=/^fb/,script"] }] }
proxy: { listen: ["http://127.0.0.1:0"] }
admin: { listen: "127.0.0.1:0" }
"#,
    );
    let proxy = format!("http://{}", edge.address("proxy", "http"));
    let shop = format!("http://{}/shop", origin.address);
    let (long, short) = (format!("{shop}?id=7&utm_source=mail"), format!("{shop}?id=7"));
    let page = ["-H", "Sec-Fetch-Dest: document", "-x", &proxy];
    let ask = |more: &[&str]| curl(&[&page[..], more].concat());
    let (status, answer) = curl_with_head(&[&page[..], &[&long]].concat());
    assert_eq!((status, header(&answer, "location")), (307, Some(short.clone())));
    assert_eq!(header(&answer, "cache-control").as_deref(), Some("no-store"));
    let said = "tidegate; details=\"removeparam: List clean, line 1: $removeparam=utm_source\"";
    assert_eq!(header(&answer, "proxy-status").as_deref(), Some(said));
    assert!(origin.requests().is_empty(), "the origin never sees the longer one");
    assert_eq!(ask(&["-L", &long]), (200, "<p>shop</p>".into()));
    assert_eq!(origin.lines(), [format!("GET {} /shop?id=7", origin.address)]);
    assert_eq!(ask(&[&short]).0, 200);
    // A body would have to be sent twice, and what the rule does not name stays.
    assert_eq!(ask(&["-d", "a=b", &long]).0, 200);
    assert_eq!(ask(&[&format!("{shop}?fbclid=1")]).0, 200);

    let why = edge.told(&["why", &long, "--door", "proxy", "--kind", "document"]);
    assert!(why.contains("passes without parameters: $removeparam=utm_source"), "{why}");
    assert!(why.contains(&format!("307 to {short}")), "{why}");
    let row = wait::until("the row of the 307", || {
        let rows = edge.api("/api/requests?door=proxy&limit=50");
        let rows = rows["rows"].as_array().unwrap().clone();
        rows.into_iter().find(|row| row["status"] == 307)
    });
    assert_eq!((&row["action"], &row["rule"]["line"]), (&"pass".into(), &1.into()), "{row}");
}

#[test]
fn a_public_name_leads_nobody_inside() {
    let origin = origin();
    let here = Reply::Address(Ipv4Addr::LOCALHOST);
    let names = ["www.rebound.com", "app.home.com", "nas.lan"].map(|name| (name, here.clone()));
    let resolver = Resolver::start(&names);
    let edge = Tidegate::start(&format!(
        r#"
dns: {{ listen: ["udp://127.0.0.1:0", "tcp://127.0.0.1:0"], upstreams: ["udp://{}"] }}
proxy: {{ listen: ["http://127.0.0.1:0"], rebinding_allow: [home.com] }}
"#,
        resolver.address
    ));
    let proxy = format!("http://{}", edge.address("proxy", "http"));
    let port = origin.address.port();
    let get = |host: &str| curl(&["-x", &proxy, &format!("http://{host}:{port}/")]);
    assert_eq!((get("nas.lan").0, get("app.home.com").0), (200, 200));
    let (status, said) = get("www.rebound.com");
    assert!(status == 403 && said.contains("proxy.rebinding_allow"), "{status} {said}");
    assert_eq!(origin.lines().len(), 2, "the third asked nobody");
}

#[test]
fn a_site_that_insists_on_its_parameter_gets_it() {
    let origin = Origin::start(&[("/shop", Page::new("text/html", "<p>shop</p>"))]);
    let edge = Tidegate::start(
        r#"
policy: { lists: [{ name: clean, rules: ["$removeparam=ref"] }] }
proxy: { listen: ["http://127.0.0.1:0"] }
"#,
    );
    let proxy = format!("http://{}", edge.address("proxy", "http"));
    let url = format!("http://{}/shop?ref=1", origin.address);
    let ask = || curl(&["-H", "Sec-Fetch-Dest: document", "-x", &proxy, &url]).0;
    assert_eq!([ask(), ask(), ask(), ask()], [307, 307, 307, 200]);
}

#[test]
fn the_proxy_carries_tunnels_and_refuses_blocked_ones() {
    let origin = origin();
    let edge = edge(&origin);
    let proxy = edge.address("proxy", "http");
    let connect = |target: &str| -> String {
        let mut stream = TcpStream::connect(proxy).unwrap();
        stream.set_read_timeout(Some(wait::DEADLINE)).unwrap();
        write!(stream, "CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n").unwrap();
        let mut head = [0; 256];
        let len = stream.read(&mut head).unwrap();
        String::from_utf8_lossy(&head[..len]).into_owned()
    };
    let blocked = connect("ads.example:443");
    assert!(blocked.starts_with("HTTP/1.1 403"), "{blocked}");
    let odd_port = connect("www.example:25");
    assert!(odd_port.starts_with("HTTP/1.1 403"), "{odd_port}");
}

#[test]
fn the_web_door_serves_files_as_the_standard_says() {
    let origin = origin();
    let edge = edge(&origin);
    let web = format!("http://{}", edge.address("web", "http"));
    let (status, answer) = curl_with_head(&[&format!("{web}/app.js")]);
    assert_eq!(status, 200);
    assert!(answer.contains("text/javascript"), "{answer}");
    let etag = header(&answer, "etag").unwrap();
    let condition = format!("If-None-Match: {etag}");
    assert_eq!(curl(&["-H", &condition, &format!("{web}/app.js")]), (304, String::new()));
    let (status, part) = curl(&["-r", "4-7", &format!("{web}/app.js")]);
    assert_eq!((status, part.as_str()), (206, "a = "));
    assert_eq!(curl(&["-r", "-2", &format!("{web}/app.js")]), (206, "1;".into()));
    assert_eq!(curl(&["-r", "99-", &format!("{web}/app.js")]).0, 416);
    let (status, head) = curl(&["-I", &format!("{web}/")]);
    assert_eq!((status, header(&head, "content-length").as_deref()), (200, Some("17")));
    for hidden in
        ["/../outside.txt", "/..%2foutside.txt", "/%2e%2e/outside.txt", "/.secret", "/nothing"]
    {
        let (status, body) = curl(&["--path-as-is", &format!("{web}{hidden}")]);
        assert!(status == 404 || status == 400, "{hidden}: {status}");
        assert_ne!(body, "no");
    }
    assert_eq!(curl(&["-X", "DELETE", &format!("{web}/")]).0, 405);
}

#[test]
fn the_gateway_passes_to_its_pool_and_blocks_by_url() {
    let origin = origin();
    let edge = edge(&origin);
    let gateway = format!("http://{}", edge.address("gateway", "http"));
    let forged = ["-H", "X-Forwarded-For: 6.6.6.6"];
    assert_eq!(
        curl(&[forged[0], forged[1], &format!("{gateway}/")]),
        (200, "<p>origin</p>".into())
    );
    let head = origin.requests().remove(0);
    assert_eq!(header(&head, "x-forwarded-for").as_deref(), Some("127.0.0.1"));
    assert_eq!(curl(&[&format!("{gateway}/wp-login.php?x=1")]).0, 403);
    assert_eq!(origin.requests().len(), 1);
}

/// Sends raw bytes and reads what comes until the other side closes or says nothing more.
fn raw(address: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(wait::DEADLINE)).unwrap();
    stream.write_all(bytes).unwrap();
    let mut answer = vec![0; 4096];
    let len = stream.read(&mut answer).unwrap_or(0);
    String::from_utf8_lossy(&answer[..len]).into_owned()
}

#[test]
fn garbage_and_smuggling_are_refused_at_every_http_door() {
    let origin = origin();
    let edge = edge(&origin);
    let both = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
    let two = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nabcd";
    let space = "GET / HTTP/1.1\r\nHost : a\r\n\r\n";
    let noise = "\x01\x02\x03 nothing of this is HTTP\r\n\r\n";
    for door in ["proxy", "web", "gateway"] {
        let address = edge.address(door, "http");
        for request in [both, two, space, noise] {
            let answer = raw(address, request.as_bytes());
            assert!(
                answer.is_empty() || answer.starts_with("HTTP/1.1 400"),
                "{door}: {request:?}: {answer}"
            );
        }
        assert_ne!(curl(&[&format!("http://{address}/")]).0, 0, "{door} still answers");
    }
    assert!(origin.lines().iter().all(|line| line.starts_with("GET")), "{:?}", origin.lines());
}

#[test]
fn the_web_door_speaks_https_with_a_certificate_of_our_own() {
    let scratch = Scratch::new();
    scratch.write("www/index.html", "<h1>the site</h1>");
    let edge = Tidegate::start_in(
        scratch,
        r#"
web:
  - { listen: ["https://127.0.0.1:0"], hosts: [www.example], root: www }
admin: { listen: "127.0.0.1:0" }
"#,
    );
    let address = edge.address("web", "https");
    let authority = edge.state().join("ca/ca.pem");
    let resolved = format!("www.example:{}:127.0.0.1", address.port());
    // By name and by address: both stand in the certificate.
    for host in ["www.example", "127.0.0.1"] {
        let url = format!("https://{host}:{}/", address.port());
        let got = curl(&["--resolve", &resolved, "--cacert", &authority.to_string_lossy(), &url]);
        assert_eq!(got, (200, "<h1>the site</h1>".into()), "{host}");
    }
    let stranger = curl(&[&format!("https://{address}/")]);
    assert_eq!(stranger.0, 0, "nobody else vouches for it");
}

#[test]
fn the_connections_of_the_proxy_to_an_origin_are_told() {
    let pages = origin();
    let edge = edge(&pages);
    assert_eq!(edge.api("/api/origins")["origins"], serde_json::json!([]));
    let origin = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = origin.local_addr().unwrap();
    let proxy = edge.address("proxy", "http");
    let clients: Vec<_> = (0..3)
        .map(|_| {
            let mut client = TcpStream::connect(proxy).unwrap();
            write!(client, "GET http://{at}/ HTTP/1.1\r\nHost: {at}\r\n\r\n").unwrap();
            client
        })
        .collect();
    let mut serving: Vec<_> = (0..3).map(|_| origin.accept().unwrap().0).collect();
    for stream in &mut serving {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            head.extend(byte);
        }
    }
    let busy = edge.api("/api/origins");
    let told = &busy["origins"][0];
    assert_eq!(told["origin"], format!("http://{at}"), "{busy}");
    assert_eq!((told["open"].as_u64(), told["idle"].as_u64()), (Some(3), Some(0)), "{busy}");
    for stream in &mut serving {
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx").unwrap();
    }
    let idle = wait::until("three idle connections", || {
        let told = edge.api("/api/origins")["origins"][0].clone();
        (told["idle"] == 3).then_some(told)
    });
    let (open, version) = (idle["open"].as_u64(), idle["version"].as_str());
    assert_eq!((open, version), (Some(3), Some("1.1")), "{idle}");
    // Each core learns by itself, and which took which client is the kernel's choice.
    assert!(idle["at_once"].as_u64().is_some_and(|count| (1..=3).contains(&count)), "{idle}");
    drop(clients);
}
