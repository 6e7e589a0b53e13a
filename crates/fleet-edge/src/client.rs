//! Objects at the place of a fleet's bundles, read and written: files, or `GET` and `PUT`.
//!
//! Blocking: each client belongs to the thread that opened it. Nothing is retried here.

use crate::objects;
use crate::place::BundlePlace;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use durable_file::{DraftName, FileAccess, FileReplacement, NameDurability};
use fetch::{RepeatableRequest, Url, WholeAnswer, WholeBounds, whole};
use http::header::{
    AUTHORIZATION, CONTENT_TYPE, DATE, ETAG, HeaderMap, HeaderName, HeaderValue, IF_NONE_MATCH,
};
use http::{Method, StatusCode};
use origins::{Dialer, OriginLimits, Origins};
use std::fmt;
use std::fs::{File, Permissions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};
use tokio::runtime::{Builder, LocalOptions, LocalRuntime};

/// Time for one object.
const OBJECT_TIME_MAX: Duration = Duration::from_secs(30);
/// Time without a byte.
const RESPONSE_TIME_MAX: Duration = Duration::from_secs(15);

/// Client of a place.
pub struct BundleClient(ClientKind);

enum ClientKind {
    Folder(PathBuf),
    Http {
        url: Url,
        authorization: Option<HeaderValue>,
        origins: Box<Origins>,
        runtime: LocalRuntime,
    },
}

/// An object that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlacedObject {
    /// As it was when it had the tag that was sent.
    Same,
    /// Not there.
    Missing,
    /// There.
    Found {
        /// Bytes of the object.
        bytes: Vec<u8>,
        /// Tag by which the next question is conditional.
        tag: Option<String>,
        /// Seconds of Unix time by the server's clock.
        server_time: Option<u64>,
    },
}

/// Reason why an object was neither read nor written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlaceFault {
    /// The place does not answer as it should.
    Unreachable(String),
    /// The object is larger than is believed.
    TooLarge(usize),
    /// Nobody may write there, or not this one.
    Refused(String),
}

impl BundleClient {
    /// A client, by connections of `dialer` where the place is an address.
    ///
    /// # Errors
    /// [`PlaceFault`] if there is no run time for it.
    pub fn open(place: &BundlePlace, dialer: Dialer) -> Result<Self, PlaceFault> {
        let failed = |why: &dyn fmt::Display| PlaceFault::Unreachable(why.to_string());
        let (url, user) = match place {
            BundlePlace::Folder(path) => return Ok(Self(ClientKind::Folder(path.clone()))),
            BundlePlace::Http { url, user } => (Url::clone(url), user),
        };
        let runtime =
            Builder::new_current_thread().enable_all().build_local(LocalOptions::default());
        let runtime = runtime.map_err(|why| failed(&why))?;
        let basic = |user: &String| {
            let value = HeaderValue::try_from(format!("Basic {}", STANDARD.encode(user)));
            value.map(|mut value| {
                value.set_sensitive(true);
                value
            })
        };
        let authorization = user.as_ref().map(basic).transpose().map_err(|why| failed(&why))?;
        let limits =
            OriginLimits { response_timeout: RESPONSE_TIME_MAX, ..OriginLimits::default() };
        let origins = {
            let _inside = runtime.enter();
            Box::new(Origins::new(dialer, limits))
        };
        Ok(Self(ClientKind::Http { url, authorization, origins, runtime }))
    }

    /// Makes the folders into which machines write. In a folder, each machine may add a file of its
    /// own there and change no other's; what it writes is believed for its signature.
    ///
    /// # Errors
    /// [`PlaceFault`]; a server that makes no folders says so, and they are to be made by hand.
    pub fn prepare(&self) -> Result<(), PlaceFault> {
        let folders = [objects::STATUS_FOLDER, objects::ENROLMENT_FOLDER];
        let ClientKind::Folder(place) = &self.0 else {
            return folders.into_iter().try_for_each(|name| self.make_collection(name));
        };
        let open_to_all = |name: &str| {
            let path = place.join(name);
            std::fs::create_dir_all(&path)?;
            std::fs::set_permissions(&path, Permissions::from_mode(0o1777))
        };
        let made = folders.into_iter().try_for_each(open_to_all);
        made.map_err(|why: io::Error| PlaceFault::Refused(why.to_string()))
    }

