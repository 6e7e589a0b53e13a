//! Folders that answer with what they are told: those of disk belong to another door.

use door_gateway::{FolderSettings, FolderVisitor, OpenFolders, ServeFolder, Serving};
use http::{Request, Response};
use http_engine::{Body, Incoming};
use std::path::Path;
use std::sync::Arc;
use vocab::{Complaint, Source};

pub(crate) struct Told;

struct Folder(FolderSettings);

impl OpenFolders for Told {
    fn open(
        &self,
        settings: &FolderSettings,
        _: &Path,
    ) -> Result<Arc<dyn ServeFolder>, Vec<Complaint>> {
        if settings.root.contains("gone") {
            return Err(vec![Complaint::new("root", "it is gone")]);
        }
        Ok(Arc::new(Folder(settings.clone())))
    }
}

impl ServeFolder for Folder {
    fn serve(&self, visitor: FolderVisitor, request: Request<Incoming>) -> Serving<'_> {
        let said = format!(
            "root={} path={} uri={} host={} client={}",
            self.0.root,
            self.0.path,
            request.uri(),
            visitor.host,
            visitor.client.ip()
        );
        Box::pin(async { (Response::new(Body::from(said)), Source::File) })
    }
}
