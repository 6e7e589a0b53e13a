//! Settings changed in drafts of files, each where it is written, and looked up there.
//!
//! Nothing is judged and nothing written. Called for forms of the dashboard, whose changes become
//! drafts like those of the editor.

use crate::files_in_force::{FileInForce, FilesInForce};
use admin::{FilesRefusal, SettingsRefusal};
use admin_api::{DraftFile, EditDraft, EditedDraft, PlacedProblem, SettingEdit, WrittenValueInfo};
use config::{
    EditRefusal, SettingChange, SettingPath, WrittenSetting, WrittenValue, edit_text, find_setting,
};

/// Drafts of all files, with the changes made in them.
struct DraftSet<'f> {
    files: Vec<(&'f FileInForce, String)>,
}

/// Makes changes in drafts, and looks settings up in what comes of it.
///
/// # Errors
/// A stranger's file, a wrong path or value, or a text that is no YAML.
pub fn edit_drafts(files: &FilesInForce, draft: &EditDraft) -> Result<EditedDraft, FilesRefusal> {
    let mut texts = DraftSet::of(files, &draft.files)?;
    let mut changed = Vec::with_capacity(draft.changes.len());
    for edit in &draft.changes {
        changed.push(texts.edit(edit)?);
    }
    let read = draft.read.iter().map(|path| Ok(texts.find(&path_of(path)?, path)?.1));
    let read = read.collect::<Result<Vec<_>, FilesRefusal>>()?;
    let is_told = |name: &str| {
        draft.files.iter().any(|file| file.path == name)
            || changed.iter().any(|change| change.file == name)
    };
    let told = texts.files.iter().filter(|(file, _)| is_told(&file.name));
    let file = |(file, text): &(&FileInForce, String)| {
        let sent = draft.files.iter().find(|sent| sent.path == file.name);
        let revision = sent.map(|sent| sent.revision.clone()).unwrap_or_default();
        DraftFile { path: file.name.clone(), text: text.clone(), revision }
    };
    Ok(EditedDraft { files: told.map(file).collect(), changed, read })
}

impl<'f> DraftSet<'f> {
    fn of(files: &'f FilesInForce, sent: &[DraftFile]) -> Result<Self, FilesRefusal> {
        if let Some(stranger) = sent.iter().find(|sent| files.find(&sent.path).is_none()) {
            return Err(FilesRefusal::NoSuchFile(stranger.path.clone()));
        }
        let text = |file: &'f FileInForce| {
            let draft = sent.iter().find(|sent| sent.path == file.name);
            let now = || file.read_now().unwrap_or_else(|_| file.text.to_string());
            (file, draft.map_or_else(now, |draft| draft.text.clone()))
        };
        let drafts = Self { files: files.iter().map(text).collect() };
        if drafts.files.is_empty() {
            let why = "the built-in configuration runs, which has no file".into();
            let remedy = "write a file, and start Tidegate with --config";
            return Err(SettingsRefusal::Fixed { why, remedy }.into());
        }
        Ok(drafts)
    }

    fn find(
        &self,
        path: &SettingPath,
        written: &str,
    ) -> Result<(usize, WrittenValueInfo), FilesRefusal> {
        let texts: Vec<&str> = self.files.iter().map(|(_, text)| text.as_str()).collect();
        let WrittenSetting { file, line, value } = find_setting(&texts, path)
            .map_err(|(file, why)| FilesRefusal::Wrong(vec![self.problem(file, &why)]))?;
        let name = self.files[file].0.name.clone();
        Ok((file, WrittenValueInfo { path: written.into(), file: name, line, value }))
    }

    fn edit(&mut self, edit: &SettingEdit) -> Result<WrittenValueInfo, FilesRefusal> {
        let path = path_of(&edit.path)?;
        let change = match &edit.value {
            Some(value) => SettingChange::Set(
                WrittenValue::parse(value).map_err(|why| wrong(format!("{}: {why}", edit.path)))?,
            ),
            None => SettingChange::Unset,
        };
        let (place, before) = self.find(&path, &edit.path)?;
        let text = &mut self.files[place].1;
        *text = edit_text(text, &path, &change).map_err(|why| wrong(why.to_string()))?;
        match change {
            SettingChange::Set(_) => Ok(self.find(&path, &edit.path)?.1),
            SettingChange::Unset => Ok(WrittenValueInfo { value: None, ..before }),
        }
    }

    fn problem(&self, file: usize, why: &EditRefusal) -> PlacedProblem {
        let (line, message) = match why {
            EditRefusal::NotYaml { line, message } => (*line, message.clone()),
            other => (1, other.to_string()),
        };
        let file = self.files[file].0.name.clone();
        PlacedProblem { file, line, column: 1, message, ..PlacedProblem::default() }
    }
}

fn path_of(text: &str) -> Result<SettingPath, FilesRefusal> {
    SettingPath::parse(text).map_err(|why| wrong(format!("{text}: {why}")))
}

fn wrong(why: String) -> FilesRefusal {
    FilesRefusal::Other(SettingsRefusal::Wrong(why.into()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use test_support::ScratchFolder;

    #[test]
    fn a_form_changes_a_setting_in_the_file_that_has_it_with_comments_kept() {
        let folder = ScratchFolder::new();
        let (main, more) = (folder.path().join("t.yaml"), folder.path().join("dns.yaml"));
        std::fs::write(&main, "include: [dns.yaml] # more\nuser: a\n").unwrap();
        let dns = "dns:\n  # at home\n  listen: [\"udp://127.0.0.1:0\"]\n  upstreams: # two\n    - udp://192.0.2.1 # near\n    - udp://192.0.2.2\n";
        std::fs::write(&more, dns).unwrap();
        let plan = config::load(&main, config::ConfigLayers::default()).unwrap();
        let files = FilesInForce::of(&plan, folder.path());
        let edit = |path: &str, value: Option<&str>| SettingEdit {
            path: path.into(),
            value: value.map(str::to_owned),
        };
        let draft = EditDraft {
            changes: vec![
                edit("dns.upstreams[1]", Some("udp://192.0.2.3")),
                edit("dns.blocked", Some("nodata")),
            ],
            read: vec!["dns.upstreams".into(), "user".into(), "dns.local".into()],
            ..EditDraft::default()
        };
        let edited = edit_drafts(&files, &draft).unwrap();
        let [file] = edited.files.as_slice() else { panic!("{edited:?}") };
        assert_eq!(file.path, more.display().to_string());
        let new = dns.replace("192.0.2.2", "192.0.2.3") + "  blocked: nodata\n";
        assert_eq!(file.text, new);
        assert_eq!((edited.changed[0].line, edited.changed[1].line), (6, 7));
        let upstreams = serde_json::json!(["udp://192.0.2.1", "udp://192.0.2.3"]);
        assert_eq!(edited.read[0].value, Some(upstreams));
        assert_eq!(edited.read[1].file, main.display().to_string());
        assert_eq!(edited.read[2].value, None);
        let broken =
            DraftFile { path: file.path.clone(), text: "dns: [1\na: 2\n".into(), ..<_>::default() };
        let draft = EditDraft { files: vec![broken], ..draft };
        let Err(FilesRefusal::Wrong(told)) = edit_drafts(&files, &draft) else { panic!() };
        assert_eq!((&told[0].file, told[0].line), (&file.path, 2));
    }
}
