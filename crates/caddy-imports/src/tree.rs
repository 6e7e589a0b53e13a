//! Blocks of a Caddyfile: global options, snippets, sites, directives one in another.

use super::tokens::{CaddyToken, tokens};
use import_report::{ImportFault, ImportSurroundings};
use import_routes::config_files::files_of;
use import_routes::report::{LineFate, LineFates, RowId};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// One directive.
#[derive(Clone, Debug)]
pub(super) struct CaddyDirective {
    pub(super) name: String,
    pub(super) args: Vec<String>,
    pub(super) block: Vec<CaddyDirective>,
    pub(super) row: RowId,
}

/// A site.
#[derive(Clone, Debug)]
pub(super) struct CaddySite {
    pub(super) addresses: Vec<String>,
    pub(super) directives: Vec<CaddyDirective>,
    pub(super) row: RowId,
}

/// A whole file.
#[derive(Debug, Default)]
pub(super) struct CaddyFile {
    pub(super) options: Vec<CaddyDirective>,
    pub(super) sites: Vec<CaddySite>,
}

/// Blocks in blocks, and imports in imports.
const DEPTH_MAX: usize = 32;
/// Directives with all that is imported.
const DIRECTIVES_MAX: usize = 20_000;
/// The name of a directive that stands for a file that could not be read.
pub(super) const UNREAD: &str = "import (unread)";

/// Reads a Caddyfile.
pub(super) struct TreeReader<'a> {
    pub(super) around: &'a dyn ImportSurroundings,
    pub(super) report: &'a mut LineFates,
    pub(super) folder: PathBuf,
    pub(super) snippets: BTreeMap<String, Vec<CaddyToken>>,
    pub(super) directives: usize,
}

impl CaddyDirective {
    pub(super) fn arg(&self, index: usize) -> &str {
        self.args.get(index).map_or("", String::as_str)
    }
}

