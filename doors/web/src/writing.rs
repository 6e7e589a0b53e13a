//! Writing of a site's files: which ways there are, and who needs no name for them.
//!
//! Made with the site; `write_visit` answers a request by it. The protocol is the `webdav` crate's.

mod settings;

pub(crate) use self::settings::{Md5Field, check, is_written};
pub use self::settings::{PutChoice, PutSettings};

use crate::root::{FileFacts, SiteRoot};
use crate::settings::SiteSettings;
use http::Method;
use http::Response;
use http_engine::Body;
use std::net::IpAddr;
use vocab::Network;
use webdav::{DavFolder, DavMethods, DavRequest};

/// Writing at one site.
pub(crate) struct SiteWriting {
    folder: DavFolder,
    /// Clients that need no name.
    writers: Vec<Network>,
    /// Treatment of a `Content-MD5`.
    pub(crate) md5: Md5Field,
}

impl SiteWriting {
    /// Writing at the site whose settings these are; none where nothing is written.
    pub(crate) fn new(settings: &SiteSettings, root: &SiteRoot) -> Option<Self> {
        let methods = settings::methods(settings)?;
        let limits = settings.put.limits();
        let tag = |stat: &rustix::fs::Stat| FileFacts::new(stat).tag();
        let folder = DavFolder::new(root.shared(), &settings.path, methods, limits, tag);
        let writers = settings.writers.iter().map(|it| it.0).collect();
        Some(Self { folder, writers, md5: settings.put.md5() })
    }

    /// Which ways of writing there are.
    pub(crate) fn methods(&self) -> DavMethods {
        self.folder.methods()
    }

    /// True for a method that is answered here.
    pub(crate) fn takes(&self, method: &Method) -> bool {
        self.folder.methods().include(method)
    }

    /// True for a client that needs no name.
    pub(crate) fn trusts(&self, client: IpAddr) -> bool {
        self.writers.iter().any(|network| network.contains(client))
    }

    /// Answers a request of a client that may write.
    pub(crate) async fn answer(&self, request: DavRequest) -> Response<Body> {
        self.folder.answer(request).await
    }
}
