//! `include`: files whose sections become part of a configuration.
//!
//! Sections with the same key become one, lists are joined in the order of the files, and anything
//! else may be set once. Called by [`crate::parse`], before the settings are looked at.

use crate::FileComplaint;
use crate::draft::DraftTexts;
use crate::made::MadeSettings;
use crate::sources::SourceFiles;
use crate::yaml::{self, TextPosition, YamlEntry, YamlNode, YamlValue};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use vocab::Complaint;

/// Files that a configuration may include.
const FILES_MAX: usize = 256;

/// Takes in what the tree of the file `main` includes.
pub(crate) fn take_in(
    tree: &mut YamlNode,
    main: &Path,
    drafts: &DraftTexts,
    sources: &mut SourceFiles,
) -> Result<(), Vec<FileComplaint>> {
    let base = main.parent().unwrap_or(Path::new(""));
    let mut complaints = Vec::new();
    for (position, pattern) in patterns(tree) {
        let files = files(base, &pattern).and_then(|files| {
            let count = sources.included().len() + files.len();
            if count <= FILES_MAX {
                return Ok(files);
            }
            let message = format!("more than {FILES_MAX} files are included");
            Err(Complaint::new("include", message).remedy("join some of them"))
        });
        match files {
            Ok(files) => {
                for file in files {
                    complaints.extend(take_file(tree, file, drafts, sources));
                }
            }
            Err(why) => complaints.push(sources.place(position, why)),
        }
    }
    if complaints.is_empty() { Ok(()) } else { Err(complaints) }
}

/// Entries of `include` with their places; what is no list of texts is told by the schema.
fn patterns(tree: &YamlNode) -> Vec<(TextPosition, String)> {
    let Some(YamlValue::List(items)) = tree.entry("include").map(|it| &it.node.value) else {
        return Vec::new();
    };
    let texts = items.iter().filter_map(|item| {
        let YamlValue::Text(text) = &item.value else { return None };
        Some((item.position, text.clone()))
    });
    texts.collect()
}

/// Files that a pattern names, in the order of their names.
fn files(base: &Path, pattern: &str) -> Result<Vec<PathBuf>, Complaint> {
    let told = |message: String| {
        Complaint::new("include", message).remedy("write a file, or *.yaml for all of a folder")
    };
    if !pattern.contains(['*', '?', '[']) {
        return Ok(vec![base.join(pattern)]);
    }
    let unread = |why: glob::PatternError| told(format!("{pattern:?} is no pattern: {why}"));
    glob::Pattern::new(pattern).map_err(unread)?;
    // The folder of the configuration may have such characters in its own name.
    let base = glob::Pattern::escape(&base.to_string_lossy());
    let whole = Path::new(&base).join(pattern);
    let found = glob::glob(&whole.to_string_lossy()).map_err(unread)?;
    let files = found.take(FILES_MAX + 1).collect::<Result<Vec<_>, _>>();
    files.map_err(|why| told(why.to_string()))
}

/// Takes in what was set in the dashboard.
pub(crate) fn take_made(
    tree: &mut YamlNode,
    made: &MadeSettings,
    sources: &mut SourceFiles,
) -> Result<(), Vec<FileComplaint>> {
    let number = sources.add(made.path.clone());
    let node = read_text(&made.text, number, sources)?;
    let complaints = take_tree(tree, node, sources);
    if complaints.is_empty() { Ok(()) } else { Err(complaints) }
}

/// Rule for what two files say of one setting that is neither a section nor a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JoinRule {
    /// One file alone may set it.
    SetOnce,
    /// The first that sets it holds.
    KeepFirst,
}

/// Takes one file in; every fault of it.
fn take_file(
    tree: &mut YamlNode,
    file: PathBuf,
    drafts: &DraftTexts,
    sources: &mut SourceFiles,
) -> Vec<FileComplaint> {
    match read_file(file, drafts, sources) {
        Ok(node) => take_tree(tree, node, sources),
        Err(found) => found,
    }
}

