//! `tidegate get` against real servers: our own doors, and one that breaks off.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Output};
use std::sync::{Arc, Mutex};
use tidegate_tests::Scratch;
use tidegate_tests::tidegate::{Tidegate, binary};

const THING: &[u8] = &[7; 300_000];

/// Serves [`THING`], but only half of it at the first request.
struct Flaky {
    address: SocketAddr,
    heads: Arc<Mutex<Vec<String>>>,
}

#[derive(Clone, Copy)]
enum Again {
    /// The same thing: it goes on where it is asked to.
    Same,
    /// Another version: all of it is sent anew.
    Changed,
}

impl Flaky {
    fn start(again: Again) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let heads = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&heads);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let head = read_head(&stream);
                let earlier = seen.lock().unwrap().len();
                seen.lock().unwrap().push(head.clone());
                // The client may have gone: that is its affair.
                let _ = serve(stream, &head, earlier, again);
            }
        });
        Self { address, heads }
    }

    fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

fn read_head(stream: &TcpStream) -> String {
    let mut head = String::new();
    let mut reader = BufReader::new(stream);
    while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head).unwrap_or(0) > 0 {}
    head
}

fn serve(mut stream: TcpStream, head: &str, earlier: usize, again: Again) -> std::io::Result<()> {
    let length = THING.len();
    let half = length / 2;
    if earlier == 0 {
        write!(stream, "HTTP/1.1 200 OK\r\nETag: \"one\"\r\nContent-Length: {length}\r\n\r\n")?;
        return stream.write_all(&THING[..half]);
    }
    let asked = head.lines().find_map(|line| line.strip_prefix("range: bytes="));
    match (again, asked) {
        (Again::Same, Some(asked)) if head.contains("if-range: \"one\"") => {
            let first: usize = asked.trim_end_matches('-').parse().unwrap();
            let (left, last) = (length - first, length - 1);
            write!(
                stream,
                "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes {first}-{last}/{length}\r\nContent-Length: {left}\r\n\r\n"
            )?;
            stream.write_all(&THING[first..])
        }
        _ => {
            write!(stream, "HTTP/1.1 200 OK\r\nETag: \"two\"\r\nContent-Length: {length}\r\n\r\n")?;
            stream.write_all(THING)
        }
    }
}

