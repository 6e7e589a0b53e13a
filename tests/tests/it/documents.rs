//! What README and manual print is what a reader gets: every configuration is accepted, and every
//! command of the README's first pages answers as they say.
//!
//! A block of YAML is a whole configuration, so that it can be copied as it stands. Files that it
//! names are made, `/srv` is a folder of the test.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tidegate_tests::namespace::Namespace;
use tidegate_tests::{Scratch, repository, tidegate, wait};

/// A fenced block of a document.
struct Block {
    /// Document and line of its first line, for messages.
    place: String,
    text: String,
}

/// The blocks in `language` of the README and the manual, without what they are indented by.
fn blocks(language: &str) -> Vec<Block> {
    let mut documents = vec![repository().join("README.md")];
    let manual = std::fs::read_dir(repository().join("docs/manual/reference")).unwrap();
    let pages = manual.map(|entry| entry.unwrap().path());
    documents.extend(pages.filter(|it| it.extension().is_some_and(|it| it == "md")));
    documents.sort();
    documents.iter().flat_map(|it| blocks_of(it, language)).collect()
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
        found.push(Block { place: format!("{name}:{}", number + 2), text: body.join("\n") + "\n" });
    }
    found
}

/// Words of a configuration that name a file or a folder below its own.
fn named_files(text: &str) -> Vec<&str> {
    let is_path = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    let endings = [".txt", ".pem", ".key", ".htpasswd", ".hosts", ".d"];
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
    assert!(found.len() > 30, "only {} configurations were found", found.len());
    let mut wrong = Vec::new();
    for block in &found {
        let scratch = Scratch::new();
        for folder in
            ["srv/www", "srv/docs", "srv/app", "srv/static", "srv/blog", "srv/files", "srv/staff"]
        {
            std::fs::create_dir_all(scratch.path().join(folder)).unwrap();
        }
        for file in named_files(&block.text) {
            match Path::new(file).extension().and_then(|it| it.to_str()) {
                Some("d") => drop(scratch.write(&format!("{file}/a.txt"), "ads.example\n")),
                Some("pem") => drop(scratch.write(file, &chain)),
                Some("key") => drop(scratch.write(file, &key)),
                Some("htpasswd") => drop(scratch.write(file, HTPASSWD)),
                _ => drop(scratch.write(file, "ads.example\n")),
            }
        }
        let text = block.text.replace("/srv/", &format!("{}/srv/", scratch.path().display()));
        let config = scratch.write("tidegate.yaml", text);
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

/// A line as `htpasswd -B` writes it.
const HTPASSWD: &str = "ann:$2y$07$BCryptRequires22Chrcte/VlQH0piJtjXl.0t1XkA8pw9dMXTTOq\n";

/// A Tidegate without a configuration, at the default addresses of a network of its own.
struct DefaultEdge {
    namespace: Namespace,
    scratch: Scratch,
    running: std::process::Child,
}

impl DefaultEdge {
    fn start() -> Self {
        let namespace = Namespace::new("documents", &[], "127.0.0.1");
        let scratch = Scratch::new();
        let running = namespace
            .command("sh")
            .args(["-c", "exec \"$0\" run >out 2>&1"])
            .arg(tidegate::binary())
            .current_dir(scratch.path())
            .spawn()
            .unwrap();
        let started = Self { namespace, scratch, running };
        wait::until("the default configuration is ready", || {
            let said = std::fs::read_to_string(started.scratch.path().join("out")).ok()?;
            said.lines().any(|line| line == "ready").then_some(())
        });
        started
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

impl Drop for DefaultEdge {
    fn drop(&mut self) {
        let _ = self.running.kill();
        let _ = self.running.wait();
    }
}

#[test]
fn every_command_of_the_readme_answers_as_it_says() {
    let started = DefaultEdge::start();
    // Examples with what they print.
    let readme = repository().join("README.md");
    let examples = blocks_of(&readme, "console");
    assert!(!examples.is_empty(), "the README shows an example");
    for example in examples {
        let mut lines = example.text.lines().peekable();
        while let Some(line) = lines.next() {
            let command = line.strip_prefix("$ ").unwrap_or_else(|| panic!("no command: {line}"));
            let mut printed = String::new();
            while let Some(line) = lines.next_if(|line| !line.starts_with("$ ")) {
                printed += line;
                printed += "\n";
            }
            let said = started.shell(command);
            assert!(said.starts_with(&printed), "{}: {command}\n{said}", example.place);
        }
    }
    // The table of doors: each line to try, and a part of the answer.
    let text = std::fs::read_to_string(readme).unwrap();
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
}
