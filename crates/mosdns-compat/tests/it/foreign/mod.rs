//! Foreign files for tests: YAML as trees, files that are only in memory, and complaints as lines.
#![allow(dead_code, reason = "each test uses its part")]

pub(crate) mod one;

use mosdns_compat::compile::{CompiledPipeline, compile};
use mosdns_compat::language::{self, ForeignFile, ForeignFiles, PathBase};
use saphyr::{LoadableYamlNode, Scalar, Yaml};
use serde_json::Value;
use std::collections::HashMap;
use std::io;
use vocab::Complaint;

/// Files and variables of the environment.
#[derive(Default)]
pub(crate) struct Disk {
    pub(crate) files: HashMap<&'static str, &'static str>,
    pub(crate) variables: HashMap<&'static str, &'static str>,
}

impl ForeignFiles for Disk {
    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        let text = self.files.get(path).ok_or_else(|| io::Error::other("no such file"))?;
        Ok(text.as_bytes().to_vec())
    }

    fn is_missing(&self, path: &str) -> bool {
        !self.files.contains_key(path)
    }

    /// The working directory is called `work`, the main file's folder `home`.
    fn read_document(&self, path: &str, base: PathBase) -> Result<Value, Complaint> {
        let folder = match base {
            PathBase::WorkingDirectory => "work",
            PathBase::MainFile => "home",
        };
        let text = self.files.get(format!("{folder}/{path}").as_str());
        text.map(|it| yaml(it)).ok_or_else(|| Complaint::new("", "no such file"))
    }

    fn variable(&self, name: &str) -> Option<String> {
        self.variables.get(name).map(|it| (*it).to_owned())
    }
}

pub(crate) fn yaml(text: &str) -> Value {
    let documents = Yaml::load_from_str(text).unwrap_or_else(|why| panic!("{why}\n{text}"));
    documents.first().map_or(Value::Null, json)
}

fn json(node: &Yaml<'_>) -> Value {
    match node {
        Yaml::Value(Scalar::Null) => Value::Null,
        Yaml::Value(Scalar::Boolean(it)) => Value::from(*it),
        Yaml::Value(Scalar::Integer(it)) => Value::from(*it),
        Yaml::Value(Scalar::FloatingPoint(it)) => Value::from(it.into_inner()),
        Yaml::Value(Scalar::String(it)) => Value::from(it.to_string()),
        Yaml::Sequence(items) => items.iter().map(json).collect(),
        Yaml::Mapping(map) => {
            let key = |key: &Yaml<'_>| match json(key) {
                Value::String(text) => text,
                other => other.to_string(),
            };
            map.iter().map(|(name, value)| (key(name), json(value))).collect()
        }
        other => panic!("{other:?} is not for tests"),
    }
}

pub(crate) fn try_read(text: &str) -> Result<ForeignFile, Vec<Complaint>> {
    language::read(&yaml(text), &Disk::default())
}

pub(crate) fn read(text: &str) -> ForeignFile {
    try_read(text).unwrap_or_else(|all| panic!("{:#?}\n{text}", lines(&all)))
}

/// What a file is refused for: `path: message; remedy`.
pub(crate) fn refused(text: &str) -> Vec<String> {
    match try_read(text) {
        Err(complaints) => lines(&complaints),
        Ok(foreign) => match compile(&foreign, 1, &Disk::default()) {
            Err(complaints) => lines(&complaints),
            Ok(_) => panic!("it is not refused:\n{text}"),
        },
    }
}

pub(crate) fn lines(complaints: &[Complaint]) -> Vec<String> {
    complaints.iter().map(ToString::to_string).collect()
}

pub(crate) fn compiled_with(text: &str, disk: &Disk) -> CompiledPipeline {
    let foreign = language::read(&yaml(text), disk);
    let foreign = foreign.unwrap_or_else(|all| panic!("{:#?}\n{text}", lines(&all)));
    compile(&foreign, 1, disk).unwrap_or_else(|all| panic!("{:#?}\n{text}", lines(&all)))
}

pub(crate) fn compiled(text: &str) -> CompiledPipeline {
    compiled_with(text, &Disk::default())
}

/// A file of mosdns whose entry is a sequence of these rules, each one line of a YAML list.
pub(crate) fn mosdns(rules: &str) -> String {
    file(rules, "")
}

/// The same in OxiDNS.
pub(crate) fn oxidns(rules: &str) -> String {
    file(rules, "runtime: { worker_threads: 1 }\n")
}

/// A file with more plugins before the entry, which is a sequence `main` of these rules.
pub(crate) fn with(plugins: &str, rules: &str) -> String {
    let rules = indented(rules, 6);
    format!(
        "plugins:\n{}\n  - tag: main\n    type: sequence\n    args:\n{rules}\n{SERVER}",
        indented(plugins, 2)
    )
}

fn file(rules: &str, head: &str) -> String {
    let rules = indented(rules, 6);
    format!("{head}plugins:\n  - tag: main\n    type: sequence\n    args:\n{rules}\n{SERVER}")
}

const SERVER: &str = "  - { tag: udp, type: udp_server, \
                      args: { entry: main, listen: \"127.0.0.1:5300\" } }\n";

fn indented(text: &str, by: usize) -> String {
    let blanks = " ".repeat(by);
    text.lines().flat_map(|line| [blanks.as_str(), line, "\n"]).collect()
}