    /// Makes a folder by `MKCOL` (RFC 4918 §9.3).
    fn make_collection(&self, name: &str) -> Result<(), PlaceFault> {
        let method = Method::from_bytes(b"MKCOL").unwrap_or(Method::PUT);
        let answer = self.send(method, &format!("{name}/"), None, Bytes::new(), 64 << 10)?;
        // One that is there already is not allowed once more.
        let is_there = answer.status == StatusCode::METHOD_NOT_ALLOWED
            && self.send(Method::HEAD, &format!("{name}/"), None, Bytes::new(), 0).is_ok();
        if answer.status.is_success() || is_there { Ok(()) } else { Err(refusal(answer.status)) }
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
            ClientKind::Folder(folder) => read_file(folder, path, tag, most),
            ClientKind::Http { .. } => {
                let tag = tag.and_then(|tag| HeaderValue::try_from(tag).ok());
                let fields = tag.map(|tag| (IF_NONE_MATCH, tag));
                let answer = self.send(Method::GET, path, fields, Bytes::new(), most)?;
                let text = |name: HeaderName| answer.headers.get(name)?.to_str().ok();
                match answer.status {
                    StatusCode::OK => Ok(PlacedObject::Found {
                        tag: text(ETAG).map(str::to_owned),
                        server_time: text(DATE).and_then(|it| {
                            let time = httpdate::parse_http_date(it).ok()?;
                            Some(time.duration_since(UNIX_EPOCH).ok()?.as_secs())
                        }),
                        bytes: answer.body.into(),
                    }),
                    StatusCode::NOT_MODIFIED => Ok(PlacedObject::Same),
                    StatusCode::NOT_FOUND | StatusCode::GONE => Ok(PlacedObject::Missing),
                    status => Err(refusal(status)),
                }
            }
        }
    }

    /// Writes an object.
    ///
    /// # Errors
    /// [`PlaceFault`].
    pub fn put(&self, path: &str, bytes: &[u8]) -> Result<(), PlaceFault> {
        match &self.0 {
            ClientKind::Folder(folder) => write_file(folder, path, bytes),
            ClientKind::Http { .. } => {
                let kind = HeaderValue::from_static("application/octet-stream");
                let body = Bytes::copy_from_slice(bytes);
                let answer =
                    self.send(Method::PUT, path, Some((CONTENT_TYPE, kind)), body, 64 << 10)?;
                if answer.status.is_success() { Ok(()) } else { Err(refusal(answer.status)) }
            }
        }
    }

    /// Tells whether an object is there, which is not read.
    ///
    /// # Errors
    /// [`PlaceFault`].
    pub fn has(&self, path: &str) -> Result<bool, PlaceFault> {
        match &self.0 {
            ClientKind::Folder(folder) => Ok(folder.join(path).is_file()),
            ClientKind::Http { .. } => {
                let answer = self.send(Method::HEAD, path, None, Bytes::new(), 0)?;
                match answer.status {
                    StatusCode::OK | StatusCode::NO_CONTENT => Ok(true),
                    StatusCode::NOT_FOUND | StatusCode::GONE => Ok(false),
                    status => Err(refusal(status)),
                }
            }
        }
    }

    fn send(
        &self,
        method: Method,
        path: &str,
        field: Option<(HeaderName, HeaderValue)>,
        body: Bytes,
        most: usize,
    ) -> Result<WholeAnswer, PlaceFault> {
        let ClientKind::Http { url, authorization, origins, runtime } = &self.0 else {
            return Err(PlaceFault::Unreachable("it is no address".into()));
        };
        let mut headers = HeaderMap::new();
        headers.extend(field);
        headers.extend(authorization.clone().map(|it| (AUTHORIZATION, it)));
        let url = url.join(path).map_err(|why| PlaceFault::Unreachable(why.to_string()))?;
        // An answer that says to look elsewhere is no answer of this place.
        let bounds = WholeBounds { redirects: 0, body: most, time: OBJECT_TIME_MAX };
        let request = RepeatableRequest { method, url, headers, body };
        let answer = runtime.block_on(whole(origins, request, bounds));
        answer.map_err(|why| match why {
            fetch::WholeFailure::Long(most) => PlaceFault::TooLarge(most),
            other => PlaceFault::Unreachable(other.to_string()),
        })
    }
}

