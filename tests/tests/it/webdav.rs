//! Files written at the web door: litmus, a kill, a full disk.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use tidegate_tests::Scratch;
use tidegate_tests::clients::{curl, curl_with_head};
use tidegate_tests::origin::header;
use tidegate_tests::tidegate::{Tidegate, refused};

const CONFIG: &str = r#"
web:
  - listen: ["http://127.0.0.1:0"]
    root: www
    webdav: true
    writers: [127.0.0.1]
admin: { listen: "127.0.0.1:0" }
"#;

/// A folder that the program may write as whoever it becomes.
fn scratch() -> Scratch {
    let scratch = Scratch::new();
    scratch.write("www/a.txt", "as it was");
    let open = std::fs::Permissions::from_mode(0o777);
    std::fs::set_permissions(scratch.path().join("www"), open).unwrap();
    scratch
}

fn names(folder: &Path) -> Vec<String> {
    let found = std::fs::read_dir(folder).unwrap().map(|it| it.unwrap().file_name());
    let mut names: Vec<_> = found.map(|it| it.into_string().unwrap()).collect();
    names.sort();
    names
}

/// Begins a `PUT`, and waits until the program has taken the head: it says so.
fn begin_put(at: SocketAddr, path: &str) -> TcpStream {
    let mut stream = TcpStream::connect(at).unwrap();
    let head = format!(
        "PUT {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\nExpect: 100-continue\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut said = [0; 12];
    stream.read_exact(&mut said).unwrap();
    assert_eq!(&said, b"HTTP/1.1 100");
    stream
}

#[test]
fn litmus_passes() {
    let edge = Tidegate::start_in(scratch(), CONFIG);
    let url = format!("http://{}/", edge.address("web", "http"));
    let suite = Command::new("litmus")
        .args(["-k", &url])
        .env("TESTS", "basic copymove http")
        .current_dir(edge.scratch.path())
        .output()
        .expect("litmus is installed: make test-packages");
    let said = String::from_utf8_lossy(&suite.stdout);
    assert!(suite.status.success() && !said.contains("FAIL"), "{said}");
    for (name, tests) in [("basic", 16), ("copymove", 13), ("http", 4)] {
        let line = format!("summary for `{name}': of {tests} tests run: {tests} passed");
        assert!(said.contains(&line), "{said}");
    }
}

#[test]
fn a_kill_leaves_a_file_as_it_was() {
    let edge = Tidegate::start_in(scratch(), CONFIG);
    let mut stream = begin_put(edge.address("web", "http"), "/a.txt");
    stream.write_all(&vec![b'x'; 600_000]).unwrap();
    let (_, scratch) = edge.stop_by("KILL");
    assert_eq!(std::fs::read_to_string(scratch.path().join("www/a.txt")).unwrap(), "as it was");
    assert_eq!(names(&scratch.path().join("www")), ["a.txt"]);
}

#[test]
fn a_full_disk_takes_nothing_and_loses_nothing() {
    let edge = Tidegate::start_on_a_full_disk(Scratch::new(), CONFIG, "www", 1 << 20);
    let url = |name: &str| format!("http://{}/{name}", edge.address("web", "http"));
    let body = edge.scratch.write("body", vec![b'x'; 300_000]);
    let body = format!("@{}", body.display());
    for name in ["new", "filled"] {
        let (status, said) = curl(&["-X", "PUT", "--data-binary", &body, &url(name)]);
        assert_eq!((status, said.contains("no room")), (507, true), "{name}: {said}");
    }
    assert_eq!(curl(&[&url("new")]).0, 404);
    let (status, head) = curl_with_head(&["-r", "0-0", &url("filled")]);
    let range = header(&head, "content-range");
    assert_eq!((status, range.as_deref()), (206, Some("bytes 0-0/1048576")));
}

#[test]
fn a_site_that_nobody_may_write_is_refused() {
    let scratch = scratch();
    let state = scratch.path().join("state");
    let config = CONFIG.replace("    writers: [127.0.0.1]\n", "");
    let (said, _) = refused(&config, &scratch, &state);
    assert!(said.contains("web.0.webdav: nobody may write"), "{said}");
    assert!(said.contains("writers: [192.168.1.0/24]"), "{said}");
}
