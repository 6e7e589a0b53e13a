//! Published files of mosdns and OxiDNS: each is imported, what comes of it is checked, and both
//! are asked the same questions.
//!
//! The files are those of the shared folder, moved to this machine: free ports, upstreams that the
//! test controls instead of public resolvers, and files of names and addresses where they expect
//! them. Nothing else is changed.

use std::collections::BTreeSet;
use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use tidegate_tests::clients::dig;
use tidegate_tests::resolver::{Reply, Resolver};
use tidegate_tests::tidegate::{Tidegate, run};
use tidegate_tests::{Scratch, shared};

/// Folders and main files of which settings come; all others stay pipelines.
const SETTINGS: [&str; 3] = [
    "SvenShi/forgedns/config.yaml",
    "svenshi/oxidns/config.yaml",
    "svenshi/oxidns/config.minimal.yaml",
];

/// Upstreams, one for each `forward` of a file: one more is asked as the first.
const UPSTREAMS: u8 = 12;

/// Questions about names of a file, at most.
const NAMES_MAX: usize = 120;

/// Keys that say how an upstream is reached; all are reached on loopback.
const WAYS: [&str; 5] = ["dial_addr", "bootstrap", "bootstrap_version", "socks5", "enable_http3"];

/// A published file.
struct WildFile {
    program: String,
    folder: String,
    main: String,
}

impl WildFile {
    /// All that the table beside them names.
    fn all() -> Vec<Self> {
        let table = fs::read_to_string(home().join("SOURCES.md")).unwrap();
        let rows = table.lines().map(|line| line.split('|').map(str::trim).collect::<Vec<_>>());
        let file = |row: Vec<&str>| match row[..] {
            ["", folder, program @ ("mosdns" | "oxidns"), _, _, _, files, ""] => Some(Self {
                program: program.to_owned(),
                folder: folder.to_owned(),
                main: files.split(' ').next()?.to_owned(),
            }),
            _ => None,
        };
        rows.filter_map(file).collect()
    }

    fn name(&self) -> String {
        format!("{}/{}", self.folder, self.main)
    }

    fn text(&self, file: &str) -> String {
        fs::read_to_string(home().join(&self.folder).join(file)).unwrap()
    }
}

fn home() -> PathBuf {
    shared().join("data/wild")
}

/// A file that is moved to a folder.
struct MovedFile<'w> {
    wild: &'w WildFile,
    upstreams: &'w [SocketAddr],
    scratch: Scratch,
    forwards: usize,
    /// Addresses of servers, as they are written.
    servers: Vec<String>,
    /// Names that the files are about.
    names: BTreeSet<String>,
}

impl<'w> MovedFile<'w> {
    fn new(wild: &'w WildFile, upstreams: &'w [SocketAddr]) -> Self {
        let (scratch, servers, names) = (Scratch::new(), Vec::new(), BTreeSet::new());
        Self { wild, upstreams, scratch, forwards: 0, servers, names }
    }

    /// The text of the main file or of one that it includes.
    fn moved(&mut self, text: &str) -> String {
        let lines = text.lines().map(|line| self.line(line));
        lines.collect::<Vec<_>>().join("\n") + "\n"
    }

    fn line(&mut self, line: &str) -> String {
        let rest = line.trim_start().trim_start_matches("- ");
        let (before, code) = (&line[..line.len() - rest.len()], rest.trim_end());
        if code.starts_with('#') {
            return line.to_owned();
        }
        let (key, value) = code.split_once(':').unwrap_or((code, ""));
        let value = value.split(" #").next().unwrap_or("").trim();
        let upstream = self.upstreams[self.forwards.saturating_sub(1) % self.upstreams.len()];
        match key {
            "type" if value == "forward" => {
                self.forwards += 1;
                line.to_owned()
            }
            "addr" => format!("{before}addr: \"udp://{upstream}\""),
            "listen" | "http" if !value.is_empty() => {
                format!("{before}{key}: \"{}\"", self.server(value))
            }
            "address" => format!("{before}address: \"127.0.0.1:9\""),
            "url" => format!("{before}url: \"http://127.0.0.1:9/\""),
            // The first way answers in time on a slow machine too.
            "threshold" => format!("{before}threshold: 4000"),
            "exec" if value.starts_with("forward ") => {
                format!("{before}exec: forward {upstream}")
            }
            _ if WAYS.contains(&key) => {
                assert!(!before.contains('-'), "{line}");
                String::new()
            }
            "path" | "root" | "dir" | "filename" => line.to_owned(),
            _ => {
                let is_end = |it: char| it.is_whitespace() || "\"',[]{}".contains(it);
                let words = code.split_inclusive(is_end).map(|word| {
                    let end = word.trim_end_matches(is_end).len();
                    self.word(&word[..end]) + &word[end..]
                });
                before.to_owned() + &words.collect::<String>()
            }
        }
    }

