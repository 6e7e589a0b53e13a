//! Servers that name what is to be sent in their place, on real sockets.

use crate::support;

use door_gateway::{PoolSettings, ReproxySettings, RouteSettings, Settings, UploadMode};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::mpsc;
use support::{
    DEADLINE, Gateway, Origin, Reply, ask, closed_port, get, numbered, ok, parts, read_message,
    scratch, simple, start,
};

/// An answer without a body that says this.
fn names(fields: &str) -> Reply {
    Reply::Keep(format!("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n{fields}\r\n\r\n"))
}

/// A server that answers every request so.
fn server(fields: &str) -> Origin {
    let fields = fields.to_owned();
    Origin::start(move |_, _, _| names(&fields))
}

fn reproxying(server: SocketAddr, reproxy: ReproxySettings) -> Settings {
    let mut settings = simple(&[server]);
    settings.routes[0].reproxy = Some(reproxy);
    settings
}

fn local_urls() -> ReproxySettings {
    ReproxySettings { urls: vec!["127.0.0.0/8".into()], ..Default::default() }
}

fn gateway(server: &Origin, reproxy: ReproxySettings) -> Gateway {
    start(reproxying(server.address, reproxy), parts(""))
}

fn files(folder: &Path) -> ReproxySettings {
    ReproxySettings { files: Some(folder.to_str().unwrap().into()), ..Default::default() }
}

fn fetch(gateway: &Gateway, fields: &str) -> String {
    ask(gateway.address, &format!("GET /x HTTP/1.1\r\nHost: app.example\r\n{fields}\r\n"))
}

/// The answer to a `HEAD`, all of it.
fn head(gateway: &Gateway) -> String {
    let mut stream = TcpStream::connect(gateway.address).unwrap();
    let request = "HEAD /x HTTP/1.1\r\nHost: app.example\r\nConnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.to_ascii_lowercase()
}

#[test]
fn a_file_is_sent_with_the_server_s_head() {
    let folder = scratch();
    std::fs::write(folder.join("a.css"), "0123456789").unwrap();
    let path = folder.join("a.css");
    let server = server(&format!("X-Reproxy-File: {}\r\nSet-Cookie: a=b", path.display()));
    let gateway = gateway(&server, files(&folder));
    let answer = fetch(&gateway, "");
    assert!(
        answer.starts_with("HTTP/1.1 200") && answer.ends_with("\r\n\r\n0123456789"),
        "{answer}"
    );
    let lower = answer.to_ascii_lowercase();
    for field in ["set-cookie: a=b", "content-length: 10", "content-type: text/css", "etag: \""] {
        assert!(lower.contains(field), "{field} not in {lower}");
    }
    assert!(!lower.contains("x-reproxy"), "{lower}");
    assert!(server.seen()[0].to_ascii_lowercase().contains("x-proxy-capabilities: reproxy-file"));

    let part = fetch(&gateway, "Range: bytes=2-4\r\n");
    assert!(part.starts_with("HTTP/1.1 206") && part.ends_with("\r\n\r\n234"), "{part}");
    assert!(part.to_ascii_lowercase().contains("content-range: bytes 2-4/10"), "{part}");
    assert!(fetch(&gateway, "Range: bytes=99-\r\n").starts_with("HTTP/1.1 416"));

    let etag = lower.split("etag: ").nth(1).unwrap().lines().next().unwrap().to_owned();
    let current = fetch(&gateway, &format!("If-None-Match: {etag}\r\n"));
    assert!(current.starts_with("HTTP/1.1 304") && current.ends_with("\r\n\r\n"), "{current}");
    let newer = fetch(&gateway, "Range: bytes=0-1\r\nIf-Range: \"other\"\r\n");
    assert!(newer.starts_with("HTTP/1.1 200") && newer.ends_with("0123456789"), "{newer}");

    let head = head(&gateway);
    assert!(head.contains("content-length: 10") && head.ends_with("\r\n\r\n"), "{head}");
}

#[test]
fn a_large_file_arrives_whole() {
    let folder = scratch();
    let large = numbered(1_600_000);
    std::fs::write(folder.join("large"), &large).unwrap();
    let server = server(&format!("X-Reproxy-File: {}/large", folder.display()));
    let gateway = gateway(&server, files(&folder));
    let answer = fetch(&gateway, "");
    assert!(answer.ends_with(&large), "{} bytes", answer.len());
    let parts = fetch(&gateway, "Range: bytes=0-7,800000-800007\r\n");
    assert!(parts.starts_with("HTTP/1.1 206") && parts.contains("multipart/byteranges"), "{parts}");
    assert!(parts.contains("\r\n\r\n0000000\n") && parts.contains("\r\n\r\n0100000\n"), "{parts}");
}

