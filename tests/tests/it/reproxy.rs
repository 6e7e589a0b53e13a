//! The gateway with curl: a file that a server names, and an upload that waits for its last byte.

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use tidegate_tests::clients::{curl, curl_with_head};
use tidegate_tests::origin::{Origin, Page, header};
use tidegate_tests::tidegate::Tidegate;
use tidegate_tests::{Scratch, wait};

fn start(origin: &Origin, scratch: Scratch) -> Tidegate {
    let files = scratch.path().join("files");
    let yaml = format!(
        r#"
gateway:
  listen: ["http://127.0.0.1:0"]
  pools: {{ app: {{ servers: ["http://{}"] }} }}
  routes: [{{ pool: app, reproxy: {{ files: "{}" }} }}]
  uploads: {{ mode: buffer }}
admin: {{ listen: "127.0.0.1:0" }}
"#,
        origin.address,
        files.display()
    );
    Tidegate::start_in(scratch, &yaml)
}

#[test]
fn curl_gets_the_file_that_a_server_names() {
    let scratch = Scratch::new();
    let file = scratch.write("files/film.mp4", "0123456789");
    let page = Page::new("video/mp4", "").header("X-Reproxy-File", file.to_str().unwrap());
    let origin = Origin::start(&[("/film", page)]);
    let tidegate = start(&origin, scratch);
    let url = format!("http://{}/film", tidegate.address("gateway", "http"));
    let (status, answer) = curl_with_head(&[&url]);
    assert!(status == 200 && answer.ends_with("0123456789"), "{answer}");
    assert_eq!(header(&answer, "content-type").as_deref(), Some("video/mp4"));
    assert_eq!(header(&answer, "x-reproxy-file"), None);
    assert_eq!(curl(&["-r", "2-4", &url]), (206, "234".into()));
    let etag = format!("If-None-Match: {}", header(&answer, "etag").unwrap());
    assert_eq!(curl(&["-H", &etag, &url]), (304, String::new()));
}

#[test]
fn an_upload_under_way_leaves_nothing_behind_when_tidegate_is_killed() {
    let origin = Origin::start(&[]);
    let scratch = Scratch::new();
    let large = scratch.write("files/large", vec![b'x'; 8 << 20]);
    let tidegate = start(&origin, scratch);
    let url = format!("http://{}/up", tidegate.address("gateway", "http"));
    let mut client = Command::new("curl")
        .args(["-sS", "--max-time", "60", "--limit-rate", "1M", "-T"])
        .arg(&large)
        .arg(&url)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let open = format!("/proc/{}/fd", tidegate.pid());
    wait::until("the upload to be put on disk", || {
        std::fs::read_dir(&open).unwrap().flatten().find(|fd| {
            let path = std::fs::read_link(fd.path());
            let is_nameless = path.is_ok_and(|it| it.to_string_lossy().ends_with(" (deleted)"));
            is_nameless && std::fs::metadata(fd.path()).is_ok_and(|it| it.len() >= 256 << 10)
        })
    });
    assert_eq!(origin.requests(), [""; 0], "no server was asked yet");
    let state = tidegate.state();
    let (ended, _scratch) = tidegate.stop_by("KILL");
    assert_eq!(ended.signal(), Some(9));
    let mut left = std::fs::read_dir(&state).unwrap().flatten();
    let left = left.find(|entry| entry.file_name().to_string_lossy().contains("upload"));
    assert!(left.is_none(), "{left:?}");
    client.wait().unwrap();
}