/// The tree of a file that is added to the sources.
pub(crate) fn read_file(
    file: PathBuf,
    drafts: &DraftTexts,
    sources: &mut SourceFiles,
) -> Result<YamlNode, Vec<FileComplaint>> {
    let drafted = drafts.get(&file).map(str::to_owned);
    let number = sources.add(file);
    let start = TextPosition { file: number, ..TextPosition::START };
    match drafted.map_or_else(|| read(sources.path(start)), Ok) {
        Ok(text) => read_text(&text, number, sources),
        Err(why) => {
            let message = format!("the file cannot be read: {why}");
            let remedy = "make it readable, or take it out of include";
            Err(vec![sources.place(start, Complaint::new("", message).remedy(remedy))])
        }
    }
}

/// The tree of the text of the file with this number.
fn read_text(
    text: &str,
    number: u16,
    sources: &mut SourceFiles,
) -> Result<YamlNode, Vec<FileComplaint>> {
    sources.set_text(number, text);
    match yaml::read(text) {
        Ok(mut node) => {
            node.set_file(number);
            Ok(node)
        }
        Err(why) => {
            let position = TextPosition { file: number, ..why.position };
            Err(vec![sources.place(position, Complaint::new("", why.message))])
        }
    }
}

/// Takes in the tree of a file that is included.
fn take_tree(tree: &mut YamlNode, node: YamlNode, sources: &SourceFiles) -> Vec<FileComplaint> {
    if let Some(entry) = node.entry("include") {
        let message = "an included file includes nothing itself";
        let complaint = Complaint::new("", message).remedy("name its files in the first one");
        return vec![sources.place(entry.position, complaint)];
    }
    let mut complaints = Vec::new();
    join(tree, node, JoinRule::SetOnce, sources, &mut complaints);
    complaints
}

/// Text of a file, of which little more than is taken is read.
fn read(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is no plain file"));
    }
    let file = std::fs::File::open(path)?;
    file.take(yaml::FILE_BYTES_MAX as u64 + 1).read_to_string(&mut text)?;
    Ok(text)
}

/// Joins what another file says to what is said already.
pub(crate) fn join(
    tree: &mut YamlNode,
    other: YamlNode,
    rule: JoinRule,
    sources: &SourceFiles,
    complaints: &mut Vec<FileComplaint>,
) {
    TreeJoin { rule, sources, complaints }.join(tree, other, "");
}

/// One tree that is joined to another.
struct TreeJoin<'j> {
    rule: JoinRule,
    sources: &'j SourceFiles,
    complaints: &'j mut Vec<FileComplaint>,
}

impl TreeJoin<'_> {
    fn join(&mut self, node: &mut YamlNode, other: YamlNode, path: &str) {
        match (&mut node.value, other.value) {
            (_, YamlValue::Null) => {}
            (YamlValue::Section(entries), YamlValue::Section(more)) => {
                for entry in more {
                    self.add(entries, entry, path);
                }
            }
            (YamlValue::List(items), YamlValue::List(more)) => items.extend(more),
            (YamlValue::Null, value) => *node = YamlNode { value, ..other },
            (_, _) if self.rule == JoinRule::KeepFirst => {}
            (_, _) => {
                let TextPosition { line, .. } = node.position;
                let before = self.sources.path(node.position).display();
                let message = format!("is set already, in {before}:{line}");
                let complaint = Complaint::new(path, message).remedy("set it in one of the files");
                self.complaints.push(self.sources.place(other.position, complaint));
            }
        }
    }

    fn add(&mut self, entries: &mut Vec<YamlEntry>, entry: YamlEntry, path: &str) {
        let dot = if path.is_empty() { "" } else { "." };
        let below = format!("{path}{dot}{}", entry.key);
        match entries.iter_mut().find(|it| it.key == entry.key) {
            Some(known) => self.join(&mut known.node, entry.node, &below),
            None => entries.push(entry),
        }
    }
}
