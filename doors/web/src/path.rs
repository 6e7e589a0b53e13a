//! From the path of a URL to a path below a site's root.
//!
//! Decoded once, never twice, and freed of dot segments (RFC 3986 §6.2.2.3). What could name
//! something outside the root is refused here by its form; `root` refuses it again. Pure. Called by
//! `request`, `look`, `rules` and `settings`.

use percent_encoding::{AsciiSet, CONTROLS, PercentEncode, percent_encode};
use std::borrow::Cow;
use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// What a path of a `Location` must not hold as it is (RFC 3986 §3.3), and backslashes, which
/// browsers take for slashes.
const ENCODED: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'[')
    .add(b'\\')
    .add(b']')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// The path of a URL, decoded once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PathTarget {
    /// From the slash, without empty segments; ends in a slash if the URL's path does.
    path: Vec<u8>,
}

/// Tells what the URL takes its target for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PathForm {
    /// Ends in a slash.
    Folder,
    /// Does not.
    File,
}

/// Why a path names nothing that could be served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BadPath {
    /// A `%` without two hexadecimal digits.
    Encoding,
    /// A NUL byte.
    Nul,
    /// A slash written as `%2F`: some would take it for one, others not.
    EncodedSlash,
    /// A segment `..` that leads out of the root.
    Parent,
    /// No path at all: `*`.
    NotAPath,
}

impl BadPath {}

/// The text of the target that a URL's path stands for; as it is where nothing in it is encoded, as
/// in nearly all.
pub(crate) fn plain_text(path: &str) -> Option<Cow<'_, str>> {
    if is_plain(path) {
        return Some(Cow::Borrowed(path));
    }
    let target = PathTarget::parse(path).ok()?;
    Some(Cow::Owned(target.text().into_owned()))
}

/// `true` for a path that is its own normal form, by a look at its bytes; most others are not.
pub(crate) fn is_plain(path: &str) -> bool {
    let bytes = path.as_bytes();
    // A dot behind a slash may be a step up, and two slashes count as one.
    let is_odd = |at: usize| match bytes[at] {
        b'%' => true,
        b'/' => matches!(bytes.get(at + 1), Some(b'/' | b'.')),
        _ => false,
    };
    bytes.first() == Some(&b'/') && path.is_ascii() && !(0..bytes.len()).any(is_odd)
}

impl PathTarget {
    /// Reads the path of a URL, without its query.
    pub(crate) fn parse(path: &str) -> Result<Self, BadPath> {
        let inside = path.strip_prefix('/').ok_or(BadPath::NotAPath)?;
        let mut whole: Vec<u8> = Vec::with_capacity(path.len());
        let mut form = PathForm::Folder;
        // Several slashes count as one.
        for segment in inside.split('/').filter(|segment| !segment.is_empty()) {
            let begin = whole.len();
            whole.push(b'/');
            decode(segment, &mut whole)?;
            form = PathForm::Folder;
            match &whole[begin + 1..] {
                b"." => whole.truncate(begin),
                b".." => {
                    whole.truncate(begin);
                    let above = whole.iter().rposition(|byte| *byte == b'/');
                    whole.truncate(above.ok_or(BadPath::Parent)?);
                }
                _ => form = PathForm::File,
            }
        }
        if form == PathForm::Folder || inside.ends_with('/') {
            whole.push(b'/');
        }
        Ok(Self { path: whole })
    }

    /// A relative path below a root, as it is on disk.
    pub(crate) fn of_path(below: &Path) -> Self {
        Self { path: [b"/", below.as_os_str().as_bytes()].concat() }
    }