#[test]
fn no_content_becomes_ok_and_other_statuses_stay() {
    let folder = scratch();
    std::fs::write(folder.join("a"), "page").unwrap();
    let field = format!("X-Reproxy-File: {}/a", folder.display());
    for (said, sent) in [("204 No Content", "200"), ("404 Not Found", "404"), ("206 X", "200")] {
        let reply = format!("HTTP/1.1 {said}\r\n{field}\r\nContent-Range: bytes 0-0/1\r\n");
        let length = if said.starts_with("204") { "" } else { "Content-Length: 3\r\n" };
        let rest = if said.starts_with("204") { "" } else { "old" };
        let reply = format!("{reply}{length}\r\n{rest}");
        let server = Origin::start(move |_, _, _| Reply::Keep(reply.clone()));
        let answer = fetch(&gateway(&server, files(&folder)), "");
        assert!(answer.starts_with(&format!("HTTP/1.1 {sent}")), "{said}: {answer}");
        assert!(answer.ends_with("\r\n\r\npage"), "{said}: {answer}");
        assert!(!answer.to_ascii_lowercase().contains("content-range"), "{said}: {answer}");
    }
}

#[test]
fn nothing_outside_the_folder_opens() {
    let outer = scratch();
    let folder = outer.join("files");
    std::fs::create_dir_all(folder.join("sub")).unwrap();
    std::fs::write(outer.join("secret"), "secret").unwrap();
    std::fs::write(folder.join("fine"), "fine").unwrap();
    symlink(outer.join("secret"), folder.join("link")).unwrap();
    symlink("..", folder.join("up")).unwrap();
    symlink("fine", folder.join("alias")).unwrap();
    let answers = |path: &str| {
        let server = server(&format!("X-Reproxy-File: {path}"));
        fetch(&gateway(&server, files(&folder)), "")
    };
    let inside = folder.display();
    assert!(answers(&format!("{inside}/alias")).ends_with("fine"));
    assert!(answers(&format!("{inside}/sub/../fine")).ends_with("fine"));
    for path in [
        format!("{inside}/../secret"),
        format!("{inside}/link"),
        format!("{inside}/up/secret"),
        format!("{inside}/sub"),
        format!("{inside}/absent"),
        format!("{}/secret", outer.display()),
        format!("{inside}x/fine"),
        "/etc/passwd".into(),
        "fine".into(),
    ] {
        let answer = answers(&path);
        assert!(answer.starts_with("HTTP/1.1 404"), "{path}: {answer}");
        assert!(!answer.contains("secret") && !answer.contains("files"), "{answer}");
    }
}

#[test]
fn where_it_is_off_its_fields_are_taken_out_and_nobody_can_claim_it() {
    let server = server("X-Reproxy-File: /etc/passwd\r\nX-Accel-Redirect: /a");
    let gateway = start(simple(&[server.address]), parts(""));
    let answer = fetch(&gateway, "X-Proxy-Capabilities: reproxy-file\r\n").to_ascii_lowercase();
    assert!(!answer.contains("x-reproxy") && !answer.contains("x-accel"), "{answer}");
    assert!(answer.starts_with("http/1.1 200") && answer.ends_with("\r\n\r\n"), "{answer}");
    assert!(!server.seen()[0].to_ascii_lowercase().contains("x-proxy-capabilities"));
}

#[test]
fn what_a_route_does_not_allow_is_neither_done_nor_shown() {
    let other = Origin::start(|_, _, _| ok("other"));
    let folder = scratch();
    for field in [
        format!("X-Reproxy-URL: http://{}/", other.address),
        "X-Reproxy-Service: other".to_owned(),
        "X-Accel-Redirect: /a".to_owned(),
    ] {
        let server = server(&field);
        let mut settings = reproxying(server.address, files(&folder));
        let servers = vec![format!("http://{}", other.address).into()];
        settings.pools.insert("other".into(), PoolSettings { servers, ..Default::default() });
        let answer = fetch(&start(settings, parts("")), "");
        assert!(answer.starts_with("HTTP/1.1 502"), "{field}: {answer}");
        let answer = answer.to_ascii_lowercase();
        assert!(!answer.contains("x-reproxy") && !answer.contains("x-accel"), "{answer}");
    }
    assert_eq!(other.connections(), 0);
}

