//! One folder with its scripts, for a door that routes by itself and has decided already.
//!
//! The same site that the web door serves, without its listeners, hosts, policy and records: those
//! are the other door's. The binary joins the two. It decides nothing.

use crate::answer::FilePayload;
use crate::handshake::{HandshakeDemand, HandshakeInfo, WebContext};
use crate::outcome::{WebOutcome, WebRefusal};
use crate::path::PathTarget;
use crate::root::NotOpened;
use crate::settings::SiteSettings;
use crate::shape::shape;
use crate::site::{LogOpening, Site, SiteContext};
use crate::store::FolderWatcher;
use crate::visit::{self, PathStanding, SiteVisit};
use file_access::private_files::PrivateFiles;
use http::{Request, Response};
use http_engine::content::FileContent;
use http_engine::{Body, Incoming};
use http_front::{ConnectionContext, ConnectionSecurity, HookVisit};
use ledger::Ledger;
use std::fmt;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use vocab::{Complaint, Now, Source};

/// Opens folders, and hears of what changes in them.
pub struct FolderService {
    ledger: Ledger,
    private: Arc<PrivateFiles>,
    /// Started by the first folder.
    watcher: OnceLock<Arc<FolderWatcher>>,
}

/// One open folder.
pub struct SiteFolder {
    site: Arc<Site>,
    ledger: Ledger,
}

/// Who asks a folder.
#[derive(Clone, Debug)]
pub struct WebVisitor {
    /// The client; port 0 where it is not known.
    pub client: SocketAddr,
    /// Where it came to.
    pub server: SocketAddr,
    /// The host that it asks for, in lower case without a port; empty where it names none.
    pub host: String,
    /// Certificate, as DER, verified; none where it has shown none.
    pub client_certificate: Option<Vec<u8>>,
    /// The name that it has proven to be its own; none where nobody asked.
    pub user: Option<Arc<str>>,
    /// Whether it came by TLS.
    pub carrier: RequestCarrier,
    /// When it asked.
    pub now: Now,
}

/// Tells what carries a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestCarrier {
    /// Nothing but TCP.
    Plain,
    /// TLS.
    Tls,
}

impl fmt::Debug for FolderService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Folders").finish_non_exhaustive()
    }
}

impl fmt::Debug for SiteFolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Folder").finish_non_exhaustive()
    }
}

/// Opens a folder as [`FolderService::open`] would, and says what is wrong with it.
pub fn check_folder(
    settings: &SiteSettings,
    base: &Path,
    private: &Arc<PrivateFiles>,
) -> Vec<Complaint> {
    let context = SiteContext {
        base,
        logs: LogOpening::Leave,
        private,
        watcher: &FolderWatcher::off(),
        script_log: None,
    };
    Site::open(0, settings, &context, None).err().unwrap_or_default()
}

impl FolderService {
    /// Folders whose scripts' complaints go to `ledger`, and that serve nothing of `private`.
    pub const fn new(ledger: Ledger, private: Arc<PrivateFiles>) -> Self {
        Self { ledger, private, watcher: OnceLock::new() }
    }

    /// Opens a folder, a relative root from `base`. Of the settings, where to listen, the hosts and
    /// the access log count for nothing. Complaints have paths relative to them.
    pub fn open(&self, settings: &SiteSettings, base: &Path) -> Result<SiteFolder, Vec<Complaint>> {
        let watcher = self.watcher.get_or_init(FolderWatcher::start);
        let context = SiteContext {
            base,
            logs: LogOpening::Leave,
            private: &self.private,
            watcher,
            script_log: None,
        };
        let site = Site::open(0, settings, &context, None)?;
        Ok(SiteFolder { site: Arc::new(site), ledger: self.ledger.clone() })
    }
}

impl SiteFolder {
    /// Answers a request, and says where the answer comes from. Within a `LocalSet` or local
    /// runtime only.
    pub async fn answer(
        &self,
        visitor: WebVisitor,
        request: Request<Incoming>,
    ) -> (Response<Body>, Source) {
        let (site, now) = (&self.site, visitor.now);
        let (mut head, body) = request.into_parts();
        let mut target = PathTarget::parse(head.uri.path());
        let outcome = match &mut target {
            Err(why) => WebOutcome::Refused(WebRefusal::Path(*why)),
            Ok(target) => match path_standing(site, target) {
                None => WebOutcome::NotOpened(NotOpened::NotFound),
                Some(standing) => {
                    let user = visitor.user.clone();
                    let (host, context) = visitor.into_parts();
                    let (host, context) = (host.as_str(), &context);
                    let (ledger, hooks) = (&self.ledger, &HookVisit::default());
                    let mut visit = SiteVisit { site, host, user, context, hooks, ledger, now };
                    visit::answer(&mut visit, standing, target, &mut head, body).await
                }
            },
        };
        let source = outcome.source();
        let target = target.as_ref().ok();
        let (response, payload) = shape(outcome, Some(site), &head, target, now);
        (response_of(response, payload), source)
    }
}

/// Where a path stands to the folder; none if elsewhere.
fn path_standing(site: &Site, target: &PathTarget) -> Option<PathStanding> {
    let path = target.text();
    if path.starts_with(&*site.path) {
        return Some(PathStanding::Below);
    }
    (site.path.strip_suffix('/') == Some(&*path)).then_some(PathStanding::Slash)
}

fn response_of(response: Response<Body>, payload: FilePayload) -> Response<Body> {
    match payload {
        FilePayload::Buffered | FilePayload::Streaming => response,
        FilePayload::Content(open, segments) => {
            response.map(|_| Body::boxed(FileContent::new(Arc::new(open), segments, |_| ())))
        }
    }
}

impl WebVisitor {
    /// Returns its host, and both ends of its connection as the site knows them.
    fn into_parts(self) -> (String, WebContext) {
        let security = match self.carrier {
            RequestCarrier::Plain => ConnectionSecurity::Plain,
            RequestCarrier::Tls => ConnectionSecurity::Tls(HandshakeInfo {
                demand: HandshakeDemand::None,
                client_certificate: self.client_certificate.map(Vec::into_boxed_slice),
            }),
        };
        let local = Some(self.server);
        (self.host, ConnectionContext { client: self.client, local, security })
    }
}
