//! Compression of files, without a socket.

use super::*;
use ::settings::Text;
use http::header::{ACCEPT_ENCODING, IF_RANGE};
use rustix::fs::{CWD, Mode, OFlags, Timespec, Timestamps, futimens, openat};
use std::path::PathBuf;
use std::sync::atomic::AtomicUsize;
use vocab::ByteSize;

const NOW: Now = Now { unix_ms: 1_800_000_000_000, mono_ms: 5_000 };

struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name =
            format!("tidegate-compress-{}-{}", std::process::id(), COUNT.fetch_add(1, Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn write(&self, name: &str, content: &[u8]) -> (OwnedFd, FileId) {
        std::fs::write(self.0.join(name), content).unwrap();
        self.open(name).unwrap()
    }

    fn open(&self, name: &str) -> Option<(OwnedFd, FileId)> {
        let file = openat(CWD, self.0.join(name), OFlags::RDONLY, Mode::empty()).ok()?;
        let id = FileFacts::new(&fstat(&file).unwrap()).id();
        Some((file, id))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn set_time(file: &OwnedFd, secs: i64) {
    let time = Timespec { tv_sec: secs, tv_nsec: 0 };
    futimens(file, &Timestamps { last_access: time, last_modification: time }).unwrap();
}

fn input(file: &OwnedFd) -> Option<CodingInput> {
    file.try_clone().ok().map(CodingInput::Open)
}

fn on() -> SiteCompression {
    SiteCompression::new(CompressSettings::default())
}

fn plan(compress: &SiteCompression, fields: &[(http::HeaderName, &str)], len: u64) -> CodingPlan {
    let headers = fields.iter().map(|(name, it)| (name.clone(), it.parse().unwrap())).collect();
    let tag = ETag::strong("t").unwrap();
    compress.plan(&headers, &HeaderValue::from_static("text/css"), len, Some(&tag))
}

#[test]
fn the_request_and_the_file_decide_together() {
    let compress = on();
    assert_eq!(
        plan(&compress, &[(ACCEPT_ENCODING, "gzip, br")], 1000),
        CodingPlan::Coded(ContentCoding::Brotli)
    );
    assert_eq!(plan(&compress, &[(ACCEPT_ENCODING, "gzip, br")], 100), CodingPlan::Identity);
    assert_eq!(plan(&compress, &[], 1000), CodingPlan::Identity);
    assert_eq!(plan(&compress, &[(ACCEPT_ENCODING, "gzip")], 0), CodingPlan::Never);
    let picture = HeaderValue::from_static("image/png");
    assert_eq!(compress.plan(&HeaderMap::new(), &picture, 1000, None), CodingPlan::Never);
    let refused = [(ACCEPT_ENCODING, "gzip, identity;q=0")];
    assert_eq!(plan(&compress, &refused, 100), CodingPlan::Coded(ContentCoding::Gzip));
}

#[test]
fn a_range_is_of_the_file_unless_the_client_holds_the_coded_one() {
    let compress = on();
    let gzip = (ACCEPT_ENCODING, "gzip");
    let range = (RANGE, "bytes=5-");
    assert_eq!(plan(&compress, &[gzip.clone(), range.clone()], 1000), CodingPlan::Identity);
    let held = (IF_RANGE, "\"t-gz1\"");
    assert_eq!(
        plan(&compress, &[gzip.clone(), range.clone(), held], 1000),
        CodingPlan::Coded(ContentCoding::Gzip)
    );
    assert_eq!(plan(&compress, &[gzip, range, (IF_RANGE, "\"t\"")], 1000), CodingPlan::Identity);
}

#[tokio::test]
async fn a_file_is_coded_once_however_many_ask() {
    let (folder, compress) = (Folder::new(), on());
    let (file, id) = folder.write("a.css", &b"body { margin: 0 }\n".repeat(500));
    let ask = || compress.form(ContentCoding::Gzip, || input(&file), id, NOW, |_| None);
    let (one, two, three) = tokio::join!(ask(), ask(), ask());
    for form in [one, two, three] {
        assert!(
            matches!(form, SentForm::Bytes(ContentCoding::Gzip, _, bytes) if bytes.len() < 1000)
        );
    }
    assert!(matches!(compress.cached(ContentCoding::Gzip, id, NOW), Some(SentForm::Bytes(..))));
    assert_eq!(compress.made(), 1);
    // After a while a precompressed file may have appeared.
    let later = Now { mono_ms: NOW.mono_ms + PRECOMPRESSED_CHECK_MS, ..NOW };
    assert!(compress.cached(ContentCoding::Gzip, id, later).is_none());
    compress.form(ContentCoding::Gzip, || input(&file), id, later, |_| None).await;
    assert!(compress.cached(ContentCoding::Gzip, id, later).is_some());
    assert_eq!(compress.made(), 1);
}

#[tokio::test]
async fn what_does_not_get_smaller_is_remembered() {
    let (folder, compress) = (Folder::new(), on());
    let (mut noise, mut state) = (Vec::new(), 1_u64);
    for _ in 0..5_000 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        noise.push((state >> 56) as u8);
    }
    let (file, id) = folder.write("noise.txt", &noise);
    for _ in 0..2 {
        let form = compress.form(ContentCoding::Zstd, || input(&file), id, NOW, |_| None).await;
        assert!(matches!(form, SentForm::NotWorth));
    }
    assert_eq!(compress.made(), 1);
}

#[tokio::test]
async fn a_precompressed_file_counts_unless_it_is_older() {
    let (folder, compress) = (Folder::new(), on());
    let (file, _) = folder.write("a.css", &b"p { color: red }\n".repeat(50));
    set_time(&file, 1_000);
    let (_, id) = folder.open("a.css").unwrap();
    let (side, _) = folder.write("a.css.gz", b"made by hand");
    let open = |coding: ContentCoding| {
        folder.open(&format!("a.css.{}", coding.extension())).map(|it| it.0)
    };
    set_time(&side, 1_000);
    let form = compress.form(ContentCoding::Gzip, || input(&file), id, NOW, open).await;
    assert!(
        matches!(form, SentForm::Precompressed(ContentCoding::Gzip, _, facts) if facts.len == 12)
    );
    set_time(&side, 999);
    let form = compress.form(ContentCoding::Gzip, || input(&file), id, NOW, open).await;
    assert!(matches!(form, SentForm::Bytes(..)), "{form:?}");
}

#[tokio::test]
async fn a_file_that_changed_is_not_mistaken_for_what_it_was() {
    let (folder, compress) = (Folder::new(), on());
    let (file, id) = folder.write("a.css", &b"old old old ".repeat(100));
    let (_, changed) = folder.write("a.css", &b"new new ".repeat(100));
    assert_ne!(id, changed);
    let form = compress.form(ContentCoding::Gzip, || input(&file), id, NOW, |_| None).await;
    assert!(matches!(form, SentForm::Identity), "the identity is of a file that is gone");
    assert_eq!(compress.made(), 0);
}

#[tokio::test]
async fn the_memory_for_coded_files_is_bounded() {
    let keep = Text(ByteSize(64 << 10));
    let (folder, compress) = (
        Folder::new(),
        SiteCompression::new(CompressSettings { keep, ..CompressSettings::default() }),
    );
    for number in 0..200_u32 {
        let mut state = number;
        let text: String = (0..2_000)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                char::from(b'a' + (state >> 28) as u8)
            })
            .collect();
        let (file, id) = folder.write(&format!("{number}.txt"), text.as_bytes());
        compress.form(ContentCoding::Gzip, || input(&file), id, NOW, |_| None).await;
        assert!(compress.kept.bytes() <= 64 << 10);
    }
    assert_eq!(compress.made(), 200);
}
