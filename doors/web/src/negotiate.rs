//! In which form a file goes to a client: as it is, or in the coding that the client likes best.
//!
//! `quick` gets what is ready to be sent, `request` has made what is not, and keeps it ready for
//! the next. It opens no file but those that stand precompressed beside another. Called by both.

use crate::answer::{FileForm as Sent, FileMeta, FileSource};
use crate::compress::{CodingInput, CodingPlan, SentForm, SiteCompression};
use crate::path::PathTarget;
use crate::root::{FileFacts, FoundFile, FoundPath};
use crate::site::Site;
use crate::store::{FILE_BYTES_MAX, KeptFile, ServedPlace, StoredForm as KeptForm};
use http::request;
use http_engine::encoding::{AcceptedCodings, ContentCoding};
use std::sync::Arc;
use vocab::Now;

/// The form of a kept file that is due, if it is ready. `accepts` is the `Accept-Encoding` field.
pub(crate) fn stored_form(
    site: &Site,
    kept: Arc<KeptFile>,
    accepts: Option<&str>,
    now: Now,
) -> Option<Arc<KeptFile>> {
    let Some(compress) = &site.compress else { return Some(kept) };
    if kept.meta.form != Sent::Negotiable {
        return Some(kept);
    }
    let accepted = AcceptedCodings::of_lists(accepts.into_iter());
    match compress.plan_whole(accepted, kept.meta.len) {
        CodingPlan::Never | CodingPlan::Identity => Some(kept),
        CodingPlan::Coded(coding) => {
            site.store.get(kept.url()?, KeptForm::Coded(coding), &site.root, now)
        }
    }
}

/// The file in the form that the client likes best.
pub(crate) async fn coded(
    site: &Site,
    source: FileSource,
    head: &request::Parts,
    now: Now,
) -> FileSource {
    let Some(compress) = &site.compress else { return source };
    let meta = source.meta();
    if meta.form != Sent::Negotiable {
        return source;
    }
    let tag = meta.validators.etag.as_ref();
    let CodingPlan::Coded(coding) = compress.plan(&head.headers, &meta.media, meta.len, tag) else {
        return source;
    };
    if let FileSource::Kept(kept) = &source
        && let Some(url) = kept.url()
        && let Some(ready) = site.store.get(url, KeptForm::Coded(coding), &site.root, now)
    {
        return FileSource::Kept(ready);
    }
    let form = form(site, compress, &source, coding, now).await;
    match form {
        SentForm::Identity => source,
        SentForm::NotWorth => {
            if let FileSource::Kept(kept) = &source {
                let same = KeptFile::new(kept.meta.clone(), kept.body.clone(), &site.rules);
                keep(site, kept, coding, same, now);
            }
            source
        }
        SentForm::Bytes(coding, level, bytes) => {
            let meta = Box::new(source.meta().coded(coding, level, bytes.len() as u64));
            match &source {
                FileSource::Kept(kept) if bytes.len() as u64 <= FILE_BYTES_MAX => {
                    let made = KeptFile::new((*meta).clone(), bytes.clone(), &site.rules);
                    let ready = keep(site, kept, coding, made, now);
                    ready.map_or(FileSource::Coded(bytes, meta), FileSource::Kept)
                }
                FileSource::Kept(_) | FileSource::Open(..) | FileSource::Coded(..) => {
                    FileSource::Coded(bytes, meta)
                }
            }
        }
        SentForm::Precompressed(coding, open, facts) => {
            precompressed(site, &source, coding, FoundFile { file: open, facts }, now)
        }
    }
}

async fn form(
    site: &Site,
    compress: &SiteCompression,
    source: &FileSource,
    coding: ContentCoding,
    now: Now,
) -> SentForm {
    let meta = source.meta();
    let id = meta.facts.id();
    if let Some(form) = compress.cached(coding, id, now) {
        return form;
    }
    let precompressed = |coding: ContentCoding| match site
        .root
        .find(precompressed_path(&meta.file, coding).path(), now)
    {
        Ok(FoundPath::File(opened)) => Some(opened.file),
        Ok(FoundPath::Folder) | Err(_) => None,
    };
    let input = || match source {
        FileSource::Kept(kept) => Some(CodingInput::Read(kept.body.clone())),
        FileSource::Open(file, _) => file.try_clone().ok().map(CodingInput::Open),
        // It is coded already.
        FileSource::Coded(..) => None,
    };
    compress.form(coding, input, id, now, precompressed).await
}

