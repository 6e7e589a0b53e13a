//! From the path of a URL to a path below a site's root.
//!
//! Decoded once, never twice. What could name something outside the root, or something hidden, is
//! refused here by its form; `root` has the kernel refuse it again. Pure. Called by `request`.

use percent_encoding::{AsciiSet, CONTROLS, percent_encode};
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
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

/// What is asked for below the root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    /// Relative, without empty segments; empty for the root itself.
    path: OsString,
    /// Whether the URL ends in a slash.
    form: Form,
}

/// What the URL takes its target for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// It ends in a slash.
    Folder,
    /// It does not.
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
    /// A segment `..`.
    Parent,
    /// A name that begins with a dot.
    Hidden,
    /// No path at all: `*`.
    NotAPath,
}

impl BadPath {
    /// Whether the path is nonsense (400), or names what is not served (404).
    pub(crate) const fn is_nonsense(self) -> bool {
        match self {
            Self::Encoding | Self::Nul | Self::EncodedSlash | Self::Parent | Self::NotAPath => true,
            Self::Hidden => false,
        }
    }
}

impl Target {
    /// Reads the path of a URL, without its query.
    pub(crate) fn parse(path: &str) -> Result<Self, BadPath> {
        let inside = path.strip_prefix('/').ok_or(BadPath::NotAPath)?;
        let form =
            if inside.is_empty() || inside.ends_with('/') { Form::Folder } else { Form::File };
        let mut target: Vec<u8> = Vec::with_capacity(inside.len());
        // Several slashes count as one.
        for segment in inside.split('/').filter(|segment| !segment.is_empty()) {
            let begin = if target.is_empty() { 0 } else { target.len() + 1 };
            if begin > 0 {
                target.push(b'/');
            }
            decode(segment, &mut target)?;
            check(&target[begin..], begin == 0)?;
        }
        Ok(Self { path: OsString::from_vec(target), form })
    }

    pub(crate) fn path(&self) -> &Path {
        Path::new(&self.path)
    }

    pub(crate) const fn form(&self) -> Form {
        self.form
    }

    /// The index page of this folder.
    pub(crate) fn index(&self) -> Self {
        let path = self.path().join("index.html").into_os_string();
        Self { path, form: Form::File }
    }

    /// The path of the URL that has this as a folder.
    pub(crate) fn as_folder_url(&self) -> String {
        format!("/{}/", percent_encode(self.path.as_bytes(), ENCODED))
    }

    /// The name of the file, for its type.
    pub(crate) fn file_name(&self) -> &Path {
        Path::new(self.path().file_name().unwrap_or(OsStr::new("")))
    }
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

/// `segment` is decoded; `is_first` says whether it stands directly below the root.
fn check(segment: &[u8], is_first: bool) -> Result<(), BadPath> {
    match segment {
        b".." => Err(BadPath::Parent),
        // RFC 8615: meant for the public.
        b".well-known" if is_first => Ok(()),
        [b'.', ..] => Err(BadPath::Hidden),
        _ => Ok(()),
    }
}

impl fmt::Display for BadPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Encoding => "The path is not encoded as a URL should be",
            Self::Nul => "The path holds a NUL",
            Self::EncodedSlash => "The path holds an encoded slash",
            Self::Parent => "The path leads upwards",
            Self::Hidden => "Hidden files are not served",
            Self::NotAPath => "The request names no path",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_path(url: &str, expected: &str, form: Form) {
        let target = Target::parse(url).unwrap();
        assert_eq!((target.path(), target.form()), (Path::new(expected), form), "{url}");
    }

    #[test]
    fn a_path_is_decoded_once_and_made_relative() {
        check_path("/", "", Form::Folder);
        check_path("//", "", Form::Folder);
        check_path("/a/b.txt", "a/b.txt", Form::File);
        check_path("/a//b/", "a/b", Form::Folder);
        check_path("/%61%20b", "a b", Form::File);
        check_path("/%2561", "%61", Form::File);
        check_path("/.well-known/x", ".well-known/x", Form::File);
        check_path("/a..b/c.", "a..b/c.", Form::File);
    }

    #[test]
    fn what_leads_out_or_is_hidden_is_refused() {
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
            ("/.git/config", BadPath::Hidden),
            ("/a/.env", BadPath::Hidden),
            ("/a/.well-known/x", BadPath::Hidden),
            ("/./a", BadPath::Hidden),
            ("*", BadPath::NotAPath),
            ("", BadPath::NotAPath),
        ] {
            assert_eq!(Target::parse(url), Err(why), "{url}");
        }
    }

    #[test]
    fn a_redirect_stays_on_the_site() {
        let folder = |url| Target::parse(url).unwrap().as_folder_url();
        assert_eq!(folder("/a%20b"), "/a%20b/");
        assert_eq!(folder("//evil.example"), "/evil.example/");
        assert_eq!(folder("/%5cevil.example"), "/%5Cevil.example/");
        assert_eq!(folder("/a%0d%0aX: y"), "/a%0D%0AX:%20y/");
        assert_eq!(folder("/%C3%BC%25"), "/%C3%BC%25/");
    }
}
