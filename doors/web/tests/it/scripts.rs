//! Scripts behind a real php-fpm.

use crate::php::Php;
use crate::support::{Answer, Edge, Folder, site};
use door_web::{CompressChoice, FastcgiChoice, SiteSettings};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::thread;
use std::time::{Duration, Instant};

fn php_site(php: &Php) -> SiteSettings {
    let fastcgi = BTreeMap::from([("*.php".to_owned(), FastcgiChoice::Address(php.address()))]);
    SiteSettings { fastcgi, ..site("www", &[]) }
}

/// A site with these scripts.
fn start(children: u32, scripts: &[(&str, &str)]) -> (Folder, Php, Edge) {
    let base = Folder::new();
    base.write("www/page.txt", "a file");
    for (name, code) in scripts {
        base.write(&format!("www/{name}"), format!("<?php {code}"));
    }
    let php = Php::start(&base, children);
    let edge = Edge::start_with(&base, &[php_site(&php)], "");
    (base, php, edge)
}

/// The whole of an answer that ends with its connection.
fn raw(edge: &Edge, request: &str, body: &[u8]) -> String {
    let mut stream = edge.connect();
    stream.write_all(request.as_bytes()).unwrap();
    stream.write_all(body).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

const ECHO: &str = "header('Content-Type: text/plain'); foreach (['REQUEST_METHOD', 'SCRIPT_NAME', \
    'PATH_INFO', 'QUERY_STRING', 'REQUEST_URI', 'REMOTE_ADDR', 'HTTP_X_MINE', 'HTTP_PROXY'] as $n) \
    echo $n, '=', $_SERVER[$n] ?? '-', \"\\n\"; echo 'FILE=', basename($_SERVER['SCRIPT_FILENAME']), \
    \"\\n\";";

#[test]
fn a_script_hears_of_its_request() {
    let (_base, _php, edge) = start(2, &[("echo.php", ECHO), ("index.php", "echo 'index';")]);
    let request = "GET /echo.php/deep/er?a=b%20c HTTP/1.1\r\nHost: www.example\r\nX-Mine: yes\r\n\
                   Proxy: evil\r\nConnection: close\r\n\r\n";
    let answer = raw(&edge, request, b"");
    for line in [
        "REQUEST_METHOD=GET",
        "SCRIPT_NAME=/echo.php",
        "PATH_INFO=/deep/er",
        "QUERY_STRING=a=b%20c",
        "REQUEST_URI=/echo.php/deep/er?a=b%20c",
        "REMOTE_ADDR=127.0.0.1",
        "HTTP_X_MINE=yes",
        "HTTP_PROXY=-",
        "FILE=echo.php",
    ] {
        assert!(answer.contains(line), "{line} in {answer}");
    }
    let close = |path: &str| {
        raw(&edge, &format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"), b"")
    };
    assert!(close("/").contains("index"), "the index script of a folder");
    assert!(close("/none.php").starts_with("HTTP/1.1 404"), "a script that is none");
    assert!(close("/page.txt/x.php").starts_with("HTTP/1.1 404"), "a file is no script");
    assert!(close("/%2e%2e/echo.php").starts_with("HTTP/1.1 400"), "nothing outside");
    assert!(close("/page.txt").contains("a file"));
}

#[test]
fn ten_megabytes_go_up_and_come_back_counted() {
    let code = "echo strlen(file_get_contents('php://input')), ' ', \
                md5(file_get_contents('php://input')), ' ', $_SERVER['CONTENT_LENGTH'];";
    let (_base, _php, edge) = start(2, &[("post.php", code)]);
    let body: Vec<u8> = (0..10 << 20).map(|at: u32| (at % 251) as u8).collect();
    let head = format!(
        "POST /post.php HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {}\r\n\
         Content-Type: application/octet-stream\r\n\r\n",
        body.len()
    );
    let answer = raw(&edge, &head, &body);
    assert!(answer.contains(&format!("{} ", body.len())), "{answer}");
    // Without a length the body is held until it has one.
    let head = "POST /post.php HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\
                Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
    let answer = raw(&edge, head, b"");
    assert!(answer.contains("5 5d41402abc4b2a76b9719d911017c592 5"), "{answer}");
}

#[test]
fn status_and_location_are_the_scripts() {
    let (_base, _php, edge) = start(
        2,
        &[
            ("gone.php", "http_response_code(410); echo 'gone';"),
            ("there.php", "header('Location: /elsewhere');"),
            ("fatal.php", "ini_set('error_log', ''); undefined_function();"),
        ],
    );
    let close = |path: &str| {
        raw(&edge, &format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"), b"")
    };
    assert!(close("/gone.php").starts_with("HTTP/1.1 410"));
    let there = close("/there.php");
    assert!(there.starts_with("HTTP/1.1 302") && there.contains("location: /elsewhere"), "{there}");
    assert!(close("/fatal.php").starts_with("HTTP/1.1 500"));
    let begun = Instant::now();
    let notes = || edge.parts().ledger.notes().notes;
    while !notes().iter().any(|it| it.text.contains("undefined_function")) {
        assert!(begun.elapsed() < crate::support::DEADLINE, "{:?}", notes());
        thread::yield_now();
    }
    assert!(notes().iter().all(|it| it.from == "x/fatal.php"), "{:?}", notes());
}

#[test]
fn a_slow_scripts_lines_come_as_they_are_written() {
    let code = "header('Content-Type: text/plain'); while (ob_get_level()) ob_end_flush(); \
                echo \"first\\n\"; flush(); \
                while (!file_exists(__DIR__ . '/go')) { usleep(5000); clearstatcache(); } \
                echo \"second\\n\";";
    for compress in [false, true] {
        let (base, php, _) = start(2, &[("slow.php", code)]);
        let settings =
            SiteSettings { compress: CompressChoice::Switch(compress), ..php_site(&php) };
        let edge = Edge::start_with(&base, &[settings], "");
        let mut stream = edge.connect();
        stream
            .write_all(b"GET /slow.php HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip\r\nConnection: close\r\n\r\n")
            .unwrap();
        let mut seen = Vec::new();
        // The first line is here while the script still runs.
        let came = |seen: &[u8]| {
            seen.windows(4)
                .position(|it| it == b"\r\n\r\n")
                .is_some_and(|end| seen.len() > end + 14)
        };
        while !came(&seen) {
            let mut piece = [0; 4096];
            let count = stream.read(&mut piece).unwrap();
            assert_ne!(count, 0);
            seen.extend_from_slice(&piece[..count]);
        }
        base.write("www/go", "");
        stream.read_to_end(&mut seen).unwrap();
        let text = String::from_utf8_lossy(&seen);
        assert_eq!(text.contains("content-encoding: gzip"), compress, "{text}");
        assert_eq!(text.contains("vary: Accept-Encoding"), compress, "{text}");
        assert_eq!(text.contains("second"), !compress);
    }
}

#[test]
fn a_hundred_at_once_are_served_by_four_children() {
    let (_base, _php, edge) = start(4, &[("n.php", "usleep(2000); echo 'n=', $_GET['n'], ';';")]);
    thread::scope(|scope| {
        for number in 0..100 {
            let edge = &edge;
            scope.spawn(move || {
                let request = format!(
                    "GET /n.php?n={number} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
                );
                let answer = raw(edge, &request, b"");
                assert!(answer.contains(&format!("n={number};")), "{answer}");
            });
        }
    });
}

#[test]
fn a_thousand_requests_share_few_connections() {
    let (_base, php, edge) = start(2, &[("x.php", "header('Content-Length: 1'); echo 'x';")]);
    let mut stream = edge.connect();
    for _ in 0..1_000 {
        crate::support::send(&mut stream, "x", "GET /x.php", &[]);
        assert_eq!(Answer::read(&mut stream).text(), "x");
    }
    let opened = edge.door.script_connections();
    assert!(opened <= 3, "{opened} connections");
    drop(php);
    crate::support::send(&mut stream, "x", "GET /x.php", &[]);
    assert_eq!(Answer::read(&mut stream).status, 502, "a server that has gone");
}

#[test]
fn a_script_that_never_answers_is_given_up() {
    let (base, php, _) = start(1, &[("hang.php", "sleep(30);")]);
    let mut settings = php_site(&php);
    let mut detail = FastcgiChoice::Address(php.address()).settings();
    detail.timeout.0.0 = Duration::from_millis(300);
    settings.fastcgi.insert("*.php".into(), FastcgiChoice::Detailed(detail));
    let edge = Edge::start_with(&base, &[settings], "");
    assert_eq!(edge.ask("GET /hang.php", &[]).status, 504);
}