#[test]
fn the_first_good_url_is_sent_with_the_server_s_head() {
    let missing = Origin::start(|_, _, _| {
        Reply::Keep("HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\ngone".into())
    });
    let moved = Origin::start(|_, _, _| {
        Reply::Keep("HTTP/1.1 302 Found\r\nLocation: /y\r\nContent-Length: 0\r\n\r\n".into())
    });
    let shorter = Origin::start(|_, _, _| ok("short"));
    let good = Origin::start(|_, _, _| {
        Reply::Keep(
            "HTTP/1.1 200 OK\r\nContent-Length: 6\r\nContent-Type: inner/type\r\n\
             X-Inner: 1\r\n\r\nlonger"
                .into(),
        )
    });
    let after = Origin::start(|_, _, _| ok("after!"));
    let urls = [closed_port(), missing.address, moved.address, shorter.address, good.address];
    let urls = urls.map(|address| format!("http://{address}/file?a=b")).join(" ");
    let server = server(&format!(
        "X-Reproxy-URL: ftp://a/ {urls} http://{}/\r\nX-Reproxy-Expected-Size: 6\r\n\
         Content-Type: text/plain\r\nX-Outer: 1",
        after.address
    ));
    let gateway = gateway(&server, local_urls());
    let answer = fetch(&gateway, "").to_ascii_lowercase();
    assert!(answer.starts_with("http/1.1 200") && answer.ends_with("\r\n\r\nlonger"), "{answer}");
    assert!(
        answer.contains("content-type: text/plain") && answer.contains("x-outer: 1"),
        "{answer}"
    );
    assert!(answer.contains("content-length: 6\r\n") && !answer.contains("x-inner"), "{answer}");
    let tried = [&missing, &moved, &shorter, &good, &after].map(|origin| origin.seen().len());
    assert_eq!(tried, [1, 1, 1, 1, 0]);
    let seen = good.seen()[0].to_ascii_lowercase();
    assert!(seen.starts_with("get /file?a=b http/1.1\r\n"), "{seen}");
    assert!(seen.contains("host: app.example\r\n") && !seen.contains("x-forwarded"), "{seen}");
}

#[test]
fn ranges_and_heads_reach_the_target() {
    let target = Origin::start(|_, _, request| {
        if request.starts_with("HEAD") {
            return Reply::Keep("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n".into());
        }
        let request = request.to_ascii_lowercase();
        if request.contains("range: bytes=99-") {
            let range = "Content-Range: bytes */10\r\nContent-Length: 0";
            return Reply::Keep(format!("HTTP/1.1 416 Range Not Satisfiable\r\n{range}\r\n\r\n"));
        }
        if request.contains("range: bytes=2-4") {
            let range = "Content-Range: bytes 2-4/10\r\nContent-Length: 3";
            return Reply::Keep(format!("HTTP/1.1 206 Partial Content\r\n{range}\r\n\r\n234"));
        }
        ok("0123456789")
    });
    let server = server(&format!(
        "ETag: \"e\"\r\nX-Reproxy-Expected-Size: 10\r\nX-Reproxy-URL: http://{}/",
        target.address
    ));
    let gateway = gateway(&server, local_urls());
    let part = fetch(&gateway, "Range: bytes=2-4\r\n");
    assert!(part.starts_with("HTTP/1.1 206") && part.ends_with("\r\n\r\n234"), "{part}");
    assert!(part.to_ascii_lowercase().contains("content-range: bytes 2-4/10"), "{part}");
    assert!(fetch(&gateway, "Range: bytes=99-\r\n").starts_with("HTTP/1.1 416"));
    let head = head(&gateway);
    assert!(head.starts_with("http/1.1 200") && head.contains("content-length: 10\r\n"), "{head}");
    // The client's copy of the beginning is of another version: it gets the whole.
    let other = fetch(&gateway, "Range: bytes=2-4\r\nIf-Range: \"d\"\r\n");
    assert!(other.starts_with("HTTP/1.1 200") && other.ends_with("0123456789"), "{other}");
    let same = fetch(&gateway, "Range: bytes=2-4\r\nIf-Range: \"e\"\r\n");
    assert!(same.starts_with("HTTP/1.1 206"), "{same}");
    assert!(fetch(&gateway, "If-None-Match: \"e\"\r\n").starts_with("HTTP/1.1 304"));
}

