//! Directives of nginx, one in another, with what they include.

use super::tokens::{NginxToken, TokenKind, tokens};
use import_report::{ImportFault, ImportSurroundings, NotePlace};
use import_routes::report::{LineFate, LineFates, RowId};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Blocks in blocks.
const DEPTH_MAX: usize = 32;
/// Directives of all files.
const DIRECTIVES_MAX: usize = 50_000;
/// Files that are included.
const FILES_MAX: usize = 500;
/// Files that include files.
const INCLUDES_MAX: usize = 16;

/// One directive.
#[derive(Clone, Debug)]
pub(super) struct NginxDirective {
    pub(super) name: String,
    pub(super) args: Vec<String>,
    /// The directives in its braces.
    pub(super) block: Option<Vec<NginxDirective>>,
    pub(super) row: RowId,
}

impl NginxDirective {
    pub(super) fn arg(&self, index: usize) -> &str {
        self.args.get(index).map_or("", String::as_str)
    }

    pub(super) fn inside(&self) -> &[Self] {
        self.block.as_deref().unwrap_or_default()
    }
}

/// Reads files into directives.
pub(super) struct TreeReader<'a> {
    pub(super) around: &'a dyn ImportSurroundings,
    pub(super) report: &'a mut LineFates,
    /// Where relative includes begin.
    pub(super) folder: PathBuf,
    pub(super) directives: usize,
    pub(super) files: usize,
}

struct TokenCursor<'t> {
    tokens: &'t [NginxToken],
    at: usize,
    file: Arc<str>,
    includes: usize,
}

