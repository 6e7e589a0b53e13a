//! A folder served at once, as a person at the prompt does it.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use tidegate_tests::Scratch;
use tidegate_tests::clients::{curl, curl_with_head};
use tidegate_tests::tidegate::{Tidegate, binary};

fn folder() -> Scratch {
    let scratch = Scratch::new();
    scratch.write("site/notes.txt", "a line of notes\n".repeat(100));
    scratch.write("site/.secret", "hidden");
    scratch
}

#[test]
fn a_folder_is_listed_and_its_files_are_sent_compressed() {
    let edge = Tidegate::serve(folder(), &["site", "--port", "0"]);
    let at = format!("http://{}", edge.address("web", "http"));
    let (status, page) = curl(&[&format!("{at}/")]);
    assert_eq!(status, 200);
    assert!(page.contains("notes.txt") && !page.contains(".secret"), "{page}");
    assert_eq!(curl(&[&format!("{at}/.secret")]).0, 404);
    let notes = format!("{at}/notes.txt");
    let (_, whole) = curl_with_head(&["-H", "Accept-Encoding: gzip", "--compressed", &notes]);
    assert!(whole.to_ascii_lowercase().contains("content-encoding: gzip"), "{whole}");
    assert!(whole.ends_with("a line of notes\n"), "{whole}");
    assert!(edge.greets("curl"), "{:?}", edge.greeting);
}

#[test]
fn its_state_is_private_and_goes_with_it_and_a_reload_changes_nothing() {
    let edge = Tidegate::serve(folder(), &["site", "--port", "0"]);
    let temporary = edge.scratch.path().join("tmp");
    let state = std::fs::read_dir(&temporary).unwrap().next().unwrap().unwrap();
    assert_eq!(state.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    let before = edge.address("web", "http");
    let state = state.path();
    let reload = Command::new(binary()).args(["ctl", "reload", "--state"]).arg(&state).output();
    let reload = reload.unwrap();
    assert!(reload.status.success(), "{}", String::from_utf8_lossy(&reload.stderr));
    assert_eq!(curl(&[&format!("http://{before}/notes.txt")]).0, 200);
    let (status, scratch) = edge.stop_by("TERM");
    assert_eq!(status.code(), Some(0));
    assert!(!state.exists(), "{} is left", state.display());
    drop(scratch);
}

#[test]
fn what_cannot_be_served_is_named_with_a_remedy() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let scratch = folder();
    let said = |args: &[&str]| {
        let mut command = Command::new(binary());
        let output = command.current_dir(scratch.path()).arg("serve").args(args).output().unwrap();
        (String::from_utf8_lossy(&output.stderr).into_owned(), output.status.code())
    };
    let (text, code) = said(&["site", "--port", &port]);
    assert_eq!(code, Some(3), "{text}");
    assert!(text.contains(&port) && text.contains("choose another port"), "{text}");
    let (text, code) = said(&["nowhere"]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("nowhere") && text.contains("name a folder"), "{text}");
    let (text, code) = said(&["site", "--config", "x.yaml"]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("--config"), "{text}");
}
