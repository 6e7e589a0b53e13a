//! The compare pack's configuration files, moved to this machine: free ports instead of the written
//! ones, an upstream that the test controls instead of public resolvers. Nothing else is changed.

use crate::clients::dig;
use crate::tidegate::Tidegate;
use crate::{Scratch, shared};
use std::net::SocketAddr;
use std::path::PathBuf;

/// The public resolvers that the files ask.
const PUBLIC: [&str; 3] = ["223.5.5.5", "119.29.29.29", "114.114.114.114"];

/// The pack's folder.
pub fn folder() -> PathBuf {
    shared().join("data/dns-compare")
}

/// The names of all its configuration files, in order.
pub fn files() -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.split('.').next_back() == Some("yaml"))
        .collect();
    names.sort();
    names
}

/// The text of the file whose name starts with `number`, with all its upstreams at `upstream`.
pub fn moved(number: &str, upstream: SocketAddr) -> String {
    let name = files().into_iter().find(|name| name.starts_with(number)).unwrap();
    let mut text = std::fs::read_to_string(folder().join(name)).unwrap();
    for public in PUBLIC {
        // Not `dial_addr`, which ends alike.
        text = text.replace(&format!("- addr: \"{public}\""), &format!("- addr: \"{upstream}\""));
    }
    let mark = format!("\"127.0.0.1:53{number}\"");
    assert!(text.contains(&mark), "{number} does not listen where it did");
    text.replace(&mark, "\"127.0.0.1:0\"")
}

/// A folder that has the pack's rule files where the configurations expect them.
pub fn scratch() -> Scratch {
    let scratch = Scratch::new();
    std::os::unix::fs::symlink(folder().join("data"), scratch.path().join("data")).unwrap();
    scratch
}

/// Tidegate with one file of the pack.
pub fn start(number: &str, upstream: SocketAddr) -> Tidegate {
    start_with(number, upstream, &[])
}

/// The same with variables in its environment.
pub fn start_with(number: &str, upstream: SocketAddr, variables: &[(&str, &str)]) -> Tidegate {
    Tidegate::start_with(scratch(), &moved(number, upstream), variables)
}

/// What dig reads: the code, and the records' data in the order of the answer, joined by blanks.
pub fn answer(server: SocketAddr, question: &[&str]) -> (String, String) {
    let text = dig(server, question);
    let code = text
        .split_once("status: ")
        .and_then(|(_, rest)| rest.split(',').next())
        .unwrap_or_else(|| panic!("no answer to {question:?}: {text}"));
    let mut records = Vec::new();
    let answers = text.split("ANSWER SECTION:\n").nth(1).unwrap_or("");
    for line in answers.lines().take_while(|line| !line.is_empty()) {
        // NAME TTL CLASS TYPE DATA
        records.push(line.split_whitespace().skip(4).collect::<Vec<_>>().join(" "));
    }
    (code.to_owned(), records.join(" "))
}