/// Keeps what was made of a kept file ready for the next who asks.
fn keep(
    site: &Site,
    plain: &KeptFile,
    coding: ContentCoding,
    made: KeptFile,
    now: Now,
) -> Option<Arc<KeptFile>> {
    let has_sides = site.compress.as_ref().is_some_and(SiteCompression::has_precompressed);
    let sides: &[PathTarget] =
        if has_sides { &[precompressed_path(&plain.meta.file, coding)] } else { &[] };
    site.store.keep_encoded(plain, coding, sides, made, &site.root, now)
}

/// The file that stands coded beside another.
fn precompressed(
    site: &Site,
    plain: &FileSource,
    coding: ContentCoding,
    opened: FoundFile,
    now: Now,
) -> FileSource {
    let of = plain.meta();
    let file = precompressed_path(&of.file, coding);
    let meta = |facts: FileFacts| {
        let mut meta = FileMeta::new(facts, of.media.clone(), &of.path, file.clone());
        meta.form = Sent::Coded(coding);
        meta
    };
    if let FileSource::Kept(kept) = plain
        && let Some(url) = kept.url()
        && opened.facts.len <= FILE_BYTES_MAX
    {
        let before = [of.file.clone()];
        let form = KeptForm::Coded(coding);
        let place = ServedPlace { url, form, file: &file, before: &before, with: Some(&**kept) };
        let ready = site.store.keep(&place, &opened, &site.root, &site.rules, meta, now);
        if let Some(ready) = ready {
            return FileSource::Kept(ready);
        }
    }
    FileSource::Open(opened.file, Box::new(meta(opened.facts)))
}

/// Where a file would stand precompressed.
fn precompressed_path(file: &PathTarget, coding: ContentCoding) -> PathTarget {
    file.with_extension(coding.extension())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compress::CompressChoice;
    use crate::look::{PathContent, look};
    use crate::settings::SiteSettings;
    use crate::site::{LogOpening, SiteContext};
    use crate::store::FolderWatcher;

    #[tokio::test]
    async fn what_one_request_has_made_the_next_gets_at_once() {
        let root = std::env::temp_dir().join(format!("tidegate-negotiate-{}", std::process::id()));
        std::fs::create_dir_all(&root).unwrap();
        std::fs::write(root.join("a.css"), "a{}".repeat(1000)).unwrap();
        let settings = SiteSettings {
            root: root.display().to_string(),
            compress: CompressChoice::Switch(true),
            ..SiteSettings::default()
        };
        let watcher = FolderWatcher::start();
        let (logs, private) = (LogOpening::Leave, Arc::default());
        let (private, watcher) = (&private, &watcher);
        let context = SiteContext { base: &root, logs, private, watcher, script_log: None };
        let site = Site::open(0, &settings, &context, None).unwrap();
        let now = transport::clock::now();
        let target = PathTarget::parse("/a.css").unwrap();
        let kept = || match look(&site, "/a.css", &target, now) {
            PathContent::File(FileSource::Kept(kept)) => kept,
            _ => panic!("a small file is kept"),
        };
        assert!(stored_form(&site, kept(), Some("gzip"), now).is_none());
        let asked =
            http::Request::get("/a.css").header("accept-encoding", "gzip").body(()).unwrap();
        let made = coded(&site, FileSource::Kept(kept()), &asked.into_parts().0, now).await;
        assert!(matches!(made, FileSource::Kept(_)));
        let ready = stored_form(&site, kept(), Some("gzip"), now).expect("it was kept");
        assert!(ready.meta.form == Sent::Coded(ContentCoding::Gzip) && ready.body.len() < 100);
        let plain = stored_form(&site, kept(), None, now).expect("it is the file itself");
        assert_eq!(plain.body.len(), 3000);
        std::fs::remove_dir_all(&root).unwrap();
    }
}