fn get(scratch: &Scratch, args: &[&str]) -> Output {
    Command::new(binary())
        .arg("get")
        .args(args)
        .current_dir(scratch.path())
        .env_remove("http_proxy")
        .output()
        .unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn several_files_come_at_once_and_keep_their_names() {
    let site = Scratch::new();
    std::fs::create_dir(site.path().join("www")).unwrap();
    for number in 0..9 {
        site.write(&format!("www/file {number}.bin"), vec![number; 100_000]);
    }
    let edge = Tidegate::start(&format!(
        "web: [{{ listen: [\"http://127.0.0.1:0\"], root: {:?} }}]\nproxy: {{ listen: [\"http://127.0.0.1:0\"] }}\nadmin: {{ listen: \"127.0.0.1:0\" }}",
        site.path().join("www")
    ));
    let web = edge.address("web", "http");
    let urls: Vec<String> =
        (0..9).map(|number| format!("http://{web}/file%20{number}.bin?x")).collect();
    let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
    let here = Scratch::new();
    let output = get(&here, &urls);
    assert!(output.status.success(), "{}", said(&output));
    for number in 0..9 {
        let file = std::fs::read(here.path().join(format!("file {number}.bin"))).unwrap();
        assert_eq!(file, vec![number; 100_000]);
    }
    assert_eq!(std::fs::read_dir(here.path()).unwrap().count(), 9, "nothing is left over");
}

#[test]
fn what_breaks_off_goes_on_where_it_stopped() {
    let flaky = Flaky::start(Again::Same);
    let here = Scratch::new();
    let output = get(&here, &[&format!("http://{}/thing.bin", flaky.address)]);
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(std::fs::read(here.path().join("thing.bin")).unwrap(), THING);
    let heads = flaky.heads();
    assert_eq!(heads.len(), 2);
    let range = format!("range: bytes={}-", THING.len() / 2);
    assert!(heads[1].contains(&range) && heads[1].contains("if-range: \"one\""), "{}", heads[1]);
}

#[test]
fn a_later_run_goes_on_too_and_a_changed_thing_starts_anew() {
    let flaky = Flaky::start(Again::Changed);
    let here = Scratch::new();
    let url = format!("http://{}/thing.bin", flaky.address);
    let output = get(&here, &["--retries", "0", &url]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("broke off"), "{}", said(&output));
    let part = std::fs::metadata(here.path().join("thing.bin.part")).unwrap();
    assert_eq!(part.len() as usize, THING.len() / 2);
    let output = get(&here, &[&url]);
    assert!(output.status.success(), "{}", said(&output));
    assert!(flaky.heads()[1].contains("if-range: \"one\""));
    assert_eq!(std::fs::read(here.path().join("thing.bin")).unwrap(), THING);
    assert_eq!(std::fs::read_dir(here.path()).unwrap().count(), 1, "nothing is left over");
}

#[test]
fn what_is_wrong_is_said_and_changes_nothing() {
    let site = Scratch::new();
    std::fs::create_dir(site.path().join("www")).unwrap();
    site.write("www/a.txt", "hello\n");
    let edge = Tidegate::start(&format!(
        "web: [{{ listen: [\"http://127.0.0.1:0\"], root: {:?} }}]\nadmin: {{ listen: \"127.0.0.1:0\" }}",
        site.path().join("www")
    ));
    let url = format!("http://{}/a.txt", edge.address("web", "http"));
    let here = Scratch::new();
    here.write("a.txt", "mine");
    let kept = get(&here, &[&url]);
    assert_eq!(kept.status.code(), Some(1));
    assert!(said(&kept).contains("is there already") && said(&kept).contains("--overwrite"));
    assert_eq!(std::fs::read(here.path().join("a.txt")).unwrap(), b"mine");
    let wrong = format!("sha256:{}", "0".repeat(64));
    let output = get(&here, &["--overwrite", "--checksum", &wrong, &url]);
    assert_eq!(output.status.code(), Some(1));
    // The hash of "hello\n", as sha256sum prints it.
    let right = "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03";
    assert!(said(&output).contains(right), "{}", said(&output));
    assert_eq!(std::fs::read(here.path().join("a.txt")).unwrap(), b"mine");
    let right = format!("sha256:{right}");
    assert!(get(&here, &["--overwrite", "--checksum", &right, &url]).status.success());
    assert_eq!(std::fs::read(here.path().join("a.txt")).unwrap(), b"hello\n");
    let missing = get(&here, &[&format!("{url}.none")]);
    assert_eq!(missing.status.code(), Some(1));
    assert!(said(&missing).contains("404"), "{}", said(&missing));
    let output = get(&here, &["-o", "-", &url]);
    assert_eq!(output.stdout, b"hello\n");
    let usage = get(&here, &["ftp://a.test/x"]);
    assert_eq!(usage.status.code(), Some(2));
}

#[test]
fn a_proxy_is_used_where_one_is_named() {
    let flaky = Flaky::start(Again::Changed);
    let edge = Tidegate::start(
        "proxy: { listen: [\"http://127.0.0.1:0\"] }\nadmin: { listen: \"127.0.0.1:0\" }",
    );
    let proxy = format!("http://{}", edge.address("proxy", "http"));
    let here = Scratch::new();
    let url = format!("http://{}/thing.bin", flaky.address);
    let output = get(&here, &["--proxy", &proxy, &url]);
    assert!(output.status.success(), "{}", said(&output));
    let heads = flaky.heads();
    assert!(!heads.is_empty() && heads.iter().all(|head| head.contains("via: ")), "{heads:?}");
    assert_eq!(std::fs::read(here.path().join("thing.bin")).unwrap(), THING);
}