    /// A free port of loopback for a server; servers of one address stay at one.
    fn server(&mut self, address: &str) -> String {
        let known = self.servers.iter().position(|it| it == address);
        let last = known.unwrap_or(self.servers.len()) + 1;
        if known.is_none() {
            self.servers.push(address.to_owned());
        }
        format!("127.0.0.{last}:0")
    }

    /// A word with paths in the folder; the file that it names is made.
    fn word(&mut self, word: &str) -> String {
        let path = word.trim_start_matches('&');
        let mark = &word[..word.len() - path.len()];
        let is_path = |it: &str| it.starts_with("./") || it.starts_with('/') && it.len() > 1;
        let is_named = |ends: &str| Path::new(path).extension().is_some_and(|it| it == ends);
        if path.contains("://") || !is_path(path) && !is_named("txt") && !is_named("yaml") {
            self.note_name(word);
            return word.to_owned();
        }
        let place = self.scratch.path().join(path.trim_start_matches("./").trim_start_matches('/'));
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        if is_named("txt") || place.file_name().is_some_and(|it| it == "hosts") {
            self.write(&place);
        } else if is_named("yaml") {
            let name = place.file_name().unwrap().to_str().unwrap();
            let text = self.moved(&self.wild.text(name));
            fs::write(&place, text).unwrap();
            // mosdns looks for these from its working directory alone.
            return place.to_str().unwrap().to_owned();
        }
        if path.starts_with('/') { format!("{mark}{}", place.display()) } else { word.to_owned() }
    }

    /// Notes a name that a rule is about, as in `domain:example.com`.
    fn note_name(&mut self, word: &str) {
        let name = word.rsplit_once(':').map_or(word, |(_, name)| name).trim_end_matches('.');
        let top = name.rsplit('.').next().unwrap_or("");
        let is_name = name.bytes().all(|it| it.is_ascii_alphanumeric() || b"-._".contains(&it));
        let is_top = top.len() >= 2 && top.bytes().all(|it| it.is_ascii_alphabetic());
        let is_about = word.contains("domain:") || word.contains("full:") || name.contains('.');
        if is_name && is_top && is_about && !["dat", "log", "dump", "sqlite"].contains(&top) {
            self.names.insert(name.to_owned());
        }
    }

    /// A file of addresses, of records or of names.
    fn write(&mut self, place: &Path) {
        let stem = place.file_stem().unwrap().to_str().unwrap().to_lowercase();
        let plain = stem.replace(|it: char| !it.is_ascii_alphanumeric(), "-");
        let plain = plain.trim_matches('-');
        let has = |words: &[&str]| words.iter().any(|it| stem.contains(it));
        let text = if has(&["domain"]) {
            format!("{plain}.test\n")
        } else if has(&["hosts"]) {
            format!("{plain}.test 192.0.2.77 2001:db8::77\n")
        } else if has(&["redirect", "cname"]) {
            format!("{plain}.test www.example.com\n")
        } else if has(&["ip", "cidr", "cloudfront", "fastly"]) && !has(&["hosts"]) {
            "192.0.2.1\n2001:db8::1\n".to_owned()
        } else {
            format!("{plain}.test\n")
        };
        fs::write(place, text).unwrap();
        self.names.extend([format!("{plain}.test"), format!("www.{plain}.test")]);
    }
}

/// Upstreams that know these names, each with addresses of its own.
fn upstreams(names: &BTreeSet<String>) -> Vec<Resolver> {
    let of = |last: u8| {
        let v6 = format!("2001:db8::{last:x}").parse().unwrap();
        let reply = Reply::Addresses(vec![IpAddr::from([192, 0, 2, last]), v6], 300);
        Resolver::start(&names.iter().map(|name| (&**name, reply.clone())).collect::<Vec<_>>())
    };
    (1..=UPSTREAMS).map(of).collect()
}

