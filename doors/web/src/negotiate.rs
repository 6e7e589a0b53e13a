//! In which form a file goes to a client: as it is, or in the coding that the client likes best.
//!
//! `quick` gets what is ready to be sent, `request` has made what is not, and keeps it ready for the
//! next. It opens no file but those that stand precompressed beside another. Called by both.

use crate::answer::{Form as Sent, Meta, Source};
use crate::compress::{Compress, Form, Input, Plan};
use crate::path::Target;
use crate::root::{Facts, Found};
use crate::site::Site;
use crate::store::{FILE_BYTES_MAX, Form as KeptForm, Kept, Place};
use http::request;
use http_engine::encoding::{Accepted, Coding};
use rustix::fd::OwnedFd;
use std::sync::Arc;
use vocab::Now;

/// The form of a kept file that is due, if it is ready. `accepts` is the `Accept-Encoding` field.
pub(crate) fn at_hand(
    site: &Site,
    kept: Arc<Kept>,
    accepts: Option<&str>,
    now: Now,
) -> Option<Arc<Kept>> {
    let Some(compress) = &site.compress else { return Some(kept) };
    if kept.meta.form != Sent::Negotiable {
        return Some(kept);
    }
    let accepted = Accepted::of_lists(accepts.into_iter());
    match compress.plan_whole(accepted, kept.meta.len) {
        Plan::Never | Plan::AsItIs => Some(kept),
        Plan::Coded(coding) => {
            site.store.get(kept.url()?, KeptForm::Coded(coding), &site.root, now)
        }
    }
}

/// The file in the form that the client likes best.
pub(crate) async fn coded(site: &Site, source: Source, head: &request::Parts, now: Now) -> Source {
    let Some(compress) = &site.compress else { return source };
    let meta = source.meta();
    if meta.form != Sent::Negotiable {
        return source;
    }
    let tag = meta.validators.etag.as_ref();
    let Plan::Coded(coding) = compress.plan(&head.headers, &meta.media, meta.len, tag) else {
        return source;
    };
    if let Source::Kept(kept) = &source
        && let Some(url) = kept.url()
        && let Some(ready) = site.store.get(url, KeptForm::Coded(coding), &site.root, now)
    {
        return Source::Kept(ready);
    }
    let form = form(site, compress, &source, coding, now).await;
    match form {
        Form::AsItIs => source,
        Form::NotWorth => {
            if let Source::Kept(kept) = &source {
                let same = Kept::new(kept.meta.clone(), kept.body.clone(), &site.rules);
                keep(site, kept, coding, same, now);
            }
            source
        }
        Form::Bytes(coding, level, bytes) => {
            let meta = Box::new(source.meta().coded(coding, level, bytes.len() as u64));
            match &source {
                Source::Kept(kept) if bytes.len() as u64 <= FILE_BYTES_MAX => {
                    let made = Kept::new((*meta).clone(), bytes.clone(), &site.rules);
                    let ready = keep(site, kept, coding, made, now);
                    ready.map_or(Source::Coded(bytes, meta), Source::Kept)
                }
                Source::Kept(_) | Source::Open(..) | Source::Coded(..) => {
                    Source::Coded(bytes, meta)
                }
            }
        }
        Form::Side(coding, open, facts) => precompressed(site, &source, coding, (open, facts), now),
    }
}

async fn form(site: &Site, compress: &Compress, source: &Source, coding: Coding, now: Now) -> Form {
    let meta = source.meta();
    let id = meta.facts.id();
    if let Some(form) = compress.at_hand(coding, id, now) {
        return form;
    }
    let precompressed =
        |coding: Coding| match site.root.find(beside(&meta.file, coding).path(), now) {
            Ok(Found::File(open, _)) => Some(open),
            Ok(Found::Folder) | Err(_) => None,
        };
    let input = || match source {
        Source::Kept(kept) => Some(Input::Read(kept.body.clone())),
        Source::Open(file, _) => file.try_clone().ok().map(Input::Open),
        // It is coded already.
        Source::Coded(..) => None,
    };
    compress.form(coding, input, id, now, precompressed).await
}

/// Keeps what was made of a kept file ready for the next who asks.
fn keep(site: &Site, plain: &Kept, coding: Coding, made: Kept, now: Now) -> Option<Arc<Kept>> {
    let has_sides = site.compress.as_ref().is_some_and(Compress::has_sides);
    let sides: &[Target] = if has_sides { &[beside(&plain.meta.file, coding)] } else { &[] };
    site.store.keep_made(plain, (coding, sides), made, &site.root, now)
}

/// The file that stands coded beside another.
fn precompressed(
    site: &Site,
    plain: &Source,
    coding: Coding,
    (open, facts): (OwnedFd, Facts),
    now: Now,
) -> Source {
    let of = plain.meta();
    let file = beside(&of.file, coding);
    let meta = |facts: Facts| {
        let mut meta = Meta::new(facts, of.media.clone(), &of.path, file.clone());
        meta.form = Sent::Coded(coding);
        meta
    };
    if let Source::Kept(kept) = plain
        && let Some(url) = kept.url()
        && facts.len <= FILE_BYTES_MAX
    {
        let before = [of.file.clone()];
        let form = KeptForm::Coded(coding);
        let place = Place { url, form, file: &file, before: &before, with: Some(&**kept) };
        let ready = site.store.keep(&place, (&open, facts), (&site.root, &site.rules), meta, now);
        if let Some(ready) = ready {
            return Source::Kept(ready);
        }
    }
    Source::Open(open, Box::new(meta(facts)))
}

/// Where a file would stand precompressed.
fn beside(file: &Target, coding: Coding) -> Target {
    file.with_extension(coding.extension())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compress::CompressChoice;
    use crate::look::{Stands, look};
    use crate::settings::SiteSettings;
    use crate::site::{Logs, SiteContext};
    use crate::store::Watcher;

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
        let watcher = Watcher::start();
        let (logs, private) = (Logs::Leave, Arc::default());
        let context = SiteContext { base: &root, logs, private: &private, watcher: &watcher };
        let site = Site::open((0, &settings), &context).unwrap();
        let now = transport::clock::now();
        let target = Target::parse("/a.css").unwrap();
        let kept = || match look(&site, "/a.css", &target, now) {
            Stands::File(Source::Kept(kept)) => kept,
            _ => panic!("a small file is kept"),
        };
        assert!(at_hand(&site, kept(), Some("gzip"), now).is_none());
        let asked =
            http::Request::get("/a.css").header("accept-encoding", "gzip").body(()).unwrap();
        let made = coded(&site, Source::Kept(kept()), &asked.into_parts().0, now).await;
        assert!(matches!(made, Source::Kept(_)));
        let ready = at_hand(&site, kept(), Some("gzip"), now).expect("it was kept");
        assert!(ready.meta.form == Sent::Coded(Coding::Gzip) && ready.body.len() < 100);
        let plain = at_hand(&site, kept(), None, now).expect("it is the file itself");
        assert_eq!(plain.body.len(), 3000);
        std::fs::remove_dir_all(&root).unwrap();
    }
}
