//! Films that begin in their middle: `/a.flv?start=BYTES`, as players of Flash video ask for them.
//!
//! A header of FLV stands before the rest of the file, as nginx's flv module and Perlbal's
//! `FlvStreaming` have it. It looks into no film: `start` is where a tag begins, which players know
//! from the film's own index; `answer` lays out what it finds. Called by `visit` and `fast_path`.

use crate::answer::FileSource;
use crate::settings::written::SiteSwitch;
use crate::site::Site;

/// Ending of the files that are films.
const ENDING: &str = ".flv";
/// The byte at which a request wants a film to begin; none for an ordinary request.
pub(crate) fn begin(site: &Site, path: &str, query: Option<&str>) -> Option<u64> {
    if site.flv == SiteSwitch::Off || !path.ends_with(ENDING) {
        return None;
    }
    start(query?)
}

/// The first `start` of a query, if it is a number over 0.
fn start(query: &str) -> Option<u64> {
    let value = query.split('&').find_map(|it| it.strip_prefix("start="))?;
    let is_number = value.bytes().all(|it| it.is_ascii_digit());
    value.parse().ok().filter(|start| *start > 0 && is_number)
}

/// The film from there on; the whole where it is not so long.
pub(crate) fn from(source: FileSource, begin: u64) -> FileSource {
    if begin >= source.meta().len {
        return source;
    }
    let mut meta = source.meta().tagged(&format!("flv-{begin}"));
    meta.film_begin = Some(begin);
    let meta = Box::new(meta);
    match source {
        FileSource::Kept(kept) => FileSource::Coded(kept.body.clone(), meta),
        FileSource::Open(file, _) => FileSource::Open(file, meta),
        FileSource::Coded(bytes, _) => FileSource::Coded(bytes, meta),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_start_counts_and_must_be_a_number() {
        assert_eq!(start("start=12"), Some(12));
        assert_eq!(start("id=a&start=7&start=8"), Some(7));
        for query in ["", "start", "start=", "start=0", "start=-1", "start=+1", "start=1x"] {
            assert_eq!(start(query), None, "{query}");
        }
        assert_eq!(start("start=99999999999999999999"), None);
        assert_eq!(start("restart=3"), None);
    }
}
