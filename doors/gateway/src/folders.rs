//! Folders and scripts behind routes: what the gateway asks of whoever serves them.
//!
//! It reads no file and speaks no `FastCGI` itself: the binary hands in what does
//! ([`OpenFolders`]), so that one implementation serves here and at the web door. Made with a route
//! from its settings; called by `act`.

use crate::caller::ClientConnection;
use crate::settings::FolderSettings;
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use http::{HeaderValue, Request, Response};
use http_engine::{Body, Incoming};
use route_matching::ParsedRequest;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use vocab::{Complaint, Now, Source};

/// Opens the folders of routes.
pub trait OpenFolders: Send + Sync {
    /// Opens one, a relative root from `base`. Complaints have paths relative to the route.
    fn open(
        &self,
        settings: &FolderSettings,
        base: &Path,
    ) -> Result<Arc<dyn ServeFolder>, Vec<Complaint>>;
}

/// An answer on its way, and where it comes from.
pub type Serving<'s> = Pin<Box<dyn Future<Output = (Response<Body>, Source)> + 's>>;

/// One open folder with its scripts.
pub trait ServeFolder: Send + Sync {
    /// Answers a request whose path is in normal form. Within a `LocalSet` or local runtime only.
    fn serve(&self, visitor: FolderVisitor, request: Request<Incoming>) -> Serving<'_>;
}

/// The client that asks a folder.
#[derive(Clone, Debug)]
pub struct FolderVisitor {
    /// The client; its port is 0 where a proxy in front speaks for it.
    pub client: SocketAddr,
    /// Where it came to.
    pub server: SocketAddr,
    /// The host that it asks for, in lower case without a port; empty where it names none.
    pub host: String,
    /// Scheme of its connection: `http` or `https`.
    pub scheme: &'static str,
    /// The certificate that it has shown, as DER, verified.
    pub client_certificate: Option<Vec<u8>>,
    /// The name that it has proven with a password, if one was due.
    pub user: Option<Arc<str>>,
    /// When it asked.
    pub now: Now,
}

/// The folder of a route.
pub(crate) struct FolderMount {
    settings: FolderSettings,
    folder: Arc<dyn ServeFolder>,
}

impl FolderMount {
    /// Opens a folder, or takes that of `before` if nothing about it is another and it is there
    /// yet.
    pub(crate) fn open(
        settings: FolderSettings,
        base: &Path,
        folders: &dyn OpenFolders,
        before: Option<&Self>,
    ) -> Result<Self, Vec<Complaint>> {
        let same = before.filter(|before| before.settings == settings);
        let folder = match same.filter(|_| base.join(&settings.root).is_dir()) {
            Some(before) => Arc::clone(&before.folder),
            None => folders.open(&settings, base)?,
        };
        Ok(Self { settings, folder })
    }

    /// Returns what it has for a request of this user, if a password was due.
    pub(crate) async fn serve(
        &self,
        parsed: &ParsedRequest,
        user: Option<Arc<str>>,
        caller: &ClientConnection,
        request: Request<Incoming>,
        now: Now,
    ) -> (Response<Body>, Source) {
        let ends = caller.endpoints_for(parsed.client);
        let nowhere = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);
        let shown =
            caller.context.handshake().and_then(|secured| secured.client_certificate.as_ref());
        let visitor = FolderVisitor {
            client: SocketAddr::new(parsed.client, ends.map_or(0, |ends| ends.client.port())),
            server: ends.map_or(nowhere, |ends| ends.server),
            host: parsed.host.as_str().to_owned(),
            scheme: caller.scheme(),
            client_certificate: shown.and_then(der),
            user,
            now,
        };
        self.folder.serve(visitor, request).await
    }
}

/// The bytes of an item of a structured field (RFC 9440 §2.2).
fn der(field: &HeaderValue) -> Option<Vec<u8>> {
    BASE64.decode(field.to_str().ok()?.trim_matches(':')).ok()
}