/// Questions of a file: a name and a type, one after the other.
fn questions(names: &BTreeSet<String>) -> Vec<&str> {
    let known = names.iter().take(NAMES_MAX).flat_map(|name| [&**name, "A", &**name, "AAAA"]);
    let more = ["HTTPS", "TXT", "MX"].into_iter().flat_map(|kind| ["www.example.com", kind]);
    let absent = ["nowhere.example", "A", "9.2.0.192.in-addr.arpa", "PTR"];
    known.chain(more).chain(absent).collect()
}

/// A code, and the data of the records in the order of the answer, of each question.
fn answers(edge: &Tidegate, questions: &[&str]) -> Vec<String> {
    let text = dig(edge.address("dns", "udp"), questions);
    let headers = text.split("status: ").skip(1);
    let answer = |part: &str| {
        let code = part.split(',').next().unwrap();
        let answers = part.split("ANSWER SECTION:\n").nth(1).unwrap_or("");
        let records = answers.lines().take_while(|line| !line.is_empty()).map(|line| {
            // NAME TTL CLASS TYPE DATA
            line.split_whitespace().skip(4).collect::<Vec<_>>().join(" ")
        });
        format!("{code} {}", records.collect::<Vec<_>>().join(" "))
    };
    headers.map(answer).collect()
}

/// The configuration that an import makes of a file, which `check` finds nothing wrong with.
fn imported(file: &MovedFile<'_>, main: &Path) -> String {
    let name = file.wild.name();
    let told = run(&["import", &file.wild.program, main.to_str().unwrap()]);
    let wrong = String::from_utf8_lossy(&told.stderr);
    assert!(told.status.success() && wrong.is_empty(), "{name}: {wrong}");
    let yaml = String::from_utf8(told.stdout).unwrap();
    let made = file.scratch.write("made.yaml", &yaml);
    let state = file.scratch.path().join("check-state");
    let state = state.to_str().unwrap();
    let checked = run(&["--config", made.to_str().unwrap(), "--state", state, "check"]);
    let wrong = String::from_utf8_lossy(&checked.stderr);
    assert!(checked.status.success(), "{name}: {wrong}\n{yaml}");
    yaml
}

fn check(wild: &WildFile) {
    // Which names there are is known when the file is read, and the upstreams before.
    let anywhere = [SocketAddr::from(([127, 0, 0, 1], 9))];
    let mut first = MovedFile::new(wild, &anywhere);
    let _ = first.moved(&wild.text(&wild.main));
    let mut names = first.names;
    names.insert("www.example.com".into());
    let resolvers = upstreams(&names);
    let addresses: Vec<_> = resolvers.iter().map(|it| it.address).collect();

    let (mut old, mut new) = (MovedFile::new(wild, &addresses), MovedFile::new(wild, &addresses));
    let (before, text) = (old.moved(&wild.text(&wild.main)), new.moved(&wild.text(&wild.main)));
    let main = new.scratch.write("theirs.yaml", &text);
    let yaml = imported(&new, &main);
    let is_settings = !yaml.contains("\n  pipeline:");
    assert_eq!(is_settings, SETTINGS.contains(&&*wild.name()), "{}\n{yaml}", wild.name());
    let before = Tidegate::start_in(old.scratch, &before);
    let after = Tidegate::start_in(new.scratch, &yaml);
    let questions = questions(&names);
    // The second time from a cache, where there is one.
    for _ in 0..2 {
        let (was, is) = (answers(&before, &questions), answers(&after, &questions));
        assert_eq!(was.len(), questions.len() / 2, "{}", wild.name());
        let has_address = was.iter().any(|it| it.contains("192.0.2."));
        assert!(has_address, "{} answers nothing: {was:?}", wild.name());
        for ((was, is), question) in was.iter().zip(&is).zip(questions.chunks(2)) {
            assert_eq!(was, is, "{} {question:?}\n{yaml}", wild.name());
        }
    }
}

#[test]
fn every_published_file_is_imported_checked_and_answers_as_before() {
    let all = WildFile::all();
    assert_eq!(all.len(), 25, "the table of files");
    for wild in &all {
        check(wild);
    }
}
