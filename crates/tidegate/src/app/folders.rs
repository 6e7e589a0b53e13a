//! Folders behind routes of the gateway, served by the code of the web door.
//!
//! Neither door knows the other: this says to one in its words what the other said in its own. Used by
//! `doors`, and by `check`.

use door_gateway::{FolderSettings, OpenFolders, ScriptSettings, ServeFolder, Serving, Visitor};
use door_web::{Carrier, FastcgiChoice, FastcgiSettings, Listing, SiteSettings};
use http::Request;
use http_engine::Incoming;
use http_engine::private_files::PrivateFiles;
use ledger::Ledger;
use settings::Text;
use std::path::Path;
use std::sync::Arc;
use vocab::{ByteSize, Complaint};

/// What opens the gateway's folders.
pub(super) struct Folders(door_web::Folders);

/// One of them.
struct Folder(door_web::Folder);

impl Folders {
    pub(super) fn new(ledger: &Ledger, private: &Arc<PrivateFiles>) -> Self {
        Self(door_web::Folders::new(ledger.clone(), Arc::clone(private)))
    }
}

impl OpenFolders for Folders {
    fn open(
        &self,
        settings: &FolderSettings,
        base: &Path,
    ) -> Result<Arc<dyn ServeFolder>, Vec<Complaint>> {
        let folder = self.0.open(&site(settings), base)?;
        Ok(Arc::new(Folder(folder)))
    }
}

impl ServeFolder for Folder {
    fn serve(&self, visitor: Visitor, request: Request<Incoming>) -> Serving<'_> {
        let Visitor { client, server, host, scheme, client_certificate, user, now } = visitor;
        let carrier = if scheme == "https" { Carrier::Tls } else { Carrier::Plain };
        let visitor =
            door_web::Visitor { client, server, host, client_certificate, user, carrier, now };
        Box::pin(self.0.answer(visitor, request))
    }
}

/// Opens every folder of the gateway as it would, and says what is wrong with them, with paths relative
/// to its section.
pub(crate) fn check(
    settings: &door_gateway::Settings,
    base: &Path,
    private: &Arc<PrivateFiles>,
) -> Vec<Complaint> {
    let folders = settings.folders();
    let wrong = folders.flat_map(|(index, folder)| {
        let wrong = door_web::check_folder(&site(&folder), base, private).into_iter();
        wrong.map(move |it| it.under(&format!("routes.{index}")))
    });
    wrong.collect()
}

/// The folder as a site of the web door. What the gateway does to every answer (fields, compression,
/// passwords) is left out.
fn site(settings: &FolderSettings) -> SiteSettings {
    let scripts = settings.fastcgi.iter().map(|(paths, script)| {
        let script = FastcgiChoice::Detailed(script_settings(script, settings.body_max));
        (paths.clone(), script)
    });
    SiteSettings {
        root: settings.root.clone(),
        path: settings.path.clone(),
        index: settings.index.clone(),
        listing: if settings.listing { Listing::On } else { Listing::Off },
        fallback: settings.fallback.clone(),
        fastcgi: scripts.collect(),
        ..SiteSettings::default()
    }
}

fn script_settings(script: &ScriptSettings, body_max: u64) -> FastcgiSettings {
    FastcgiSettings {
        server: script.server.clone(),
        index: script.index.clone(),
        split_path: script.split_path.clone(),
        params: script.params.clone(),
        root: script.root.clone(),
        timeout: script.timeout,
        connections: script.connections,
        body_max: Text(ByteSize(body_max)),
        ..FastcgiSettings::default()
    }
}
