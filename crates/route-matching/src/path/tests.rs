//! How paths are read: every form by example, and all short ones beside other ways to read them.

#![allow(clippy::unwrap_used, reason = "a failed step should stop the test")]

use super::*;

#[test]
fn every_spelling_of_a_path_is_read_as_one() {
    for (path, expected) in [
        ("/", "/"),
        ("/a/b.css", "/a/b.css"),
        ("/%61%2Db%5f%7E", "/a-b_~"),
        ("//a///b//", "/a/b/"),
        ("/a/./b/../c", "/a/c"),
        ("/a/%2e/b/%2E%2e/c", "/a/c"),
        ("/a/..", "/"),
        ("/a/b/..", "/a/"),
        ("/a/.", "/a/"),
        ("/a%20b%c3%bc", "/a%20b%C3%BC"),
        ("/a b\u{fc}[|]", "/a%20b%C3%BC%5B%7C%5D"),
        ("/a%3bb;c", "/a%3Bb;c"),
        ("/...;/x", "/...;/x"),
        ("/.well-known/x", "/.well-known/x"),
        ("/.../.a/..b", "/.../.a/..b"),
        ("/%252e%252e/", "/%252e%252e/"),
        ("/a/x/.././b", "/a/b"),
    ] {
        let read = RequestPath::read(path).unwrap();
        assert_eq!(read.as_url(), expected, "{path}");
        assert_eq!(RequestPath::read(expected).unwrap().as_url(), expected, "again: {path}");
    }
}

#[test]
fn what_two_could_read_differently_is_refused() {
    for (path, why) in [
        ("*", BadPath::NotAPath),
        ("", BadPath::NotAPath),
        ("/a%2", BadPath::Encoding),
        ("/a%", BadPath::Encoding),
        ("/a%zz", BadPath::Encoding),
        ("/%+1", BadPath::Encoding),
        ("/a%2Fb", BadPath::EncodedSlash),
        ("/..%2fadmin", BadPath::EncodedSlash),
        ("/a\\b", BadPath::Backslash),
        ("/a%5c..%5Cb", BadPath::Backslash),
        ("/a%00.jpg", BadPath::Control),
        ("/a%0d%0aX:%20y", BadPath::Control),
        ("/a\u{7f}", BadPath::Control),
        ("/%c0%ae%c0%ae/", BadPath::Overlong),
        ("/%e0%80%ae/", BadPath::Overlong),
        ("/%f0%80%80%af", BadPath::Overlong),
        ("/..", BadPath::AboveRoot),
        ("/a/../../b", BadPath::AboveRoot),
        ("/%2e%2e/admin", BadPath::AboveRoot),
        ("/.%2e/admin", BadPath::AboveRoot),
        ("/a//../b", BadPath::EmptyParent),
        ("/a//b/../..", BadPath::EmptyParent),
        ("/a/..;/b", BadPath::DotParameter),
        ("/a/..;x=y/b", BadPath::DotParameter),
        ("/a/.;/b", BadPath::DotParameter),
        ("/a/%2e%2E%3b/b", BadPath::DotParameter),
    ] {
        assert_eq!(RequestPath::read(path), Err(why), "{path}");
    }
}

#[test]
fn routes_see_the_decoded_text() {
    let decoded = |path| RequestPath::read(path).unwrap().decoded().to_owned();
    assert_eq!(decoded("/a%20b%21%2a"), "/a b!*");
    assert_eq!(decoded("/%E4"), "/\u{fffd}");
    assert_eq!(decoded("/%252e"), "/%2e");
}

#[test]
fn parameters_are_taken_off_each_segment() {
    let bare = |path| {
        RequestPath::without_parameters(path, SlashRule::default()).map(|it| it.as_url().to_owned())
    };
    assert_eq!(bare("/admin;a=b/x;c").as_deref(), Some("/admin/x"));
    assert_eq!(bare("/;/admin").as_deref(), Some("/admin"));
    assert_eq!(bare("/a%3Bb"), None);
}

const KEPT: SlashRule = SlashRule { encoded: EncodedSlash::Keep, empty: EmptySegments::Keep };
const DECODED: SlashRule = SlashRule { encoded: EncodedSlash::Decode, empty: EmptySegments::Merge };

