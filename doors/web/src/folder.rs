//! One folder with its scripts, for a door that routes by itself and has decided already.
//!
//! The same site that the web door serves, without its listeners, hosts, policy and records: those are
//! the other door's. The binary joins the two. It decides nothing.

use crate::answer::Payload;
use crate::path::Target;
use crate::request::{self, Outcome, Refusal};
use crate::root::NotOpened;
use crate::secure::{Demand, Ends, Secured};
use crate::settings::SiteSettings;
use crate::site::{Logs, Site, SiteContext};
use crate::store::Watcher;
use crate::visit::{self, Standing, Visit};
use http::{Request, Response};
use http_engine::content::Content;
use http_engine::private_files::PrivateFiles;
use http_engine::{Body, Incoming};
use ledger::Ledger;
use std::fmt;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use vocab::{Complaint, Now, Source};

/// Opens folders, and hears of what changes in them.
pub struct Folders {
    ledger: Ledger,
    private: Arc<PrivateFiles>,
    /// Started by the first folder.
    watcher: OnceLock<Arc<Watcher>>,
}

/// One open folder.
pub struct Folder {
    site: Arc<Site>,
    ledger: Ledger,
}

/// Who asks a folder.
#[derive(Clone, Debug)]
pub struct Visitor {
    /// The client; port 0 where it is not known.
    pub client: SocketAddr,
    /// Where it came to.
    pub server: SocketAddr,
    /// The host that it asks for, in lower case without a port; empty where it names none.
    pub host: String,
    /// Its certificate, as DER, verified; none where it has shown none.
    pub client_certificate: Option<Vec<u8>>,
    /// The name that it has proven to be its own; none where nobody asked.
    pub user: Option<Arc<str>>,
    /// Whether it came by TLS.
    pub carrier: Carrier,
    /// When it asked.
    pub now: Now,
}

/// What carries a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// Nothing but TCP.
    Plain,
    /// TLS.
    Tls,
}

impl fmt::Debug for Folders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Folders").finish_non_exhaustive()
    }
}

impl fmt::Debug for Folder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Folder").finish_non_exhaustive()
    }
}

/// Opens a folder as [`Folders::open`] would, and says what is wrong with it.
pub fn check_folder(
    settings: &SiteSettings,
    base: &Path,
    private: &Arc<PrivateFiles>,
) -> Vec<Complaint> {
    let context = SiteContext { base, logs: Logs::Leave, private, watcher: &Watcher::off() };
    Site::open((0, settings), &context).err().unwrap_or_default()
}

impl Folders {
    /// Folders whose scripts' complaints go to `ledger`, and that serve nothing of `private`.
    pub const fn new(ledger: Ledger, private: Arc<PrivateFiles>) -> Self {
        Self { ledger, private, watcher: OnceLock::new() }
    }

    /// Opens a folder, a relative root from `base`. Of the settings, where to listen, the hosts and
    /// the access log count for nothing. Complaints have paths relative to them.
    pub fn open(&self, settings: &SiteSettings, base: &Path) -> Result<Folder, Vec<Complaint>> {
        let watcher = self.watcher.get_or_init(Watcher::start);
        let context = SiteContext { base, logs: Logs::Leave, private: &self.private, watcher };
        let site = Site::open((0, settings), &context)?;
        Ok(Folder { site: Arc::new(site), ledger: self.ledger.clone() })
    }
}

impl Folder {
    /// Answers a request, and says where the answer comes from. Within a `LocalSet` or local runtime
    /// only.
    pub async fn answer(
        &self,
        visitor: Visitor,
        request: Request<Incoming>,
    ) -> (Response<Body>, Source) {
        let (site, now) = (&self.site, visitor.now);
        let (head, body) = request.into_parts();
        let target = Target::parse(head.uri.path());
        let outcome = match &target {
            Err(why) => Outcome::Refused(Refusal::Path(*why)),
            Ok(target) => match standing(site, target) {
                None => Outcome::NotOpened(NotOpened::Nothing),
                Some(standing) => {
                    let user = visitor.user.clone();
                    let (host, ends) = visitor.introduce();
                    let (host, ends) = (host.as_str(), &ends);
                    let ledger = &self.ledger;
                    let mut visit = Visit { site, host, user, ends, ledger, now };
                    visit::answer(&mut visit, standing, target, (&head, body)).await
                }
            },
        };
        let source = request::source(&outcome);
        let aimed = (&head, target.as_ref().ok());
        let (response, payload) = request::shape(outcome, Some(site), aimed, now);
        (response_of(response, payload), source)
    }
}

/// Where a path stands to the folder; none if elsewhere.
fn standing(site: &Site, target: &Target) -> Option<Standing> {
    let path = target.text();
    if path.starts_with(&*site.path) {
        return Some(Standing::Below);
    }
    (site.path.strip_suffix('/') == Some(&*path)).then_some(Standing::Slash)
}

fn response_of(response: Response<Body>, payload: Payload) -> Response<Body> {
    match payload {
        Payload::AtHand | Payload::Flowing => response,
        Payload::Content(open, segments) => {
            response.map(|_| Body::boxed(Content::new(Arc::new(open), segments, |_| ())))
        }
    }
}

impl Visitor {
    /// Its host, and both ends of its connection as the site knows them.
    fn introduce(self) -> (String, Ends) {
        let secured = match self.carrier {
            Carrier::Plain => None,
            Carrier::Tls => Some(Arc::new(Secured {
                demand: Demand::None,
                client_certificate: self.client_certificate.map(Vec::into_boxed_slice),
            })),
        };
        (self.host, Ends { client: self.client, server: self.server, secured })
    }
}
