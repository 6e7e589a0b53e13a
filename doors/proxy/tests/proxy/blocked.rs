//! What stands in place of a blocked URL.

use crate::support::{Origin, ask, ok, proxy};

#[test]
fn each_kind_of_thing_gets_one_that_does_nothing() {
    let origin = Origin::start(|_, _, _| ok("ad"));
    let proxy = proxy("/ads/\n/ads/$document\n", |_| {});
    let get = |path: &str, fields: &str| {
        let url = format!("http://{}{path}", origin.address);
        ask(proxy, &format!("GET {url} HTTP/1.1\r\nHost: a\r\n{fields}\r\n"))
    };
    for (path, fields, status, media) in [
        ("/ads/x.js", "", "200", "text/javascript"),
        ("/ads/x", "Sec-Fetch-Dest: image\r\nAccept: image/png\r\n", "200", "image/"),
        ("/ads/x.css", "", "200", "text/css"),
        ("/ads/x", "Sec-Fetch-Dest: iframe\r\nAccept: text/html\r\n", "200", "text/html"),
        ("/ads/adsbygoogle.js", "", "200", "text/javascript"),
        ("/ads/page", "Accept: text/html\r\n", "403", "text/html"),
        ("/ads/page", "", "403", "text/plain"),
        ("/ads/setup.exe", "", "403", "text/plain"),
    ] {
        let answer = get(path, fields);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{path} {fields}: {answer}");
        assert!(answer.contains(&format!("content-type: {media}")), "{path} {fields}: {answer}");
        assert!(answer.contains("proxy-status: tidegate; error=http_request_denied"), "{answer}");
    }
    let page = get("/ads/page", "Accept: text/html\r\n");
    assert!(page.contains("List <b>mine</b>, line <b>2</b>"), "{page}");
    assert!(page.contains("--door proxy"), "{page}");
    assert!(get("/ads/adsbygoogle.js", "").contains("adsbygoogle"));
    assert_eq!(origin.connections(), 0);
}

#[test]
fn a_page_may_read_the_empty_answer_to_its_fetch() {
    let proxy = proxy("||ads.example^\n", |_| {});
    let fields =
        "Origin: http://news.example\r\nSec-Fetch-Dest: empty\r\nAccept: application/json\r\n";
    let request = format!("GET http://ads.example/api HTTP/1.1\r\nHost: a\r\n{fields}\r\n");
    let answer = ask(proxy, &request);
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("{}"), "{answer}");
    assert!(answer.contains("access-control-allow-origin: http://news.example"), "{answer}");
}
