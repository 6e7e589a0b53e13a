//! The disk tier of the proxy's cache: what outlives kill -9, what must not, and what is never
//! sent.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use tidegate_tests::clients::{curl, curl_with_head};
use tidegate_tests::origin::{Page, header};
use tidegate_tests::tidegate::{Tidegate, refused};
use tidegate_tests::{Scratch, wait};

const SETTINGS: &str = r#"
proxy:
  listen: ["http://127.0.0.1:0"]
  cache: { disk: { path: kept, size: 64MiB } }
admin: { listen: "127.0.0.1:0" }
"#;

/// Three sizes: read with the head, in one piece on disk, and in many.
const PAGES: [(&str, usize); 3] = [("/small", 5000), ("/middle", 100_000), ("/large", 1_500_000)];

/// A body in which every line is another and no other page has the like.
fn body(path: &str, length: usize) -> String {
    let mut text = String::new();
    for line in 0.. {
        if text.len() >= length {
            break;
        }
        writeln!(text, "{path} line {line}").unwrap();
    }
    text.truncate(length);
    text
}

/// An origin that gives parts too, and notes `METHOD path range` of every request.
struct Origin {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Origin {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, requests) = (listener.local_addr().unwrap(), Arc::default());
        let noted: Arc<Mutex<Vec<String>>> = Arc::clone(&requests);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let noted = Arc::clone(&noted);
                // A client that leaves early is none of its business.
                std::thread::spawn(move || drop(answer(stream, &noted)));
            }
        });
        Self { address, requests }
    }

    fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

fn page(path: &str) -> Page {
    let length = PAGES.iter().find(|(of, _)| *of == path).map_or(300_000, |(_, length)| *length);
    Page::new("text/plain", body(path, length))
}

fn answer(stream: TcpStream, noted: &Mutex<Vec<String>>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head)? == 0 {
            return Ok(());
        }
    }
    let mut words = head.split_whitespace();
    let (method, path) = (words.next().unwrap(), words.next().unwrap());
    let range = header(&head, "range");
    noted.lock().unwrap().push(format!("{method} {path} {}", range.as_deref().unwrap_or("all")));
    let all = page(path).body;
    let part = range.as_deref().and_then(|it| {
        let (first, last) = it.strip_prefix("bytes=")?.split_once('-')?;
        Some((first.parse().ok()?, last.parse().unwrap_or(all.len() - 1)))
    });
    let (first, last) = part.unwrap_or((0, all.len() - 1));
    let (status, place) = match part {
        Some(_) => (
            "206 Partial Content",
            format!("Content-Range: bytes {first}-{last}/{}\r\n", all.len()),
        ),
        None => ("200 OK", String::new()),
    };
    let mut stream = stream;
    let length = last + 1 - first;
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Length: {length}\r\n{place}Content-Type: text/plain\r\n\
         Cache-Control: max-age=3600\r\nETag: \"one\"\r\nConnection: close\r\n\r\n"
    )?;
    stream.write_all(&all[first..=last])
}

fn get(tidegate: &Tidegate, url: &str, more: &[&str]) -> (u16, String) {
    let proxy = format!("http://{}", tidegate.address("proxy", "http"));
    curl(&[&["-x", &proxy, url], more].concat())
}

/// Fetches a page and says whether it is right.
fn is_right(tidegate: &Tidegate, origin: &Origin, path: &str) -> bool {
    get(tidegate, &origin.url(path), &[]) == (200, String::from_utf8(page(path).body).unwrap())
}

/// The segment that holds these bytes, and where.
fn find(scratch: &Scratch, bytes: &[u8]) -> Option<(PathBuf, usize)> {
    let segments = std::fs::read_dir(scratch.path().join("state/kept")).unwrap();
    segments.map(|it| it.unwrap().path()).find_map(|path| {
        // It may have been reclaimed meanwhile.
        let content = std::fs::read(&path).ok()?;
        let at = content.windows(bytes.len()).position(|it| it == bytes)?;
        Some((path, at))
    })
}

/// The last bytes of a page, which no other has.
fn tail(path: &str) -> Vec<u8> {
    let all = page(path).body;
    all[all.len() - 40..].to_vec()
}

/// Fetches all pages, waits until they are on disk, and kills the program.
fn filled_and_killed(origin: &Origin) -> Scratch {
    let tidegate = Tidegate::start(SETTINGS);
    // One thread writes, in order: what came before the last page is complete when that is there.
    for path in PAGES.map(|(path, _)| path).into_iter().chain(["/last"]) {
        assert!(is_right(&tidegate, origin, path), "{path}");
        let tail = tail(path);
        wait::until("a page on disk", || find(&tidegate.scratch, &tail));
    }
    tidegate.stop_by("KILL").1
}