impl TreeReader<'_> {
    /// The directives of a text.
    pub(super) fn read(
        &mut self,
        text: &str,
        file: Arc<str>,
    ) -> Result<Vec<NginxDirective>, ImportFault> {
        self.read_file(text, file, 0, 0)
    }

    fn read_file(
        &mut self,
        text: &str,
        file: Arc<str>,
        includes: usize,
        depth: usize,
    ) -> Result<Vec<NginxDirective>, ImportFault> {
        let tokens = tokens(text, &file)?;
        let mut cursor = TokenCursor { tokens: &tokens, at: 0, file, includes };
        let found = self.block(&mut cursor, depth)?;
        match cursor.tokens.get(cursor.at) {
            None => Ok(found),
            Some(token) => Err(cursor.wrong(token.line, "this brace closes nothing")),
        }
    }

    fn block(
        &mut self,
        cursor: &mut TokenCursor<'_>,
        depth: usize,
    ) -> Result<Vec<NginxDirective>, ImportFault> {
        let mut found = Vec::new();
        while let Some(token) = cursor.tokens.get(cursor.at) {
            let line = token.line;
            match &token.kind {
                TokenKind::Close => return Ok(found),
                TokenKind::End => cursor.at += 1,
                TokenKind::Open => return Err(cursor.wrong(line, "a block has no name")),
                TokenKind::Word(name) => {
                    self.directives += 1;
                    if self.directives > DIRECTIVES_MAX || depth > DEPTH_MAX {
                        let why = "there are over 50000 directives, or blocks over 32 deep";
                        return Err(cursor.wrong(line, why));
                    }
                    let directive = self.directive(name, line, cursor, depth)?;
                    if directive.name == "include" && directive.block.is_none() {
                        found.extend(self.include(&directive, cursor, depth)?);
                    } else {
                        found.push(directive);
                    }
                }
            }
        }
        Ok(found)
    }

    fn directive(
        &mut self,
        name: &str,
        line: usize,
        cursor: &mut TokenCursor<'_>,
        depth: usize,
    ) -> Result<NginxDirective, ImportFault> {
        cursor.at += 1;
        let mut args = Vec::new();
        while let Some(TokenKind::Word(word)) = cursor.kind() {
            args.push(word.clone());
            cursor.at += 1;
        }
        let subject = [&[name.to_owned()], args.as_slice()].concat().join(" ");
        let place = NotePlace::new(&cursor.file, line);
        let row = self.report.enter(place, &subject);
        let ending = cursor.kind().cloned();
        cursor.at += 1;
        let block = match ending {
            Some(TokenKind::End) => None,
            Some(TokenKind::Open) if is_table(name) => Some(self.table(cursor)?),
            Some(TokenKind::Open) => {
                let inside = self.block(cursor, depth + 1)?;
                if cursor.kind() != Some(&TokenKind::Close) {
                    return Err(cursor.wrong(line, "the block is not closed"));
                }
                cursor.at += 1;
                Some(inside)
            }
            _ => return Err(cursor.wrong(line, "a semicolon is missing")),
        };
        Ok(NginxDirective { name: name.into(), args, block, row })
    }

    /// Lines of `map` and `geo`: the first word is a value, and no name of a directive.
    fn table(&mut self, cursor: &mut TokenCursor<'_>) -> Result<Vec<NginxDirective>, ImportFault> {
        let mut found = Vec::new();
        while let Some(token) = cursor.tokens.get(cursor.at) {
            match &token.kind {
                TokenKind::Close => {
                    cursor.at += 1;
                    return Ok(found);
                }
                TokenKind::End => cursor.at += 1,
                TokenKind::Open => return Err(cursor.wrong(token.line, "a table has no blocks")),
                TokenKind::Word(name) => {
                    self.directives += 1;
                    if self.directives > DIRECTIVES_MAX {
                        return Err(cursor.wrong(token.line, "there are over 50000 directives"));
                    }
                    found.push(self.directive(name, token.line, cursor, DEPTH_MAX)?);
                }
            }
        }
        Err(cursor.wrong(cursor.tokens.last().map_or(1, |it| it.line), "the block is not closed"))
    }

    /// The directives of files. One that cannot be read becomes a directive of that name.
    fn include(
        &mut self,
        directive: &NginxDirective,
        cursor: &TokenCursor<'_>,
        depth: usize,
    ) -> Result<Vec<NginxDirective>, ImportFault> {
        let pattern = self.folder.join(directive.arg(0));
        let files = import_routes::config_files::files_of(self.around, &pattern);
        let mut found = Vec::new();
        for file in files {
            self.files += 1;
            if self.files > FILES_MAX || cursor.includes >= INCLUDES_MAX {
                let line = cursor.tokens.get(cursor.at.saturating_sub(1)).map_or(1, |it| it.line);
                return Err(cursor.wrong(line, "over 500 files are included, or over 16 deep"));
            }
            match self.around.read(&file) {
                Ok(text) => {
                    self.report.mark(directive.row, LineFate::Carried, "");
                    let name = file.to_string_lossy().as_ref().into();
                    found.extend(self.read_file(&text, name, cursor.includes + 1, depth)?);
                }
                Err(_) if is_known(&file) => {
                    let why = "not read: what it usually holds is known here";
                    self.report.mark(directive.row, LineFate::Carried, why);
                }
                Err(why) => {
                    let why = format!("it cannot be read ({why})");
                    self.report.mark(directive.row, LineFate::LeftOut, &why);
                    found.push(NginxDirective { name: UNREAD.into(), ..directive.clone() });
                }
            }
        }
        self.report.mark(directive.row, LineFate::Carried, "");
        Ok(found)
    }
}

/// The name of a directive that stands for a file that could not be read.
pub(super) const UNREAD: &str = "include (unread)";

impl TokenCursor<'_> {
    fn kind(&self) -> Option<&TokenKind> {
        self.tokens.get(self.at).map(|it| &it.kind)
    }

    fn wrong(&self, line: usize, why: &str) -> ImportFault {
        ImportFault::new(&NotePlace::new(&self.file, line), why)
    }
}

/// Blocks whose lines are values.
fn is_table(name: &str) -> bool {
    matches!(name, "map" | "geo" | "types" | "split_clients" | "charset_map")
}

/// Files that distributions bring, and whose content decides nothing here.
fn is_known(file: &Path) -> bool {
    let name = file.file_name().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default();
    let known = [
        "mime.types",
        "fastcgi.conf",
        "fastcgi_params",
        "fastcgi-php.conf",
        "options-ssl-nginx.conf",
        "ssl-params.conf",
    ];
    known.contains(&name.as_str())
}
