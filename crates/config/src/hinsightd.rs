//! A configuration of hinsightd, said in our words: settings as YAML under comments, and a script.
//!
//! It is run by crate `hinsightd-config`; here its files are found, and what it comes to is
//! written. Called by `tidegate import hinsightd`.

use crate::FileComplaint;
use crate::yaml::TextPosition;
use hinsightd_config::{HinsightdDisk, HinsightdImport};
use std::fmt::Write;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use vocab::Complaint;
use yaml_text::literal;

/// A configuration in our words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedHinsightd {
    /// Settings, as YAML.
    pub settings: String,
    /// The script that they name.
    pub script: String,
}

/// Files beside the configuration.
struct ConfigFolder {
    folder: PathBuf,
    read: fn(&Path) -> io::Result<String>,
}

impl HinsightdDisk for ConfigFolder {
    fn read(&self, path: &str) -> io::Result<String> {
        (self.read)(&self.folder.join(path))
    }

    fn list(&self, path: &str) -> io::Result<Vec<String>> {
        let entries = std::fs::read_dir(self.folder.join(path))?;
        let names = entries.map(|it| Ok(it?.file_name().to_string_lossy().into_owned()));
        let mut names = names.take(1000).collect::<io::Result<Vec<_>>>()?;
        names.sort();
        Ok(names)
    }

    /// hinsightd looks from where it is started; what is not there may lie beside its file.
    fn place(&self, path: &str) -> String {
        let beside = self.folder.join(path);
        let found = if !Path::new(path).exists() && beside.exists() { beside } else { path.into() };
        let whole = std::path::absolute(&found).unwrap_or(found);
        whole.display().to_string()
    }
}

/// hinsightd's configuration at `main`, read by `read`, as one of ours whose script is the file
/// `script`.
///
/// # Errors
/// What hinsightd would not take either, and sockets without an address.
pub fn from_hinsightd(
    main: &Path,
    script: &str,
    read: fn(&Path) -> io::Result<String>,
) -> Result<ImportedHinsightd, Vec<FileComplaint>> {
    let folder = main.parent().unwrap_or(Path::new("")).to_owned();
    let name = main.file_name().unwrap_or_default().to_string_lossy();
    let disk: Rc<dyn HinsightdDisk> = Rc::new(ConfigFolder { folder, read });
    let import = hinsightd_config::import(&name, &disk, script).map_err(|why| {
        vec![FileComplaint::at(main, TextPosition::START, Complaint::new("", why.to_string()))]
    })?;
    Ok(ImportedHinsightd { settings: written(main, script, &import), script: import.script })
}

fn written(main: &Path, script: &str, import: &HinsightdImport) -> String {
    let text = |text: &str| literal(&serde_json::Value::from(text));
    let mut out = format!("# What hinsightd was told in {}.\n", text(&main.to_string_lossy()));
    let _ = writeln!(
        out,
        "# Its functions are in {}: where the settings below say all that they did, take `script` out.",
        text(script)
    );
    if !import.notes.is_empty() {
        out.push_str("# Not carried over, or to be looked at:\n");
    }
    for note in &import.notes {
        // In one line each, whatever a name holds.
        let _ = writeln!(out, "#   {}", note.replace(|c: char| c.is_control(), " "));
    }
    for (name, section) in &import.sections {
        yaml_text::entry(&mut out, 0, name, section);
    }
    out
}