    /// The path as text, from the slash; what is no UTF-8 is replaced.
    pub(crate) fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.path)
    }

    /// Relative, without slashes at its ends; empty for the root itself.
    pub(crate) fn path(&self) -> &Path {
        let inside = &self.path[1..];
        Path::new(OsStr::from_bytes(inside.strip_suffix(b"/").unwrap_or(inside)))
    }

    pub(crate) fn form(&self) -> PathForm {
        if self.path.ends_with(b"/") { PathForm::Folder } else { PathForm::File }
    }

    /// The rest of the path below `prefix`, which begins and ends with a slash; none if it stands
    /// elsewhere.
    pub(crate) fn below(&self, prefix: &str) -> Option<Self> {
        let rest = self.path.strip_prefix(prefix.as_bytes())?;
        Some(Self { path: [b"/", rest].concat() })
    }

    /// The other way round: this path below `prefix`, which begins and ends with a slash.
    pub(crate) fn under(&self, prefix: &str) -> Self {
        Self { path: [prefix.as_bytes(), &self.path[1..]].concat() }
    }

    /// The file `name` in this folder.
    pub(crate) fn child(&self, name: &str) -> Self {
        let slash: &[u8] = if self.form() == PathForm::Folder { b"" } else { b"/" };
        Self { path: [&*self.path, slash, name.as_bytes()].concat() }
    }

    /// The path above its last segment, without a slash at its end, and that segment; none for a
    /// folder, and for a file of the root.
    pub(crate) fn split_last(&self) -> Option<(Self, Cow<'_, str>)> {
        let slash = self.path.iter().rposition(|byte| *byte == b'/').filter(|at| *at > 0)?;
        let (above, last) = (&self.path[..slash], &self.path[slash + 1..]);
        let above = Self { path: above.to_vec() };
        (!last.is_empty()).then(|| (above, String::from_utf8_lossy(last)))
    }

    /// The file beside this one whose name has `.extension` behind it.
    pub(crate) fn with_extension(&self, extension: &str) -> Self {
        Self { path: [&*self.path, b".", extension.as_bytes()].concat() }
    }

    /// True if a segment begins with a dot. `.well-known` directly below the root does not count:
    /// it is meant for the public (RFC 8615).
    pub(crate) fn is_hidden(&self) -> bool {
        let mut segments = self.path.split(|byte| *byte == b'/').enumerate();
        segments.any(|(at, segment)| {
            segment.starts_with(b".") && !(at == 1 && segment == b".well-known")
        })
    }

    /// The path as it stands in a URL.
    pub(crate) fn as_url(&self) -> String {
        encoded(&self.path).to_string()
    }

    /// The path of the URL that has this as a folder.
    pub(crate) fn as_folder_url(&self) -> String {
        let slash = if self.form() == PathForm::Folder { "" } else { "/" };
        format!("{}{slash}", encoded(&self.path))
    }

    /// The name of the file, for its type.
    pub(crate) fn file_name(&self) -> &Path {
        Path::new(self.path().file_name().unwrap_or(OsStr::new("")))
    }
}

/// Bytes as they may stand in the path of a URL.
pub(crate) fn encoded(bytes: &[u8]) -> PercentEncode<'_> {
    percent_encode(bytes, ENCODED)
}

fn decode(segment: &str, into: &mut Vec<u8>) -> Result<(), BadPath> {
    let mut bytes = segment.bytes();
    while let Some(byte) = bytes.next() {
        let plain = match byte {
            b'%' => match (bytes.next().and_then(hex), bytes.next().and_then(hex)) {
                (Some(high), Some(low)) => high << 4 | low,
                (None | Some(_), None) | (None, Some(_)) => return Err(BadPath::Encoding),
            },
            plain => plain,
        };
        match plain {
            0 => return Err(BadPath::Nul),
            b'/' => return Err(BadPath::EncodedSlash),
            plain => into.push(plain),
        }
    }
    Ok(())
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).map(|digit| digit as u8)
}

