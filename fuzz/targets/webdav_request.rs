//! Any request to write: it gets an answer, and nothing outside the folder changes, nor what the
//! rules keep from sight.
#![no_main]

use bytes::Bytes;
use file_access::beneath::{FolderRoot, SymlinkPolicy};
use file_access::private_files::PrivateFiles;
use http::{HeaderName, HeaderValue, Method, Request};
use http_engine::Body;
use libfuzzer_sys::fuzz_target;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use vocab::Now;
use webdav::{DavFolder, DavLimits, DavMethods, DavRequest, PathRules, PathStanding};

const START: Now = Now { mono_ms: 0, unix_ms: 0 };

struct Rules;

impl PathRules for Rules {
    fn standing(&self, below: &Path) -> PathStanding {
        let mut names = below.iter().filter_map(|name| name.to_str());
        match names.find(|name| matches!(*name, "kept" | "guarded")) {
            Some("kept") => PathStanding::Withheld,
            Some(_) => PathStanding::Guarded,
            None => PathStanding::Open,
        }
    }
}

fn place() -> &'static PathBuf {
    static PLACE: OnceLock<PathBuf> = OnceLock::new();
    PLACE.get_or_init(|| {
        let place = std::env::temp_dir().join(format!("fuzz-webdav-{}", std::process::id()));
        fs::create_dir_all(&place).expect("it can be made");
        fs::write(place.join("outside"), "outside").expect("it can be written");
        place
    })
}

/// The folder as each request finds it.
fn folder() -> DavFolder {
    let www = place().join("www");
    drop(fs::remove_dir_all(&www));
    fs::create_dir_all(www.join("a/b")).expect("it can be made");
    for name in ["file", "a/file", "kept", "guarded"] {
        fs::write(www.join(name), name).expect("it can be written");
    }
    symlink("../outside", www.join("out")).expect("it can be made");
    symlink(".", www.join("a/again")).expect("it can be made");
    let private = Arc::new(PrivateFiles::default());
    let root = FolderRoot::open(&www, SymlinkPolicy::Inside, private, START).expect("it is there");
    let limits = DavLimits { file_max: 10_000, quota: Some(50_000), min_put_directory: Some(0) };
    let tag = |stat: &rustix::fs::Stat| format!("{:x}-{:x}", stat.st_ino, stat.st_size);
    DavFolder::new(Arc::new(root), "/", DavMethods::All, limits, tag)
}

/// A line with method and path, lines of fields, an empty line, a body.
fn request(data: &[u8]) -> Option<Request<Body>> {
    let end = data.windows(2).position(|two| two == b"\n\n")?;
    let mut lines = std::str::from_utf8(&data[..end]).ok()?.lines();
    let (method, path) = lines.next()?.split_once(' ')?;
    let method = Method::from_bytes(method.as_bytes()).ok()?;
    let mut request = Request::new(Body::full(Bytes::copy_from_slice(&data[end + 2..])));
    *request.method_mut() = method;
    *request.uri_mut() = path.starts_with('/').then(|| path.parse().ok())??;
    for line in lines.take(16) {
        let (name, value) = line.split_once(':')?;
        let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
        request.headers_mut().append(name, HeaderValue::from_str(value.trim()).ok()?);
    }
    Some(request)
}

fuzz_target!(|data: &[u8]| {
    let Some(request) = request(data) else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let folder = folder();
    let (head, body) = request.into_parts();
    let rules = Arc::new(Rules);
    let request = DavRequest { head, body, client: "client".into(), rules, now: START };
    runtime.block_on(async {
        let response = folder.answer(request).await;
        assert!(!response.status().is_informational());
        // What is left to do is done while the answer is read.
        let mut body = std::pin::pin!(response.into_body());
        while let Some(Ok(_)) =
            std::future::poll_fn(|task| http_body::Body::poll_frame(body.as_mut(), task)).await
        {}
    });
    let read = |name: &str| fs::read_to_string(place().join(name)).expect("it is there");
    assert_eq!(read("outside"), "outside");
    assert_eq!((read("www/kept"), read("www/guarded")), ("kept".into(), "guarded".into()));
});
