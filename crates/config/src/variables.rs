//! Values from the environment and from files: `${env:NAME}`, `${env:NAME:-default}`,
//! `${file:PATH}` and `${credential:NAME}` in the texts of a configuration.
//!
//! The words before the colon keep them apart from what other languages write in the same
//! brackets. A value is text, and a number or a boolean where it is all that stands there. `$${`
//! is `${`. Called by [`crate::parse`], after files are included.

use crate::FileComplaint;
use crate::sources::SourceFiles;
use crate::yaml::{TextPosition, YamlNode, YamlValue};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use vocab::Complaint;

/// Bytes of a file whose content is a value.
const FILE_BYTES_MAX: u64 = 64 << 10;

/// The credentials of the service while it runs, which root can read.
const CREDENTIALS_OF_SERVICE: &str = "/run/credentials/tidegate.service";

/// World around a configuration.
pub(crate) trait ConfigSurroundings {
    /// A variable of the environment.
    fn variable(&self, name: &str) -> Option<String>;
    /// Text of a small file.
    fn read(&self, path: &Path) -> io::Result<String>;
}

/// This process and its files.
pub(crate) struct ProcessSurroundings;

impl ConfigSurroundings for ProcessSurroundings {
    fn variable(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }

    fn read(&self, path: &Path) -> io::Result<String> {
        let mut text = String::new();
        let file = std::fs::File::open(path)?;
        file.take(FILE_BYTES_MAX + 1).read_to_string(&mut text)?;
        if text.len() as u64 > FILE_BYTES_MAX {
            return Err(io::Error::other("it is longer than 64 KiB"));
        }
        Ok(text)
    }
}

/// Puts values in the place of variables in all texts of `tree`; files are looked for from `base`.
pub(crate) fn put_in(
    tree: &mut YamlNode,
    base: &Path,
    around: &dyn ConfigSurroundings,
    sources: &mut SourceFiles,
) -> Result<(), Vec<FileComplaint>> {
    let mut filler = VariableFiller { base, around, sources, complaints: Vec::new() };
    filler.fill(tree, "");
    if filler.complaints.is_empty() { Ok(()) } else { Err(filler.complaints) }
}

struct VariableFiller<'f> {
    base: &'f Path,
    around: &'f dyn ConfigSurroundings,
    sources: &'f mut SourceFiles,
    complaints: Vec<FileComplaint>,
}

/// A variable as it is written.
enum ValueSource<'t> {
    Env { name: &'t str, default: Option<&'t str> },
    File(&'t str),
    Credential(&'t str),
}

impl<'t> ValueSource<'t> {
    /// Reads what stands between the brackets; none where it is none of ours.
    fn read(text: &'t str) -> Option<Self> {
        let (kind, rest) = text.split_once(':')?;
        match kind {
            "env" => Some(match rest.split_once(":-") {
                Some((name, default)) => Self::Env { name, default: Some(default) },
                None => Self::Env { name: rest, default: None },
            }),
            "file" => Some(Self::File(rest)),
            "credential" => Some(Self::Credential(rest)),
            _ => None,
        }
    }
}

impl VariableFiller<'_> {
    fn fill(&mut self, node: &mut YamlNode, path: &str) {
        let below = |key: &str| if path.is_empty() { key.into() } else { format!("{path}.{key}") };
        match &mut node.value {
            YamlValue::Section(entries) => {
                for entry in entries {
                    let path = below(&entry.key);
                    self.fill(&mut entry.node, &path);
                }
            }
            YamlValue::List(items) => {
                for (index, item) in items.iter_mut().enumerate() {
                    self.fill(item, &below(&index.to_string()));
                }
            }
            YamlValue::Text(text) if text.contains("${") => {
                match self.filled(text, node.position) {
                    Ok(Some(value)) => node.value = value,
                    Ok(None) => {}
                    Err(mut why) => {
                        why.path = path.into();
                        self.complaints.push(self.sources.place(node.position, why));
                    }
                }
            }
            YamlValue::Null
            | YamlValue::Bool(_)
            | YamlValue::Integer(_)
            | YamlValue::Float(_)
            | YamlValue::Text(_) => {}
        }
    }

    /// A text with its variables filled in; none where it has none.
    fn filled(
        &mut self,
        text: &str,
        position: TextPosition,
    ) -> Result<Option<YamlValue>, Complaint> {
        let (mut out, mut rest, mut is_changed, mut is_whole) = (String::new(), text, false, false);
        while let Some(at) = rest.find("${") {
            let (before, variable) = rest.split_at(at);
            let Some(end) = variable.find('}') else { break };
            let found = ValueSource::read(&variable[2..end]);
            let is_escaped = before.ends_with('$') && found.is_some();
            match found {
                Some(_) if is_escaped => {
                    out.push_str(&before[..at - 1]);
                    out.push_str(&variable[..=end]);
                    is_changed = true;
                }
                Some(found) => {
                    out.push_str(before);
                    out.push_str(&self.value(&found, position)?);
                    is_changed = true;
                    is_whole = at == 0 && end + 1 == text.len();
                }
                None => {
                    out.push_str(before);
                    out.push_str(&variable[..=end]);
                }
            }
            rest = &variable[end + 1..];
        }
        if !is_changed {
            return Ok(None);
        }
        out.push_str(rest);
        Ok(Some(if is_whole { plain(out) } else { YamlValue::Text(out) }))
    }

    fn value(
        &mut self,
        variable: &ValueSource<'_>,
        position: TextPosition,
    ) -> Result<String, Complaint> {
        match variable {
            ValueSource::Env { name, default } => {
                let value = self.around.variable(name).filter(|it| !it.is_empty());
                value.or_else(|| default.map(str::to_owned)).ok_or_else(|| {
                    Complaint::new("", format!("the environment has no {name:?}"))
                        .remedy(format!("set it, or write ${{env:{name}:-some default}}"))
                })
            }
            ValueSource::File(path) => {
                // A file that a bundle names is one of the bundle's.
                let base = self.sources.fleet_folder(position).unwrap_or(self.base);
                self.secret(base.join(path))
            }
            ValueSource::Credential(name) => self.credential(name),
        }
    }

    /// A credential of the unit that this process is in, or where it is in none, as a command of
    /// root's, of the service that runs.
    fn credential(&mut self, name: &str) -> Result<String, Complaint> {
        let is_name = !name.is_empty() && !name.contains('/') && name != "..";
        let absent = || {
            Complaint::new("", format!("there is no credential {name:?}"))
                .remedy("give it with LoadCredential= or SetCredential= in the unit")
        };
        if !is_name {
            return Err(absent());
        }
        match self.around.variable("CREDENTIALS_DIRECTORY") {
            Some(folder) => self.secret(Path::new(&folder).join(name)),
            None => self.secret(Path::new(CREDENTIALS_OF_SERVICE).join(name)).map_err(|_| absent()),
        }
    }

    fn secret(&mut self, path: PathBuf) -> Result<String, Complaint> {
        let text = self.around.read(&path).map_err(|why| {
            Complaint::new("", format!("{} cannot be read: {why}", path.display()))
                .remedy("name a file of one line that Tidegate's user can read")
        })?;
        // Editors end a file with a line end.
        let value = text.strip_suffix('\n').unwrap_or(&text);
        let value = value.strip_suffix('\r').unwrap_or(value).to_owned();
        self.sources.add_secret(path, &value);
        Ok(value)
    }
}