impl fmt::Display for BadPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Encoding => "The path is not encoded as a URL should be",
            Self::Nul => "The path holds a NUL",
            Self::EncodedSlash => "The path holds an encoded slash",
            Self::Parent => "The path leads out of the site",
            Self::NotAPath => "The request names no path",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_path(url: &str, expected: &str, form: PathForm) {
        let target = PathTarget::parse(url).unwrap();
        assert_eq!((target.path(), target.form()), (Path::new(expected), form), "{url}");
    }

    #[test]
    fn a_path_is_decoded_once_and_made_relative() {
        check_path("/", "", PathForm::Folder);
        check_path("//", "", PathForm::Folder);
        check_path("/a/b.txt", "a/b.txt", PathForm::File);
        check_path("/a//b/", "a/b", PathForm::Folder);
        check_path("/%61%20b", "a b", PathForm::File);
        check_path("/%2561", "%61", PathForm::File);
        check_path("/.well-known/x", ".well-known/x", PathForm::File);
        check_path("/a..b/c.", "a..b/c.", PathForm::File);
    }

    #[test]
    fn dot_segments_are_resolved_within_the_root() {
        check_path("/./a", "a", PathForm::File);
        check_path("/dir/./f", "dir/f", PathForm::File);
        check_path("/dir/../a", "a", PathForm::File);
        check_path("/dir/%2e%2E/a", "a", PathForm::File);
        check_path("/a/b/../../c/", "c", PathForm::Folder);
        check_path("/a/.", "a", PathForm::Folder);
        check_path("/a/b/..", "a", PathForm::Folder);
        check_path("/a/..", "", PathForm::Folder);
        check_path("/a//../b", "b", PathForm::File);
        let hidden = |url| PathTarget::parse(url).unwrap().is_hidden();
        assert!(hidden("/a/../.git/x") && hidden("/./.env") && !hidden("/.git/../a"));
    }

    #[test]
    fn what_leads_out_is_refused() {
        for (url, why) in [
            ("/..", BadPath::Parent),
            ("/a/../../etc/passwd", BadPath::Parent),
            ("/%2e%2e/x", BadPath::Parent),
            ("/.%2E/x", BadPath::Parent),
            ("/..%2fx", BadPath::EncodedSlash),
            ("/a%2Fb", BadPath::EncodedSlash),
            ("/a%00", BadPath::Nul),
            ("/a%", BadPath::Encoding),
            ("/a%4", BadPath::Encoding),
            ("/a%zz", BadPath::Encoding),
            ("/./..", BadPath::Parent),
            ("/a/../..", BadPath::Parent),
            ("*", BadPath::NotAPath),
            ("", BadPath::NotAPath),
        ] {
            assert_eq!(PathTarget::parse(url), Err(why), "{url}");
        }
    }

    #[test]
    fn dots_hide_but_for_what_is_well_known() {
        let hidden = |url| PathTarget::parse(url).unwrap().is_hidden();
        for url in ["/.git/config", "/a/.env", "/a/.well-known/x", "/.wellknown", "/%2egit/"] {
            assert!(hidden(url), "{url}");
        }
        for url in ["/", "/a.b/c.", "/.well-known/x", "/.well-known"] {
            assert!(!hidden(url), "{url}");
        }
        assert!(hidden("/.well-known/.x"));
    }

    #[test]
    fn a_path_below_a_prefix_starts_anew() {
        let below =
            |url, prefix| PathTarget::parse(url).unwrap().below(prefix).map(|it| it.as_url());
        assert_eq!(below("/docs/a/", "/docs/"), Some("/a/".into()));
        assert_eq!(below("/docs/", "/docs/"), Some("/".into()));
        assert_eq!(below("/docs", "/docs/"), None);
        assert_eq!(below("/a", "/"), Some("/a".into()));
        assert_eq!(PathTarget::parse("/a/").unwrap().under("/docs/").as_url(), "/docs/a/");
        assert_eq!(PathTarget::parse("/a/").unwrap().child("b").as_url(), "/a/b");
    }

    #[test]
    fn a_redirect_stays_on_the_site() {
        let folder = |url| PathTarget::parse(url).unwrap().as_folder_url();
        assert_eq!(folder("/a%20b"), "/a%20b/");
        assert_eq!(folder("//evil.example"), "/evil.example/");
        assert_eq!(folder("/%5cevil.example"), "/%5Cevil.example/");
        assert_eq!(folder("/a%0d%0aX: y"), "/a%0D%0AX:%20y/");
        assert_eq!(folder("/%C3%BC%25"), "/%C3%BC%25/");
    }
}