/// Changes a byte of a page on disk.
fn damage(scratch: &Scratch, path: &str, at: usize) {
    let mark = page(path).body[at..at + 40].to_vec();
    let (segment, place) = find(scratch, &mark).unwrap();
    let mut content = std::fs::read(&segment).unwrap();
    content[place] ^= 1;
    std::fs::write(segment, content).unwrap();
}

#[test]
fn what_was_fetched_outlives_a_kill() {
    let origin = Origin::start();
    let scratch = filled_and_killed(&origin);
    let before = origin.requests().len();
    let tidegate = Tidegate::start_in(scratch, SETTINGS);
    for (path, length) in PAGES {
        assert!(is_right(&tidegate, &origin, path), "{path}");
        let (url, from) = (origin.url(path), length - 3000);
        let (status, part) = get(&tidegate, &url, &["-r", &format!("{from}-{}", length - 1)]);
        assert_eq!((status, part), (206, body(path, length)[from..].to_owned()), "{path}");
    }
    let (several, url) = ("10-19,1400000-1400009", origin.url("/large"));
    let (status, parts) = get(&tidegate, &url, &["-r", several]);
    let all = body("/large", 1_500_000);
    assert_eq!(status, 206);
    assert!(parts.contains(&all[10..20]) && parts.contains(&all[1_400_000..1_400_010]), "{parts}");
    let proxy = format!("http://{}", tidegate.address("proxy", "http"));
    let (_, text) = curl_with_head(&["-x", &proxy, "-I", &url]);
    assert!(text.contains("tidegate;hit") && text.contains("1500000"), "{text}");
    assert_eq!(origin.requests().len(), before, "nobody asked the origin");
}

#[test]
fn what_was_changed_does_not_come_back_after_a_kill() {
    let origin = Origin::start();
    let tidegate = Tidegate::start_in(filled_and_killed(&origin), SETTINGS);
    for (path, _) in PAGES {
        assert_eq!(get(&tidegate, &origin.url(path), &["-X", "DELETE"]).0, 200);
    }
    let (_, scratch) = tidegate.stop_by("KILL");
    let before = origin.requests().len();
    let tidegate = Tidegate::start_in(scratch, SETTINGS);
    for (path, _) in PAGES {
        assert!(is_right(&tidegate, &origin, path), "{path}");
    }
    let expected: Vec<_> = PAGES.iter().map(|(path, _)| format!("GET {path} all")).collect();
    assert_eq!(origin.requests()[before..], expected);
}

#[test]
fn a_damaged_byte_is_never_sent() {
    let origin = Origin::start();
    let scratch = filled_and_killed(&origin);
    damage(&scratch, "/small", 2000);
    damage(&scratch, "/middle", 30_000);
    damage(&scratch, "/large", 900_000);
    let before = origin.requests().len();
    let tidegate = Tidegate::start_in(scratch, SETTINGS);
    for (path, _) in PAGES {
        assert!(is_right(&tidegate, &origin, path), "{path}");
    }
    let requests = origin.requests()[before..].to_vec();
    assert_eq!(requests[..2], ["GET /small all", "GET /middle all"]);
    // What is sound was sent from the disk, the rest came from the origin.
    let (rest, last) = (requests[2].strip_prefix("GET /large bytes=").unwrap(), "-1499999");
    let from: usize = rest.strip_suffix(last).unwrap().parse().unwrap();
    assert!((1..=900_000).contains(&from), "{from}");
    assert!(is_right(&tidegate, &origin, "/large"));
    assert_eq!(origin.requests()[before + 3..], ["GET /large all"], "it was dropped");
}

#[test]
fn a_full_disk_costs_only_what_does_not_fit() {
    let origin = Origin::start();
    let small = 1 << 20;
    let tidegate = Tidegate::start_on_a_small_disk(Scratch::new(), SETTINGS, "state/kept", small);
    for _ in 0..2 {
        for number in 0..12 {
            let path = format!("/{number}");
            assert!(is_right(&tidegate, &origin, &path), "{path}");
        }
    }
    assert_eq!(origin.requests().len(), 12, "memory has them");
}

