//! Paths of any bytes: one that is read has no dot segment and no empty one, stands in a URL as it
//! is, and is read again as the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use route_matching::RequestPath;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let Ok(path) = RequestPath::read(&text) else { return };
    let sent = path.as_url();
    assert_eq!(RequestPath::read(sent).as_ref(), Ok(&path), "{text:?}");
    let url: http::Uri = sent.parse().expect("it stands in a URL");
    assert_eq!(url.path(), sent);
    let inside = sent.strip_prefix('/').expect("it begins with a slash");
    let segments: Vec<&str> = inside.strip_suffix('/').unwrap_or(inside).split('/').collect();
    for segment in &segments {
        assert!(!matches!(*segment, "." | ".."), "{text:?}");
        assert!(!segment.is_empty() || segments.len() == 1, "{text:?}");
    }
    let decoded = path.decoded();
    assert_eq!(decoded.matches('/').count(), sent.matches('/').count(), "{text:?}");
    assert!(!decoded.contains(|it: char| it == '\\' || it.is_ascii_control()), "{text:?}");
});