#[test]
fn slashes_are_kept_or_decoded_by_the_rule() {
    for (path, kept, decoded) in [
        ("/a%2fb", "/a%2Fb", "/a/b"),
        ("/a%5cb\\c", "/a%5Cb%5Cc", "/a/b/c"),
        ("/%2F", "/%2F", "/"),
        ("/a//b///", "/a//b///", "/a/b/"),
        ("//", "//", "/"),
        ("/a/.//%2e/b", "/a//b", "/a/b"),
        ("/a/..//b", "//b", "/b"),
        ("/a%20%2Fb", "/a%20%2Fb", "/a%20/b"),
        ("/a%252Fb", "/a%252Fb", "/a%252Fb"),
    ] {
        for (rule, expected) in [(KEPT, kept), (DECODED, decoded)] {
            let read = RequestPath::read_by(path, rule).unwrap();
            assert_eq!(read.as_url(), expected, "{path}");
            assert_eq!(RequestPath::read_by(expected, rule).as_ref(), Ok(&read), "again: {path}");
        }
    }
    let read = RequestPath::read_by("/a%20b%2Fc%20d%5C%e4", KEPT).unwrap();
    assert_eq!(read.decoded(), "/a b%2Fc d%5C\u{fffd}");
    for path in
        ["/a%2F../b", "/..%2Fa", "/a/.%5cb", "/a%2f%2e%2E", "/x%2Fy/../a", "/a/..;%2Fb", "/a%2F.;x"]
    {
        let why = RequestPath::read_by(path, KEPT).unwrap_err();
        assert!(matches!(why, BadPath::EncodedDots | BadPath::DotParameter), "{path}: {why}");
    }
    for path in ["/a%2F..%2F..%2Fb", "/%2e%2e%2Fa", "/a//../b", "/a%2F%2F../b", "/a/..;%2Fb"] {
        assert!(RequestPath::read_by(path, DECODED).is_err(), "{path}");
    }
}

/// Pieces of which attacks are made.
const PIECES: [&str; 13] =
    ["/", ".", "..", "%2e", "%2F", "%5c", "\\", ";", "%3b", "%", "2e", "%25", "a"];

/// All paths of so many pieces.
fn paths(pieces: usize) -> Vec<String> {
    let mut all = vec!["/".to_owned()];
    for _ in 0..pieces {
        let longer = all.iter().flat_map(|path| PIECES.map(|piece| format!("{path}{piece}")));
        all = longer.collect();
    }
    all
}

/// Dot segments resolved, empty ones left out; none where that leads above the root.
fn resolved<'s>(segments: impl Iterator<Item = &'s str>, empty: Empty) -> Option<Vec<String>> {
    let mut kept = Vec::new();
    for segment in segments {
        match segment {
            "." => {}
            ".." => drop(kept.pop()?),
            "" if empty == Empty::MergedFirst => {}
            segment => kept.push(segment.to_owned()),
        }
    }
    kept.retain(|segment| !segment.is_empty());
    Some(kept)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Empty {
    MergedFirst,
    MergedLast,
}

#[test]
fn whatever_is_let_in_is_one_path_to_everybody() {
    let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    let mut let_in = 0;
    for path in (1..=5).flat_map(paths) {
        let Ok(read) = RequestPath::read(&path) else { continue };
        let_in += 1;
        let own: Vec<String> =
            decoded(read.as_url()).split('/').skip(1).map(str::to_owned).collect();
        let own: Vec<String> = own.into_iter().filter(|segment| !segment.is_empty()).collect();
        // One decodes first, one merges slashes last, one takes a backslash for a slash.
        let whole = decoded(&path);
        for empty in [Empty::MergedFirst, Empty::MergedLast] {
            let other = resolved(whole.split(['/', '\\']).skip(1), empty);
            assert_eq!(other.as_ref(), Some(&own), "{path}");
        }
        // What a server is sent has nothing left to resolve, with or without parameters.
        let sent = read.as_url();
        for segment in sent.split('/').map(|segment| segment.split(';').next().unwrap_or("")) {
            assert!(!matches!(&*decoded(segment), "." | ".."), "{path}: {sent}");
        }
        assert_eq!(RequestPath::read(sent).as_ref(), Ok(&read), "{path}");
    }
    assert!(let_in > 10_000, "{let_in}");
}

#[test]
fn what_is_kept_has_nothing_left_to_resolve_and_what_is_decoded_is_plain() {
    let whole = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    let (mut kept, mut plain) = (0, 0);
    for path in (1..=5).flat_map(paths) {
        if let Ok(read) = RequestPath::read_by(&path, KEPT) {
            kept += 1;
            let sent = read.as_url();
            for segment in whole(sent).split(['/', '\\']) {
                let name = segment.split(';').next().unwrap_or("");
                assert!(!matches!(name, "." | ".."), "{path}: {sent}");
            }
            assert_eq!(RequestPath::read_by(sent, KEPT).as_ref(), Ok(&read), "{path}");
            // Whoever decodes what goes on gets what rules are held against.
            let decoded = RequestPath::read_by(&path, DECODED).map(|it| it.as_url().to_owned());
            let again = RequestPath::read_by(sent, DECODED).map(|it| it.as_url().to_owned());
            assert_eq!(decoded, again, "{path}: {sent}");
        }
        if let Ok(read) = RequestPath::read_by(&path, DECODED) {
            plain += 1;
            assert_eq!(RequestPath::read(read.as_url()).as_ref(), Ok(&read), "{path}");
        }
    }
    assert!(kept > 10_000 && plain > 10_000, "{kept} {plain}");
}