#[test]
fn without_its_folder_the_door_runs_and_says_so() {
    let origin = Origin::start();
    let scratch = Scratch::new();
    scratch.write("state/kept", "not a folder");
    let tidegate = Tidegate::start_in(scratch, SETTINGS);
    let is_it = |line: &str| line.contains("proxy: cache") && line.contains("in memory alone");
    if !tidegate.greeting.iter().any(|line| is_it(line)) {
        wait::until("the warning", || tidegate.output.try_recv().ok().filter(|line| is_it(line)));
    }
    for _ in 0..2 {
        assert!(is_right(&tidegate, &origin, "/small"));
    }
    assert_eq!(origin.requests().len(), 1);
}

#[test]
fn a_reload_keeps_the_folder() {
    let origin = Origin::start();
    let tidegate = Tidegate::start(SETTINGS);
    assert!(is_right(&tidegate, &origin, "/large"));
    let changed = SETTINGS.replace("{ disk:", "{ stale: never, disk:");
    std::fs::write(&tidegate.config, changed).unwrap();
    tidegate.told(&["ctl", "reload"]);
    assert!(is_right(&tidegate, &origin, "/large"));
    let larger = SETTINGS.replace("64MiB", "65MiB");
    std::fs::write(&tidegate.config, larger).unwrap();
    tidegate.told(&["ctl", "reload"]);
    wait::until("the note", || {
        let line = tidegate.output.try_recv().ok()?;
        line.contains("take effect at the next start").then_some(())
    });
    assert!(is_right(&tidegate, &origin, "/large"));
    assert_eq!(origin.requests().len(), 1);
}

#[test]
fn two_caches_in_one_folder_are_refused() {
    let both = r#"
proxy: { listen: ["http://127.0.0.1:0"], cache: { disk: { path: kept } } }
gateway: { listen: ["http://127.0.0.1:0"], cache: { disk: { path: kept, size: 1MiB } } }
"#;
    let scratch = Scratch::new();
    let (said, _) = refused(both, &scratch, &scratch.path().join("state"));
    assert!(said.contains("16MiB to 4TiB"), "{said}");
    let (said, _) = refused(&both.replace("1MiB", "1GiB"), &scratch, &scratch.path().join("state"));
    assert!(said.contains("a folder of its own"), "{said}");
}

#[test]
fn what_is_stored_is_listed_by_site_and_by_url_before_and_after_a_restart() {
    let origin = Origin::start();
    let mut tidegate = Tidegate::start(SETTINGS);
    for (path, _) in PAGES {
        assert!(is_right(&tidegate, &origin, path));
    }
    for start in ["first", "second"] {
        let site = |tidegate: &Tidegate| {
            let page = tidegate.api("/api/cache")["caches"][0].clone();
            (page["sites"][0].clone(), page["complete"].clone())
        };
        // The disk's thread writes when it comes to it.
        let (stored, is_complete) = wait::until("all three on disk", || {
            Some(site(&tidegate)).filter(|(stored, _)| stored["disk_objects"] == 3)
        });
        assert_eq!((&stored["site"], &is_complete), (&"127.0.0.1".into(), &true.into()), "{start}");
        assert_eq!(stored["disk_bytes"], 1_605_000, "{start}");
        let told = tidegate.told(&["ctl", "cache"]);
        assert!(told.contains("1605000  127.0.0.1"), "{told}");
        let urls = tidegate.told(&["ctl", "cache", "127.0.0.1", "--limit", "2"]);
        let listed: Vec<&str> = urls.lines().filter(|line| line.contains("http://")).collect();
        let wanted = ["/large", "/middle"].map(|path| format!("  {}", origin.url(path)));
        assert_eq!(listed, wanted, "{start}: {urls}");
        assert!(urls.contains("200, ") && urls.contains("1500000 bytes on disk"), "{urls}");
        assert!(urls.contains("fresh for 3") && urls.contains("there is more"), "{urls}");
        let after = origin.url("/middle");
        let rest = tidegate.told(&["ctl", "cache", &origin.url("/"), "--after", &after]);
        assert!(rest.contains("/small") && !rest.contains("/middle"), "{rest}");
        assert!(!rest.contains("there is more"), "{rest}");
        let none = tidegate.told(&["ctl", "cache", "other.example"]);
        assert!(none.contains("nothing is stored"), "{none}");
        tidegate = Tidegate::start_in(tidegate.stop_by("TERM").1, SETTINGS);
    }
    let refused = tidegate.command(&["ctl", "cache", "--door", "gateway"]);
    assert!(!refused.status.success());
}