#[test]
fn hosts_that_are_not_allowed_are_not_asked() {
    let target = Origin::start(|_, _, _| ok("inner"));
    let port = target.address.port();
    for allowed in ["public", "10.0.0.0/8", "media.example", "*.localhost"] {
        let server = server(&format!(
            "X-Reproxy-URL: http://127.0.0.1:{port}/ http://localhost:{port}/ \
             http://[::ffff:127.0.0.1]:{port}/ http://0.0.0.0:{port}/"
        ));
        let reproxy = ReproxySettings { urls: vec![allowed.into()], ..Default::default() };
        let answer = fetch(&gateway(&server, reproxy), "");
        assert!(answer.starts_with("HTTP/1.1 503"), "{allowed}: {answer}");
    }
    assert_eq!(target.connections(), 0);
    let server = server(&format!("X-Reproxy-URL: http://localhost:{port}/"));
    let reproxy = ReproxySettings { urls: vec!["localhost".into()], ..Default::default() };
    assert!(fetch(&gateway(&server, reproxy), "").ends_with("inner"));
    // A host with a name is asked for by its name.
    assert!(target.seen()[0].to_ascii_lowercase().contains(&format!("host: localhost:{port}\r\n")));
}

#[test]
fn a_request_is_handed_on_to_another_pool() {
    let other = Origin::start(|_, _, request| {
        ok(&format!("other got {}", request.rsplit("\r\n\r\n").next().unwrap()))
    });
    let server = server("X-Reproxy-Service: other");
    let lost = "X-Reproxy-Service: lost";
    let reproxy = ReproxySettings { services: true, ..Default::default() };
    let mut settings = reproxying(server.address, reproxy.clone());
    let servers = vec![format!("http://{}", other.address).into()];
    settings.pools.insert("other".into(), PoolSettings { servers, ..Default::default() });
    let post = "POST /p?q HTTP/1.1\r\nHost: a\r\nX-Own: 1\r\nContent-Length: 2\r\n\r\nhi";

    let streaming = start(settings.clone(), parts(""));
    assert!(get(&streaming, "/g").ends_with("other got "));
    // Its body went to the first server, and nobody has kept it.
    assert!(ask(streaming.address, post).starts_with("HTTP/1.1 502"));

    settings.routes[0].uploads = Some(UploadMode::Buffer);
    assert!(ask(start(settings, parts("")).address, post).ends_with("other got hi"));
    let seen = other.seen()[1].to_ascii_lowercase();
    assert!(seen.starts_with("post /p?q ") && seen.contains("x-own: 1\r\n"), "{seen}");

    assert!(fetch(&gateway(&self::server(lost), reproxy.clone()), "").starts_with("HTTP/1.1 502"));
    let round = self::server("X-Reproxy-Service: app");
    assert!(fetch(&gateway(&round, reproxy), "").starts_with("HTTP/1.1 502"));
    assert_eq!(round.seen().len(), 4);
}

#[test]
fn what_a_server_has_named_for_a_while_spares_asking_it() {
    let target = Origin::start(|_, _, _| ok("body"));
    let modified = "Sun, 06 Nov 1994 08:49:37 GMT";
    let server = server(&format!(
        "X-Reproxy-URL: http://{}/t\r\nX-Reproxy-Cache-For: 600; Last-Modified X-Kept\r\n\
         Last-Modified: {modified}\r\nX-Kept: yes\r\nX-Lost: yes\r\nSet-Cookie: a=b",
        target.address
    ));
    let gateway = gateway(&server, local_urls());
    let first = fetch(&gateway, "");
    let second = fetch(&gateway, "").to_ascii_lowercase();
    assert!(first.ends_with("body") && first.contains("lost") && second.ends_with("body"));
    assert!(second.contains("x-kept: yes") && !second.contains("x-lost"), "{second}");
    assert!(!second.contains("set-cookie") && !second.contains("x-reproxy"), "{second}");
    assert_eq!((server.seen().len(), target.seen().len()), (1, 2));

    let current = fetch(&gateway, &format!("If-Modified-Since: {modified}\r\n"));
    assert!(current.starts_with("HTTP/1.1 304"), "{current}");
    assert_eq!((server.seen().len(), target.seen().len()), (1, 2));

    // Another URL, and another host, are other things.
    get(&gateway, "/y");
    ask(gateway.address, "GET /x HTTP/1.1\r\nHost: other.example\r\n\r\n");
    assert_eq!(server.seen().len(), 3);
    // Whoever changes it is heard, and what was named before no longer counts.
    ask(gateway.address, "DELETE /x HTTP/1.1\r\nHost: app.example\r\n\r\n");
    fetch(&gateway, "");
    assert_eq!(server.seen().len(), 5);
}