impl TreeReader<'_> {
    pub(super) fn read(
        &mut self,
        text: &str,
        file: &Arc<str>,
        into: &mut CaddyFile,
        depth: usize,
    ) -> Result<(), ImportFault> {
        let found = tokens(text, file, self.around)?;
        let mut at = 0;
        while let Some(first) = found.get(at) {
            if first.is_open() {
                let end = closing(&found, at)?;
                into.options.extend(self.block(&found[at + 1..end], 0)?);
                at = end + 1;
                continue;
            }
            let is_snippet = first.text.starts_with('(') && first.text.ends_with(')')
                || first.text.starts_with("&(");
            if is_snippet && found.get(at + 1).is_some_and(CaddyToken::is_open) {
                let end = closing(&found, at + 1)?;
                let name = first.text.trim_start_matches('&').trim_matches(['(', ')']).to_owned();
                self.snippets.insert(name, found[at + 2..end].to_vec());
                at = end + 1;
                continue;
            }
            if first.text == "import" && !first.is_quoted {
                let line = first.line;
                let args = found[at + 1..].iter().take_while(|it| it.line == line).count();
                self.import_files(&found[at..=at + args], into, depth)?;
                at += args + 1;
                continue;
            }
            at = self.site(&found, at, into)?;
        }
        Ok(())
    }

    /// A site, and where the next begins.
    fn site(
        &mut self,
        found: &[CaddyToken],
        at: usize,
        into: &mut CaddyFile,
    ) -> Result<usize, ImportFault> {
        let first = &found[at];
        let open = (at..found.len()).find(|it| found[*it].is_open());
        // Addresses stand in one line, or end in a comma where they go on.
        let mut end = at;
        while let Some(next) = found.get(end + 1) {
            let goes_on = found[end].text.ends_with(',') || next.line == found[end].line;
            if !goes_on || next.is_open() {
                break;
            }
            end += 1;
        }
        let subject: Vec<&str> = found[at..=end].iter().map(|it| it.text.as_str()).collect();
        let row = self.report.enter(first.place(), &subject.join(" "));
        let addresses = subject.iter().flat_map(|it| it.split(','));
        let addresses: Vec<String> =
            addresses.filter(|it| !it.is_empty()).map(str::to_owned).collect();
        let (body, next) = match open {
            Some(open) if open == end + 1 => {
                let close = closing(found, open)?;
                (&found[open + 1..close], close + 1)
            }
            // One site without braces is all of the file.
            _ => (&found[end + 1..], found.len()),
        };
        let directives = self.block(body, 0)?;
        into.sites.push(CaddySite { addresses, directives, row });
        Ok(next)
    }

    fn import_files(
        &mut self,
        line: &[CaddyToken],
        into: &mut CaddyFile,
        depth: usize,
    ) -> Result<(), ImportFault> {
        let place = line[0].place();
        let name = line.get(1).map_or("", |it| it.text.as_str()).to_owned();
        let row = self.report.enter(place.clone(), &format!("import {name}"));
        if depth > DEPTH_MAX {
            return Err(ImportFault::new(&place, "imports stand too deep in others"));
        }
        self.report.mark(row, LineFate::Carried, "");
        if let Some(snippet) = self.snippets.get(&name).cloned() {
            let _ = snippet;
            let why = "a snippet of whole sites is not read";
            self.report.mark(row, LineFate::LeftOut, why);
            return Ok(());
        }
        for file in files_of(self.around, &self.folder.join(&name)) {
            match self.around.read(&file) {
                Ok(text) => {
                    let name: Arc<str> = file.to_string_lossy().as_ref().into();
                    self.directives += 1;
                    if self.directives > DIRECTIVES_MAX {
                        return Err(ImportFault::new(&place, "too much is imported"));
                    }
                    self.read(&text, &name, into, depth + 1)?;
                }
                Err(why) => {
                    let why = format!("it cannot be read ({why}): sites in it are missing here");
                    self.report.mark(row, LineFate::LeftOut, &why);
                }
            }
        }
        Ok(())
    }

    /// The directives of a block.
    fn block(
        &mut self,
        found: &[CaddyToken],
        depth: usize,
    ) -> Result<Vec<CaddyDirective>, ImportFault> {
        let mut directives = Vec::new();
        let mut at = 0;
        while let Some(first) = found.get(at) {
            if depth > DEPTH_MAX || self.directives > DIRECTIVES_MAX {
                return Err(ImportFault::new(
                    &first.place(),
                    "blocks stand too deep, or are too many",
                ));
            }
            if first.is_close() || first.is_open() {
                return Err(ImportFault::new(&first.place(), "this brace stands alone"));
            }
            self.directives += 1;
            let mut args: Vec<CaddyToken> = Vec::new();
            let mut block = &found[0..0];
            let mut next = at + 1;
            while let Some(token) = found.get(next) {
                if token.line != found[next - 1].line {
                    break;
                }
                if token.is_open() {
                    let end = closing(found, next)?;
                    block = &found[next + 1..end];
                    next = end + 1;
                    break;
                }
                args.push(token.clone());
                next += 1;
            }
            at = next;
            if first.text == "import" && !first.is_quoted {
                directives.extend(self.import(first, &args, depth)?);
                continue;
            }
            let texts: Vec<String> = args.into_iter().map(|it| it.text).collect();
            let subject = [std::slice::from_ref(&first.text), texts.as_slice()].concat().join(" ");
            let row = self.report.enter(first.place(), &subject);
            let block = self.block(block, depth + 1)?;
            directives.push(CaddyDirective { name: first.text.clone(), args: texts, block, row });
        }
        Ok(directives)
    }

    fn import(
        &mut self,
        first: &CaddyToken,
        args: &[CaddyToken],
        depth: usize,
    ) -> Result<Vec<CaddyDirective>, ImportFault> {
        let name = args.first().map_or("", |it| it.text.as_str()).to_owned();
        let row = self.report.enter(first.place(), &format!("import {name}"));
        self.report.mark(row, LineFate::Carried, "");
        if let Some(snippet) = self.snippets.get(&name).cloned() {
            let filled: Vec<CaddyToken> = snippet
                .into_iter()
                .flat_map(|mut token| {
                    if token.text == "{args[:]}" {
                        return args[1..].to_vec();
                    }
                    for (index, arg) in args[1..].iter().enumerate() {
                        for form in [format!("{{args[{index}]}}"), format!("{{args.{index}}}")] {
                            token.text = token.text.replace(&form, &arg.text);
                        }
                    }
                    vec![token]
                })
                .collect();
            return self.block(&filled, depth + 1);
        }
        let mut directives = Vec::new();
        let files = files_of(self.around, &self.folder.join(&name));
        for file in files {
            let text = match self.around.read(&file) {
                Ok(text) => text,
                Err(why) => {
                    let why = format!("it cannot be read ({why})");
                    self.report.mark(row, LineFate::LeftOut, &why);
                    let (args, block) = (Vec::new(), Vec::new());
                    directives.push(CaddyDirective { name: UNREAD.into(), args, block, row });
                    continue;
                }
            };
            let name: Arc<str> = file.to_string_lossy().as_ref().into();
            let found = tokens(&text, &name, self.around)?;
            directives.extend(self.block(&found, depth + 1)?);
        }
        Ok(directives)
    }
}

/// Where the block that begins at `open` ends.
fn closing(found: &[CaddyToken], open: usize) -> Result<usize, ImportFault> {
    let mut depth = 0_usize;
    for (at, token) in found.iter().enumerate().skip(open) {
        if token.is_open() {
            depth += 1;
        }
        if token.is_close() {
            depth -= 1;
            if depth == 0 {
                return Ok(at);
            }
        }
    }
    Err(ImportFault::new(&found[open].place(), "the block is not closed"))
}
