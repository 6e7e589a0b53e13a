//! What README and manual print is what a reader gets: every configuration is accepted, every
//! command of the README and the tutorials answers as they say, and the generated pages are those
//! of the binary.
//!
//! A block of `yaml` is a whole configuration, so that it can be copied as it stands. Files that it
//! names are made, `/srv` is a folder of the test.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tidegate_tests::namespace::Namespace;
use tidegate_tests::origin::{Origin, Page};
use tidegate_tests::resolver::{Reply, Resolver};
use tidegate_tests::{Scratch, repository, tidegate, wait};

/// A fenced block of a document.
struct Block {
    /// Document and line of its first line, for messages.
    place: String,
    line: usize,
    text: String,
}

/// The blocks in `language` of the README and the manual, without what they are indented by.
fn blocks(language: &str) -> Vec<Block> {
    let mut documents = pages_below("docs/manual");
    documents.push(repository().join("docs/README.md"));
    documents.push(repository().join("README.md"));
    documents.iter().flat_map(|it| blocks_of(it, language)).collect()
}

/// The pages of a folder and of those below it, in order.
fn pages_below(folder: &str) -> Vec<PathBuf> {
    let (mut folders, mut pages) = (vec![repository().join(folder)], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|it| it == "md") {
                pages.push(path);
            }
        }
    }
    pages.sort();
    pages
}

fn blocks_of(document: &Path, language: &str) -> Vec<Block> {
    let text = std::fs::read_to_string(document).unwrap();
    let (fence, mut found) = (format!("```{language}"), Vec::new());
    let mut lines = text.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        if line.trim() != fence {
            continue;
        }
        let indent = line.len() - line.trim_start().len();
        let body: Vec<&str> = lines
            .by_ref()
            .map(|(_, line)| line)
            .take_while(|line| line.trim() != "```")
            .map(|line| line.get(indent..).unwrap_or_default())
            .collect();
        let name = document.file_name().unwrap().to_string_lossy();
        let line = number + 2;
        found.push(Block { place: format!("{name}:{line}"), line, text: body.join("\n") + "\n" });
    }
    found
}

/// Words of a configuration that name a file or a folder below its own.
fn named_files(text: &str) -> Vec<&str> {
    let is_path = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    let endings = [".txt", ".pem", ".key", ".htpasswd", ".hosts", ".luau", ".d"];
    text.split(|c| !is_path(c))
        .filter(|word| !word.starts_with('/') && endings.iter().any(|it| word.ends_with(it)))
        .collect()
}

/// A certificate and its key, in PEM.
fn certificate(scratch: &Scratch) -> (String, String) {
    let (chain, key) = (scratch.path().join("made.crt"), scratch.path().join("made.secret"));
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"])
        .args(["-days", "30", "-subj", "/CN=www.example"])
        .args(["-addext", "subjectAltName=DNS:www.example", "-keyout"])
        .arg(&key)
        .arg("-out")
        .arg(&chain)
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert!(made.success(), "openssl makes a certificate");
    (std::fs::read_to_string(chain).unwrap(), std::fs::read_to_string(key).unwrap())
}

