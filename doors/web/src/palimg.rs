//! Images with another palette by URL: `/palimg/NAME.gif/p1ff0000`, as Perlbal's Palimg has them.
//!
//! The image is looked up like a request of its own, held against the policy by `request` and
//! behind its password; what it has for a palette is changed in a copy. Called by `visit`.

use crate::answer::FileSource;
use crate::concat;
use crate::look::{self, PathContent};
use crate::outcome::WebOutcome;
use crate::path::PathTarget;
use crate::root::NotOpened;
use crate::settings::written::SiteSwitch;
use crate::site::Site;
use bytes::BytesMut;
use image_palette::{PaletteChange, PaletteImage};
use vocab::Now;

/// The folder whose images are changed, from the site's beginning.
const FOLDER: &str = "palimg/";
/// Bytes of the largest image: it stands in memory.
const BYTES_MAX: u64 = 8 << 20;

/// An image, and the change that a URL wants of it.
pub(crate) struct RecolouredImage {
    pub(crate) target: PathTarget,
    image: PaletteImage,
    /// Nothing where the last segment says none.
    change: Option<PaletteChange>,
    /// The last segment, which tells one form of the image from another.
    spec: String,
}

/// The image that a path asks for; none for an ordinary path.
pub(crate) fn asked(site: &Site, target: &PathTarget) -> Option<RecolouredImage> {
    if site.palimg == SiteSwitch::Off {
        return None;
    }
    let (above, spec) = target.split_last()?;
    let path = above.text();
    let name = path.strip_prefix(&*site.path)?.strip_prefix(FOLDER)?;
    let image = PaletteImage::of_name(name).filter(|_| !name.contains('/'))?;
    let (change, spec) = (PaletteChange::parse(&spec), spec.into_owned());
    Some(RecolouredImage { target: above.clone(), image, change, spec })
}

/// The image with its palette changed.
pub(crate) async fn recolour(site: &Site, wanted: &RecolouredImage, now: Now) -> WebOutcome {
    let Some(change) = &wanted.change else { return WebOutcome::NotOpened(NotOpened::NotFound) };
    let source = match look::look(site, &wanted.target.as_url(), &wanted.target, now) {
        PathContent::File(source) if *source.meta().path == *wanted.target.text() => source,
        PathContent::NotFound(why) => return WebOutcome::NotOpened(why),
        PathContent::File(_)
        | PathContent::Script(_)
        | PathContent::Program(_)
        | PathContent::Slash
        | PathContent::Folder(_)
        | PathContent::Unlisted => return WebOutcome::NotOpened(NotOpened::NotFound),
    };
    let meta = source.meta().clone();
    if meta.len > BYTES_MAX {
        return WebOutcome::NotOpened(NotOpened::NotFound);
    }
    let Some(bytes) = concat::bytes(source).await else {
        return WebOutcome::NotOpened(NotOpened::Failed);
    };
    let mut image = BytesMut::from(bytes);
    if wanted.image.recolour(&mut image, change).is_err() {
        return WebOutcome::NotOpened(NotOpened::NotFound);
    }
    let meta = meta.tagged(&wanted.spec);
    WebOutcome::File(FileSource::Coded(image.freeze(), Box::new(meta)))
}