#[test]
fn a_last_modified_that_is_no_date_holds_for_those_who_give_it_back() {
    let target = Origin::start(|_, _, _| ok("body"));
    let server = server(&format!(
        "X-Reproxy-URL: http://{}/t\r\nX-Reproxy-Cache-For: 600; Last-Modified\r\n\
         Last-Modified: 199",
        target.address
    ));
    let gateway = gateway(&server, local_urls());
    assert!(fetch(&gateway, "").contains(": 199\r\n"));
    assert!(fetch(&gateway, "If-Modified-Since: 199\r\n").starts_with("HTTP/1.1 304"));
    assert_eq!((server.seen().len(), target.seen().len()), (1, 1));
    for fields in [
        "If-Modified-Since: 200\r\n",
        "If-Modified-Since: Sun, 06 Nov 2094 08:49:37 GMT\r\n",
        "If-Modified-Since: 199\r\nIf-None-Match: \"a\"\r\n",
    ] {
        assert!(fetch(&gateway, fields).ends_with("body"), "{fields}");
    }
}

#[test]
fn the_first_server_is_free_while_the_body_is_on_its_way() {
    let target = TcpListener::bind("127.0.0.1:0").unwrap();
    let named = format!("X-Reproxy-URL: http://{}/slow", target.local_addr().unwrap());
    let (go_on, may_go_on) = mpsc::channel();
    let slow = std::thread::spawn(move || {
        let (mut stream, _) = target.accept().unwrap();
        read_message(&mut stream).unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n01234").unwrap();
        may_go_on.recv_timeout(DEADLINE).unwrap();
        stream.write_all(b"56789").unwrap();
    });
    let server =
        Origin::start(
            move |_, _, request| {
                if request.starts_with("GET /slow") { names(&named) } else { ok("quick") }
            },
        );
    let gateway = gateway(&server, local_urls());
    let mut client = TcpStream::connect(gateway.address).unwrap();
    client.set_read_timeout(Some(DEADLINE)).unwrap();
    client.write_all(b"GET /slow HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"01234") {
        let mut byte = [0];
        client.read_exact(&mut byte).unwrap();
        answer.push(byte[0]);
    }
    // The body is half way; its server serves somebody else, on the connection that it has named
    // the body on.
    assert!(get(&gateway, "/other").ends_with("quick"));
    assert_eq!((server.connections(), server.seen().len()), (1, 2));
    go_on.send(()).unwrap();
    client.read_to_end(&mut answer).unwrap();
    assert!(answer.ends_with(b"0123456789"));
    slow.join().unwrap();
}

#[test]
fn a_path_that_a_server_names_is_routed_and_internal_routes_are_reached_only_so() {
    let inner = Origin::start(|_, _, _| {
        Reply::Keep(
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Type: inner/type\r\nX-Inner: 1\r\n\r\ninner"
                .into(),
        )
    });
    let server = Origin::start(|_, _, request| match request.split(' ').nth(1).unwrap() {
        "/get" | "/post" => {
            names("Content-Type: text/plain\r\nX-Outer: 1\r\nX-Accel-Redirect: /inner/file?a=b")
        }
        "/round" => names("X-Accel-Redirect: /round"),
        "/up" => names("X-Accel-Redirect: /inner/%2e%2e/../secret"),
        _ => ok("outer"),
    });
    let reproxy = ReproxySettings { reroute: true, ..Default::default() };
    let mut settings = reproxying(server.address, reproxy);
    let servers = vec![format!("http://{}", inner.address).into()];
    settings.pools.insert("inner".into(), PoolSettings { servers, ..Default::default() });
    let route = RouteSettings {
        path: "/inner/*".into(),
        pool: Some("inner".into()),
        internal: true,
        ..Default::default()
    };
    settings.routes.insert(0, route);
    let gateway = start(settings, parts(""));

    let answer = get(&gateway, "/get").to_ascii_lowercase();
    assert!(answer.starts_with("http/1.1 200") && answer.ends_with("inner"), "{answer}");
    assert!(
        answer.contains("content-type: text/plain") && answer.contains("x-inner: 1"),
        "{answer}"
    );
    assert!(!answer.contains("x-outer") && !answer.contains("x-accel"), "{answer}");
    assert!(inner.seen()[0].starts_with("GET /inner/file?a=b HTTP/1.1\r\n"));

    let post = "POST /post HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi";
    assert!(ask(gateway.address, post).ends_with("inner"));
    let seen = inner.seen().remove(1);
    assert!(seen.starts_with("GET /inner/") && seen.ends_with("\r\n\r\n"), "{seen}");
    assert!(!seen.to_ascii_lowercase().contains("content-length"), "{seen}");

    assert!(get(&gateway, "/inner/file?a=b").ends_with("outer"), "a client came in by itself");
    assert!(get(&gateway, "/round").starts_with("HTTP/1.1 508"));
    assert!(get(&gateway, "/up").starts_with("HTTP/1.1 502"));
    assert_eq!(inner.seen().len(), 2);
}