fn refusal(status: StatusCode) -> PlaceFault {
    match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::METHOD_NOT_ALLOWED => {
            PlaceFault::Refused(format!("the server answered {status}"))
        }
        status => PlaceFault::Unreachable(format!("the server answered {status}")),
    }
}

/// The tag of a file is its inode, its time and its size: each publication is another file.
fn read_file(
    folder: &Path,
    path: &str,
    tag: Option<&str>,
    most: usize,
) -> Result<PlacedObject, PlaceFault> {
    let failed = |why: io::Error| match why.kind() {
        ErrorKind::PermissionDenied => PlaceFault::Refused(why.to_string()),
        _ => PlaceFault::Unreachable(why.to_string()),
    };
    let file = match File::open(folder.join(path)) {
        Ok(file) => file,
        // A share that is not mounted must not pass for a fleet that has published nothing.
        Err(why) if why.kind() == ErrorKind::NotFound && !folder.exists() => {
            return Err(PlaceFault::Unreachable("the folder is not there".into()));
        }
        Err(why) if why.kind() == ErrorKind::NotFound => return Ok(PlacedObject::Missing),
        Err(why) => return Err(failed(why)),
    };
    let about = file.metadata().map_err(failed)?;
    let fresh = format!("{}-{}-{}-{}", about.ino(), about.mtime(), about.mtime_nsec(), about.len());
    if tag == Some(fresh.as_str()) {
        return Ok(PlacedObject::Same);
    }
    let mut bytes = Vec::new();
    file.take(most as u64 + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() > most {
        return Err(PlaceFault::TooLarge(most));
    }
    Ok(PlacedObject::Found { bytes, tag: Some(fresh), server_time: None })
}

/// Writes a file, with folders of its own; the place itself is made by [`BundleClient::prepare`]
/// alone, as what is written below a share that is not mounted is lost to the fleet, and in its
/// way.
fn write_file(place: &Path, name: &str, bytes: &[u8]) -> Result<(), PlaceFault> {
    let path = &place.join(name);
    let within = Path::new(name).parent().unwrap_or(Path::new("")).components();
    let write = || {
        let mut folder = place.to_path_buf();
        for part in within {
            folder.push(part);
            match std::fs::create_dir(&folder) {
                Err(why) if why.kind() != ErrorKind::AlreadyExists => return Err(why),
                Ok(()) | Err(_) => {}
            }
        }
        let file = FileReplacement {
            path,
            // Edges of other users read it; nothing secret is in it unsealed.
            access: FileAccess::Public,
            draft: DraftName::Hidden,
            durability: NameDurability::Tried,
        };
        file.write(bytes)
    };
    write().map(drop).map_err(|why: io::Error| match why.kind() {
        ErrorKind::NotFound => PlaceFault::Unreachable("the folder is not there".into()),
        _ => PlaceFault::Refused(why.to_string()),
    })
}

impl fmt::Display for PlaceFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable(why) | Self::Refused(why) => f.write_str(why),
            Self::TooLarge(most) => write!(f, "it has more than {most} bytes"),
        }
    }
}

impl std::error::Error for PlaceFault {}