#[test]
fn every_configuration_that_is_printed_is_accepted() {
    let certificates = Scratch::new();
    let (chain, key) = certificate(&certificates);
    let found = blocks("yaml");
    assert!(found.len() > 45, "only {} configurations were found", found.len());
    let mut wrong = Vec::new();
    for block in &found {
        let scratch = Scratch::new();
        let config =
            write_configuration(&scratch, block, &Certificate { chain: &chain, key: &key });
        let output = Command::new(tidegate::binary())
            .args(["check", "--config"])
            .arg(config)
            .arg("--state")
            .arg(scratch.path().join("state"))
            .output()
            .unwrap();
        if !output.status.success() {
            wrong.push(format!("{}: {}", block.place, String::from_utf8_lossy(&output.stderr)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Certificate and key for configurations that name some, in PEM.
struct Certificate<'a> {
    chain: &'a str,
    key: &'a str,
}

/// Writes a configuration and the files and folders that it names; returns its path.
fn write_configuration(scratch: &Scratch, block: &Block, certificate: &Certificate<'_>) -> PathBuf {
    let folders = "www docs app static blog files staff store share cgi-bin reports";
    let folders = folders.split(' ').map(|it| format!("srv/{it}"));
    for folder in folders.chain(["acme".to_owned()]) {
        std::fs::create_dir_all(scratch.path().join(folder)).unwrap();
    }
    for file in named_files(&block.text) {
        match Path::new(file).extension().and_then(|it| it.to_str()) {
            Some("d") => drop(scratch.write(&format!("{file}/a.txt"), "ads.example\n")),
            Some("pem") => drop(scratch.write(file, certificate.chain)),
            Some("key") => drop(scratch.write(file, certificate.key)),
            Some("htpasswd") => drop(scratch.write(file, HTPASSWD)),
            Some("luau") => drop(scratch.write(file, SCRIPT)),
            _ => drop(scratch.write(file, "ads.example\n")),
        }
    }
    let text = block.text.replace("/srv/", &format!("{}/srv/", scratch.path().display()));
    scratch.write("tidegate.yaml", text)
}

/// A line as `htpasswd -B` writes it.
const HTPASSWD: &str = "ann:$2y$07$BCryptRequires22Chrcte/VlQH0piJtjXl.0t1XkA8pw9dMXTTOq\n";

/// A script for any place; those that the manual prints are run by the tests of scripts.
const SCRIPT: &str = "function on_request(request) end function on_query(query) end
    function on_decide(question) end\n";

/// A running Tidegate in a network of its own.
struct DocumentedEdge {
    namespace: Namespace,
    scratch: Scratch,
    running: std::process::Child,
}

impl DocumentedEdge {
    /// One without a configuration, at the default addresses.
    fn start() -> Self {
        Self::start_in(Namespace::new("documents", &[], "127.0.0.1"), Scratch::new())
    }

    /// One with the `tidegate.yaml` of this folder, if there is one.
    fn start_in(namespace: Namespace, scratch: Scratch) -> Self {
        let running = namespace
            .command("sh")
            .args(["-c", "exec \"$0\" run >out 2>&1"])
            .arg(tidegate::binary())
            .current_dir(scratch.path())
            .spawn()
            .unwrap();
        let started = Self { namespace, scratch, running };
        wait::until("the documented configuration is ready", || {
            let said = std::fs::read_to_string(started.scratch.path().join("out")).ok()?;
            said.lines().any(|line| line == "ready").then_some(())
        });
        started
    }

    /// Runs the examples with what they print.
    fn compare(&self, examples: &[Block]) {
        for example in examples {
            let mut lines = example.text.lines().peekable();
            while let Some(line) = lines.next() {
                let command =
                    line.strip_prefix("$ ").unwrap_or_else(|| panic!("no command: {line}"));
                let mut printed = String::new();
                while let Some(line) = lines.next_if(|line| !line.starts_with("$ ")) {
                    printed += line;
                    printed += "\n";
                }
                let said = self.shell(command);
                assert!(said.starts_with(&printed), "{}: {command}\n{said}", example.place);
            }
        }
    }

    /// Everything that a command of the documents prints, run by a shell in the folder where
    /// Tidegate was started.
    fn shell(&self, command: &str) -> String {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let with_ours = std::iter::once(tidegate::binary().parent().unwrap().to_path_buf())
            .chain(std::env::split_paths(&path));
        let output = self
            .namespace
            .command("sh")
            .args(["-c", command])
            .env("PATH", std::env::join_paths(with_ours.collect::<Vec<PathBuf>>()).unwrap())
            .current_dir(self.scratch.path())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            output.status.success(),
            "{command}: {}\n{said}{}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        );
        said
    }
}

impl Drop for DocumentedEdge {
    fn drop(&mut self) {
        let _ = self.running.kill();
        let _ = self.running.wait();
    }
}

#[test]
fn every_command_of_the_readme_answers_as_it_says() {
    let started = DocumentedEdge::start();
    let readme = repository().join("README.md");
    // The table of doors: each line to try, and a part of the answer.
    let text = std::fs::read_to_string(&readme).unwrap();
    for (door, part) in [
        ("dns", "status: NOERROR"),
        ("pixel", "HTTP/1.1 200 OK"),
        ("proxy", "Tidegate blocks"),
        ("web", "<html"),
        ("gateway", "403 Forbidden"),
    ] {
        let row = text.lines().find(|line| line.starts_with(&format!("| {door} |")));
        let row = row.unwrap_or_else(|| panic!("the README has a row of {door}"));
        let command = row.rsplit('`').nth(1).unwrap();
        let said = started.shell(command);
        assert!(said.to_lowercase().contains(&part.to_lowercase()), "{command}\n{said}");
    }
    // The examples come last, because they let a name through.
    let examples = blocks_of(&readme, "console");
    assert!(!examples.is_empty(), "the README shows an example");
    started.compare(&examples);
}

/// Addresses of the tutorials: this machine, its router, and the pixel door.
const TUTORIAL_ADDRESSES: [&str; 4] = ["192.168.1.2", "192.168.1.1", "192.0.2.1", MIRROR];
/// A public address, because the proxy leads public names to no other.
const MIRROR: &str = "151.101.2.132";

/// Starts what the tutorials have around them: the router's resolver, a mirror of packages, and an
/// application. They live as long as the test.
fn surround(namespace: &Namespace) {
    std::thread::scope(|scope| {
        let started = scope.spawn(|| {
            namespace.enter();
            let mirror = Reply::Address(MIRROR.parse().unwrap());
            Resolver::start_at("192.168.1.1:53".parse().unwrap(), &[("deb.debian.org", mirror)]);
            let package = Page::new("application/vnd.debian.binary-package", "package");
            let package = package.header("Cache-Control", "public, max-age=2592000");
            let at = format!("{MIRROR}:80").parse().unwrap();
            Origin::start_at(at, &[("/debian/hello.deb", package)]);
            let page = Page::new("text/plain", "fine");
            let pages = [("/", page.clone()), ("/health", page)];
            Origin::start_at("127.0.0.1:3000".parse().unwrap(), &pages);
        });
        started.join().unwrap();
    });
}

#[test]
fn every_command_of_the_tutorials_answers_as_it_says() {
    let certificates = Scratch::new();
    let (chain, key) = certificate(&certificates);
    for page in pages_below("docs/manual/tutorials") {
        let mut examples = blocks_of(&page, "console");
        assert!(!examples.is_empty(), "{} shows no example", page.display());
        // Each example is run with the configuration that is printed last before it.
        for configuration in blocks_of(&page, "yaml").iter().rev() {
            let first = examples.partition_point(|it| it.line < configuration.line);
            let of_this = examples.split_off(first);
            if of_this.is_empty() {
                continue;
            }
            let namespace = Namespace::new("tutorial", &TUTORIAL_ADDRESSES, "192.168.1.1");
            surround(&namespace);
            let scratch = Scratch::new();
            write_configuration(&scratch, configuration, &Certificate { chain: &chain, key: &key });
            DocumentedEdge::start_in(namespace, scratch).compare(&of_this);
        }
    }
}

#[test]
fn the_generated_pages_are_those_of_the_binary() {
    let output = Command::new(env!("CARGO"))
        .args(["xtask", "manual", "--check"])
        .env("TIDEGATE_BIN", tidegate::binary())
        .current_dir(repository())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}
