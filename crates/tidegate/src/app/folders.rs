//! Folders behind routes of the gateway, served by the code of the web door.
//!
//! Neither door knows the other: this says to one in its words what the other said in its own. Used
//! by `doors`, and by `check`.

use door_gateway::{
    FolderSettings, FolderVisitor, OpenFolders, ScriptSettings, ServeFolder, Serving,
};
use door_web::{FastcgiChoice, FastcgiSettings, ListingMode, RequestCarrier, SiteSettings};
use file_access::private_files::PrivateFiles;
use http::Request;
use http_engine::Incoming;
use ledger::Ledger;
use settings::Text;
use std::path::Path;
use std::sync::Arc;
use vocab::{ByteSize, Complaint};

/// Holds what opens the gateway's folders.
pub(super) struct FolderOpener(door_web::FolderService);

/// One of them.
struct OpenedFolder(door_web::SiteFolder);

impl FolderOpener {
    pub(super) fn new(ledger: &Ledger, private: &Arc<PrivateFiles>) -> Self {
        Self(door_web::FolderService::new(ledger.clone(), Arc::clone(private)))
    }
}

impl OpenFolders for FolderOpener {
    fn open(
        &self,
        settings: &FolderSettings,
        base: &Path,
    ) -> Result<Arc<dyn ServeFolder>, Vec<Complaint>> {
        let folder = self.0.open(&site(settings), base)?;
        Ok(Arc::new(OpenedFolder(folder)))
    }
}

impl ServeFolder for OpenedFolder {
    fn serve(&self, visitor: FolderVisitor, request: Request<Incoming>) -> Serving<'_> {
        let FolderVisitor { client, server, host, scheme, client_certificate, user, now } = visitor;
        let carrier = if scheme == "https" { RequestCarrier::Tls } else { RequestCarrier::Plain };
        let visitor =
            door_web::WebVisitor { client, server, host, client_certificate, user, carrier, now };
        Box::pin(self.0.answer(visitor, request))
    }
}

/// Opens every folder of the gateway as it would, and says what is wrong with them, with paths
/// relative to its section.
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

/// The folder as a site of the web door. What the gateway does to every answer (fields,
/// compression, passwords) is left out.
fn site(settings: &FolderSettings) -> SiteSettings {
    let scripts = settings.fastcgi.iter().map(|(paths, script)| {
        let script = FastcgiChoice::Detailed(script_settings(script, settings.body_max));
        (paths.clone(), script)
    });
    let usual = SiteSettings::default();
    let forbidden = settings.forbidden_files.clone().unwrap_or(usual.forbidden_files);
    SiteSettings {
        forbidden_files: forbidden,
        root: settings.root.clone(),
        path: settings.path.clone(),
        index: settings.index.clone(),
        listing: if settings.listing { ListingMode::On } else { ListingMode::Off },
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
