//! Objects at the place of a fleet's bundles, read and written: files, `GET` and `PUT`, or those
//! signed for S3.
//!
//! Blocking: each client belongs to the thread that opened it. Nothing is retried here.

mod exchange;
mod folder_place;
mod http_place;
mod s3_answer;
mod s3_place;

use crate::place::BundlePlace;
use crate::placed::{PlaceFault, PlacedObject};
use crate::s3_credentials::S3Credentials;
use exchange::{PlaceConnections, PlacePatience};
use folder_place::FolderPlace;
use http_place::HttpPlace;
use origins::Dialer;
use s3_place::S3Place;

/// Client of a place.
pub struct BundleClient(ClientKind);

enum ClientKind {
    Folder(FolderPlace),
    Http(Box<HttpPlace>),
    S3(Box<S3Place>),
}

impl BundleClient {
    /// A client, by connections of `dialer` where the place is an address. Those who ask at S3 are
    /// `credentials`, or whom the environment names.
    ///
    /// # Errors
    /// [`PlaceFault`] if there is no run time for it, or no credentials where some are named.
    pub fn open(
        place: &BundlePlace,
        credentials: Option<S3Credentials>,
        dialer: Dialer,
    ) -> Result<Self, PlaceFault> {
        Self::with(place, credentials, dialer, PlacePatience::LONG)
    }

    /// The same for somebody who looks at a page: it gives up after seconds.
    ///
    /// # Errors
    /// [`PlaceFault`] as above.
    pub fn hasty(
        place: &BundlePlace,
        credentials: Option<S3Credentials>,
        dialer: Dialer,
    ) -> Result<Self, PlaceFault> {
        Self::with(place, credentials, dialer, PlacePatience::SHORT)
    }

    fn with(
        place: &BundlePlace,
        credentials: Option<S3Credentials>,
        dialer: Dialer,
        patience: PlacePatience,
    ) -> Result<Self, PlaceFault> {
        Ok(Self(match place {
            BundlePlace::Folder(path) => ClientKind::Folder(FolderPlace(path.clone())),
            BundlePlace::Http { url, user } => {
                let connections = PlaceConnections::open(dialer, patience)?;
                let opened = HttpPlace::open(url, user.as_deref(), connections)?;
                ClientKind::Http(Box::new(opened))
            }
            BundlePlace::S3(location) => {
                let found = match credentials {
                    Some(given) => Some(given),
                    None => S3Credentials::from_surroundings().map_err(PlaceFault::unreachable)?,
                };
                let opened =
                    S3Place::open(location, found, PlaceConnections::open(dialer, patience)?)?;
                ClientKind::S3(Box::new(opened))
            }
        }))
    }

    /// Makes the folders into which machines write. A bucket has none; it is asked, so that a wrong
    /// name is told now.
    ///
    /// # Errors
    /// [`PlaceFault`]; a server that makes no folders says so, and they are to be made by hand.
    pub fn prepare(&self) -> Result<(), PlaceFault> {
        match &self.0 {
            ClientKind::Folder(place) => place.prepare(),
            ClientKind::Http(place) => place.prepare(),
            ClientKind::S3(place) => place.prepare(),
        }
    }

    /// Reads an object of at most `most` bytes, unless it still has this tag.
    ///
    /// # Errors
    /// [`PlaceFault`].
    pub fn get(
        &self,
        path: &str,
        tag: Option<&str>,
        most: usize,
    ) -> Result<PlacedObject, PlaceFault> {
        match &self.0 {
            ClientKind::Folder(place) => place.get(path, tag, most),
            ClientKind::Http(place) => place.get(path, tag, most),
            ClientKind::S3(place) => place.get(path, tag, most),
        }
    }

    /// Writes an object.
    ///
    /// # Errors
    /// [`PlaceFault`].
    pub fn put(&self, path: &str, bytes: &[u8]) -> Result<(), PlaceFault> {
        match &self.0 {
            ClientKind::Folder(place) => place.put(path, bytes),
            ClientKind::Http(place) => place.put(path, bytes),
            ClientKind::S3(place) => place.put(path, bytes),
        }
    }

    /// Tells whether an object is there, which is not read.
    ///
    /// # Errors
    /// [`PlaceFault`].
    pub fn has(&self, path: &str) -> Result<bool, PlaceFault> {
        match &self.0 {
            ClientKind::Folder(place) => Ok(place.has(path)),
            ClientKind::Http(place) => place.has(path),
            ClientKind::S3(place) => place.has(path),
        }
    }
}
