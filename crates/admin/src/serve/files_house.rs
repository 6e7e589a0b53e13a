//! Files of a configuration for tests: one, whose text says what comes of it.

use crate::change_author::ChangeAuthor;
use crate::configuration::{ConfigurationFiles, FilesRefusal};
use crate::control::SettingsRefusal;
use crate::first_run::FirstRunDesk;
use admin_api::{
    ApplyOutcome, ApplyRequest, ChangeDetails, ChangeInfo, ChangeList, CheckDraft, CheckedDraft,
    ConfigFileInfo, ConfigFileList, EditDraft, EditedDraft, FirstRunInfo, FirstRunOutcome,
    FirstRunQuery, FirstRunRequest, PlacedProblem, ReplayDraft, ReplayOutcome, RestoreRequest,
};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use vocab::Now;

/// Picture that shows whether a device trusts the authority.
pub(super) const CHECK_URL: &str = "https://192.0.2.1/tidegate-check.gif";

/// The file.
pub(super) struct Files;

fn file() -> ConfigFileInfo {
    let (path, text) = ("/etc/t.yaml".into(), Some("user: t # we\n".into()));
    ConfigFileInfo { path, text, kind: "main".into(), revision: "1".into(), ..<_>::default() }
}

impl ConfigurationFiles for Files {
    fn files(&self) -> ConfigFileList {
        ConfigFileList { files: vec![file()], ..ConfigFileList::default() }
    }

    fn schema(&self) -> &'static serde_json::Value {
        static SCHEMA: serde_json::Value = serde_json::Value::Null;
        &SCHEMA
    }

    fn check(&self, draft: &CheckDraft) -> Result<CheckedDraft, FilesRefusal> {
        let known = |it: &&admin_api::DraftFile| it.path != "/etc/t.yaml";
        match draft.files.iter().find(known) {
            Some(other) => Err(FilesRefusal::NoSuchFile(other.path.clone())),
            None => Ok(CheckedDraft::default()),
        }
    }

    fn replay(&self, draft: &ReplayDraft, since_ms: u64) -> Result<ReplayOutcome, FilesRefusal> {
        assert!(since_ms > 0);
        self.check(&CheckDraft { files: draft.files.clone() })?;
        Ok(ReplayOutcome { requests: 7, ..ReplayOutcome::default() })
    }

    fn edit(&self, draft: &EditDraft) -> Result<EditedDraft, FilesRefusal> {
        Ok(EditedDraft { files: draft.files.clone(), ..EditedDraft::default() })
    }

    fn apply(
        &self,
        wanted: &ApplyRequest,
        author: &ChangeAuthor,
    ) -> Result<ApplyOutcome, FilesRefusal> {
        assert_eq!((author.who.as_str(), author.why.as_str()), ("admin.token", "because"));
        match wanted.files[0].text.as_str() {
            "wrong" => Err(FilesRefusal::Wrong(vec![PlacedProblem {
                file: "/etc/t.yaml".into(),
                line: 3,
                column: 1,
                path: "soup".into(),
                message: "unknown key".into(),
                remedy: Some("leave it out".into()),
            }])),
            "all" if !wanted.confirm => Err(FilesRefusal::Unconfirmed(vec!["everything".into()])),
            _ if wanted.files[0].revision != "1" => Err(FilesRefusal::Changed(vec![file()])),
            _ => Ok(ApplyOutcome { number: Some(7), ..ApplyOutcome::default() }),
        }
    }

    fn history(&self) -> ChangeList {
        let change = ChangeInfo { number: 7, who: "token".into(), ..ChangeInfo::default() };
        ChangeList { changes: vec![change], trouble: None }
    }

    fn change(&self, number: u64) -> Result<ChangeDetails, FilesRefusal> {
        if number == 7 {
            Ok(ChangeDetails::default())
        } else {
            Err(FilesRefusal::NoSuchChange(number))
        }
    }

    fn restore(
        &self,
        number: u64,
        _: &RestoreRequest,
        _: &ChangeAuthor,
    ) -> Result<ApplyOutcome, FilesRefusal> {
        self.change(number).map(|_| ApplyOutcome::default())
    }
}

impl FirstRunDesk for Files {
    fn look(&self, asked: &FirstRunQuery, client: IpAddr, _: Now) -> FirstRunInfo {
        let mut info = FirstRunInfo { needed: true, ..FirstRunInfo::default() };
        info.this_device.client = client.to_string();
        info.config.clone_from(&asked.address);
        info
    }

    fn begin(
        &self,
        wanted: &FirstRunRequest,
        author: &ChangeAuthor,
    ) -> Result<FirstRunOutcome, FilesRefusal> {
        assert_eq!(author.why, "first run");
        if wanted.doors.is_empty() {
            let why = "no door".into();
            return Err(SettingsRefusal::Fixed { why, remedy: "name one" }.into());
        }
        Ok(FirstRunOutcome { ok: true, ..FirstRunOutcome::default() })
    }

    fn confirm(&self, came_to: Option<SocketAddr>) -> Result<(), SettingsRefusal> {
        let is_old = came_to.is_some_and(|address| address.port() == 9053);
        let refused = SettingsRefusal::Fixed { why: "it goes away".into(), remedy: "open the new" };
        if is_old { Err(refused) } else { Ok(()) }
    }

    fn check_url(&self) -> Option<Arc<String>> {
        Some(Arc::new(CHECK_URL.into()))
    }
}
