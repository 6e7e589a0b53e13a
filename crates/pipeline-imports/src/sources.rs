//! The files of a configuration: found, read by whoever reads YAML, and shown in notes.
//!
//! A file that is named by a path of another machine is looked for beside the one that names it.
//! Called by the rest of this crate.

use import_report::{ImportFault, ImportSurroundings, NotePlace};
use mosdns_compat::language::{ForeignFiles, PathBase, SourcePosition};
use serde_json::Value;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use vocab::Complaint;

/// A document of YAML, read.
pub struct PlacedDocument {
    /// The document.
    pub value: Value,
    /// The line, from 1, of what stands at keys and indices joined by dots, or of the nearest thing
    /// above it.
    pub line: Box<dyn Fn(&str) -> usize>,
}

/// Why a text is no YAML.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentFault {
    /// The line, from 1.
    pub line: usize,
    /// The fault, in one sentence.
    pub message: String,
}

/// A reader of YAML.
pub type ReadDocument<'r> = dyn Fn(&str) -> Result<PlacedDocument, DocumentFault> + 'r;

/// A file that was read.
struct SourceFile {
    /// Path of it, as notes have it.
    name: Arc<str>,
    document: PlacedDocument,
}

/// The files of a configuration.
pub(crate) struct ImportFiles<'a> {
    around: &'a dyn ImportSurroundings,
    reader: &'a ReadDocument<'a>,
    folder: PathBuf,
    main: SourceFile,
    /// Included files, by the names that positions have for them.
    included: RefCell<BTreeMap<String, SourceFile>>,
}

impl<'a> ImportFiles<'a> {
    /// The file at `path` and those around it.
    pub(crate) fn open(
        path: &Path,
        around: &'a dyn ImportSurroundings,
        reader: &'a ReadDocument<'a>,
    ) -> Result<Self, ImportFault> {
        let name: Arc<str> = path.to_string_lossy().into();
        let text = around
            .read(path)
            .map_err(|why| ImportFault::new(&NotePlace::new(&name, 0), why.to_string()))?;
        let document = reader(&text).map_err(|fault| {
            ImportFault::new(&NotePlace::new(&name, fault.line), fault.message.clone())
        })?;
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        let main = SourceFile { name, document };
        Ok(Self { around, reader, folder, main, included: RefCell::default() })
    }

    /// The value of the main file.
    pub(crate) fn main_value(&self) -> Value {
        self.main.document.value.clone()
    }

    /// Value that the main file has at a key of its own, and below.
    pub(crate) fn said_at_top(&self, keys: &[&str]) -> Option<&Value> {
        keys.iter().try_fold(&self.main.document.value, |value, key| value.get(key))
    }

    /// All files that were read, the main one first.
    pub(crate) fn sources(&self) -> Vec<String> {
        let included = self.included.borrow();
        let names = included.values().map(|it| it.name.to_string());
        [self.main.name.to_string()].into_iter().chain(names).collect()
    }

    /// The main file as a whole.
    pub(crate) fn whole(&self) -> NotePlace {
        NotePlace::new(&self.main.name, 0)
    }

    /// The place of what stands at `keys` of the main file.
    pub(crate) fn at(&self, keys: &str) -> NotePlace {
        NotePlace::new(&self.main.name, (self.main.document.line)(keys))
    }

    /// The place of a position.
    pub(crate) fn place(&self, position: &SourcePosition) -> NotePlace {
        let Some(file) = position.file() else { return self.at(position.keys()) };
        match self.included.borrow().get(file) {
            Some(source) => {
                NotePlace::new(&source.name, (source.document.line)(position.keys_of_file()))
            }
            None => self.at(position.keys()),
        }
    }

    /// Text that stands at a position, on one line.
    pub(crate) fn said(&self, position: &SourcePosition) -> String {
        let said = |value: &Value| {
            let mut steps = position.keys_of_file().split('.').filter(|step| !step.is_empty());
            let found = steps.try_fold(value, |value, step| match value {
                Value::Array(items) => items.get(step.parse::<usize>().ok()?),
                other => other.get(step),
            });
            found.map_or_else(|| position.to_string(), shown)
        };
        match position.file() {
            None => said(&self.main.document.value),
            Some(file) => match self.included.borrow().get(file) {
                Some(source) => said(&source.document.value),
                None => position.to_string(),
            },
        }
    }

    /// A complaint of the reader as a fault.
    pub(crate) fn fault(&self, found: Complaint) -> ImportFault {
        let fault = ImportFault {
            setting: found.path.clone(),
            ..ImportFault::new(&self.at(&found.path), found.message)
        };
        match found.remedy {
            Some(remedy) => fault.remedy(remedy),
            None => fault,
        }
    }

    /// The text of a file that the configuration names, where it stands or beside it.
    pub(crate) fn text(&self, path: &str) -> io::Result<String> {
        self.read_at(Path::new(path)).map(|(_, text)| text)
    }

    /// A file by its path, by its path from the main file's folder, or by its name beside that.
    fn read_at(&self, path: &Path) -> io::Result<(PathBuf, String)> {
        let first = match self.around.read(path) {
            Err(why) if why.kind() == ErrorKind::NotFound => why,
            read => return read.map(|text| (path.to_owned(), text)),
        };
        let beside = path.is_relative().then(|| self.folder.join(path));
        let by_name = path.file_name().map(|name| self.folder.join(name));
        for other in beside.into_iter().chain(by_name) {
            if let Ok(text) = self.around.read(&other) {
                return Ok((other, text));
            }
        }
        Err(first)
    }
}

impl ForeignFiles for ImportFiles<'_> {
    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        self.text(path).map(String::into_bytes)
    }

    fn is_missing(&self, path: &str) -> bool {
        matches!(self.text(path), Err(why) if why.kind() == ErrorKind::NotFound)
    }

    fn read_document(&self, path: &str, base: PathBase) -> Result<Value, Complaint> {
        let file = match base {
            PathBase::WorkingDirectory => PathBuf::from(path),
            PathBase::MainFile => self.folder.join(path),
        };
        let (file, text) = self.read_at(&file).map_err(|why| {
            Complaint::new("", why.to_string()).remedy("put it beside the file that names it")
        })?;
        let document = (self.reader)(&text).map_err(|fault| {
            Complaint::new("", format!("line {}: {}", fault.line, fault.message))
        })?;
        let value = document.value.clone();
        let name = file.to_string_lossy().into();
        self.included.borrow_mut().insert(path.to_owned(), SourceFile { name, document });
        Ok(value)
    }

    fn variable(&self, name: &str) -> Option<String> {
        self.around.variable(name)
    }
}

/// A value in one line: a plugin by its type and tag, a rule by its words.
fn shown(value: &Value) -> String {
    let text = |key: &str| value.get(key).and_then(Value::as_str);
    match (text("type"), value.get("exec")) {
        (Some(kind), _) => format!("{kind} {}", text("tag").unwrap_or_default()),
        (None, Some(exec)) => {
            let matches = value.get("matches").map(|it| format!("{}: ", plain(it)));
            format!("{}{}", matches.unwrap_or_default(), plain(exec))
        }
        (None, None) => match value.get("addr") {
            Some(address) => plain(address),
            None => plain(value),
        },
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(", "),
        other => yaml_text::literal(other),
    }
}