/// A text that is a whole value: a number or a boolean where it is written as one.
fn plain(text: String) -> YamlValue {
    match text.as_str() {
        "true" => YamlValue::Bool(true),
        "false" => YamlValue::Bool(false),
        _ => match text.parse::<i64>() {
            Ok(number) if number.to_string() == text => YamlValue::Integer(number),
            _ => YamlValue::Text(text),
        },
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]
mod tests {
    use super::*;
    use crate::yaml;
    use serde_json::json;

    struct Around;

    impl ConfigSurroundings for Around {
        fn variable(&self, name: &str) -> Option<String> {
            match name {
                "PORT" => Some("8080".into()),
                "EMPTY" => Some(String::new()),
                "CREDENTIALS_DIRECTORY" => Some("/run/credentials".into()),
                _ => None,
            }
        }

        fn read(&self, path: &Path) -> io::Result<String> {
            match path.to_str().unwrap() {
                "/etc/tidegate/token" => Ok("s3cret\n".into()),
                "/run/credentials/key" => Ok("k3y".into()),
                _ => Err(io::Error::other("it is not there")),
            }
        }
    }

    fn filled(text: &str) -> (serde_json::Value, SourceFiles, Vec<String>) {
        let mut sources = SourceFiles::only(Path::new("/etc/tidegate/tidegate.yaml"));
        let mut tree = yaml::read(text).unwrap();
        let found = put_in(&mut tree, Path::new("/etc/tidegate"), &Around, &mut sources);
        let complaints = found.err().into_iter().flatten().map(|it| it.to_string());
        (tree.to_json(), sources, complaints.collect())
    }

    #[test]
    fn variables_are_filled_in_and_other_brackets_are_left_alone() {
        let (json, sources, wrong) = filled(
            "a: ${env:PORT}\nb: \"http://x:${env:PORT}/${env:NONE:-y}\"\nc: ${env:EMPTY:-007}\n\
             d: ${file:token}\ne: [\"k=${credential:key}\"]\nf: \"${qname} $${env:PORT} ${\"\n\
             g: ${env:NONE:-true}\n",
        );
        assert_eq!(wrong, Vec::<String>::new());
        let due = json!({
            "a": 8080, "b": "http://x:8080/y", "c": "007", "d": "s3cret", "e": ["k=k3y"],
            "f": "${qname} ${env:PORT} ${", "g": true,
        });
        assert_eq!(json, due);
        let shown = sources.hide_in(json!({ "d": "s3cret", "e": ["k=k3y"], "a": 8080 }));
        assert_eq!(shown, json!({ "d": "…", "e": ["k=…"], "a": 8080 }));
    }

    #[test]
    fn what_is_not_there_is_named_with_its_place() {
        let (_, _, wrong) =
            filled("x:\n  - ${env:NONE}\n  - ${file:none}\n  - ${credential:../key}\n");
        assert_eq!(
            wrong,
            [
                "/etc/tidegate/tidegate.yaml:2:5: x.0: the environment has no \"NONE\"; set it, or \
                 write ${env:NONE:-some default}",
                "/etc/tidegate/tidegate.yaml:3:5: x.1: /etc/tidegate/none cannot be read: it is not \
                 there; name a file of one line that Tidegate's user can read",
                "/etc/tidegate/tidegate.yaml:4:5: x.2: there is no credential \"../key\"; give it \
                 with LoadCredential= or SetCredential= in the unit",
            ]
        );
    }
}
