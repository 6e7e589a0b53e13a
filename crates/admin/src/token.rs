//! The token: who knows it may do everything.
//!
//! Made once, of 32 random bytes, and kept in `admin.token` in the state folder, readable for the
//! owner only. It is compared in constant time and never printed by this crate. Opened by the
//! binary; asked by the gate.

use crate::secret_file;
use accounts::random_digits;
use std::fmt;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The file in the state folder.
pub const TOKEN_FILE: &str = "admin.token";

/// The file beside it with the token that opens the metrics page alone.
pub const METRICS_TOKEN_FILE: &str = "admin.metrics-token";

/// Bytes of a token as text: 32 random bytes in hexadecimal.
const TEXT_BYTES: usize = 64;
/// A token that somebody wrote by hand has at least so many characters, and at most so many.
const CUSTOM_TOKEN_LENGTHS: std::ops::RangeInclusive<usize> = 32..=256;

/// The token.
#[derive(Clone)]
pub struct AdminToken(Box<str>);

/// Why there is no token.
#[derive(Debug)]
pub enum TokenError {
    /// The file cannot be read or written.
    Io(PathBuf, io::Error),
    /// What stands in the file is no token.
    Malformed(PathBuf),
    /// The system gives no random bytes.
    Random(String),
}

impl AdminToken {
    /// Reads the token of a state folder, or makes one. A file that others can read is closed to
    /// them.
    pub fn open(state_dir: &Path) -> Result<Self, TokenError> {
        Self::open_file(state_dir.join(TOKEN_FILE))
    }

    /// The token for the metrics page, read or made in the same way. Where that cannot be done, one
    /// for this run alone, which nobody knows.
    pub fn open_for_metrics(state_dir: &Path) -> Result<Self, TokenError> {
        match Self::open_file(state_dir.join(METRICS_TOKEN_FILE)) {
            Err(TokenError::Io(..) | TokenError::Malformed(_)) => Ok(Self(random_hex()?.into())),
            opened => opened,
        }
    }

    fn open_file(path: PathBuf) -> Result<Self, TokenError> {
        let failed = |error| TokenError::Io(path.clone(), error);
        match fs::read_to_string(&path) {
            Ok(text) => {
                let text = text.trim();
                if !is_token(text) {
                    return Err(TokenError::Malformed(path));
                }
                if fs::metadata(&path).map_err(failed)?.permissions().mode() & 0o077 != 0 {
                    fs::set_permissions(&path, Permissions::from_mode(0o600)).map_err(failed)?;
                }
                Ok(Self(text.into()))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let token = Self(random_hex()?.into());
                let line = format!("{}\n", token.0);
                secret_file::replace(&path, line.as_bytes()).map_err(failed)?;
                Ok(token)
            }
            Err(error) => Err(failed(error)),
        }
    }

    /// Reason why what stands in a state folder is no token; none where nothing stands there.
    pub fn find_error(state_dir: &Path) -> Option<TokenError> {
        let path = state_dir.join(TOKEN_FILE);
        match fs::read_to_string(&path) {
            Ok(text) if is_token(text.trim()) => None,
            Ok(_) => Some(TokenError::Malformed(path)),
            Err(why) if why.kind() == io::ErrorKind::NotFound => None,
            Err(why) => Some(TokenError::Io(path, why)),
        }
    }

    /// The token of a state folder, whatever stands there. What is no token is set aside and
    /// another made; one that cannot be read or written is made for this run alone, and nobody
    /// knows it. The text says so.
    pub fn open_or_make(state_dir: &Path) -> Result<(Self, Option<String>), TokenError> {
        let why = match Self::open(state_dir) {
            Ok(token) => return Ok((token, None)),
            Err(why @ TokenError::Random(_)) => return Err(why),
            Err(why @ (TokenError::Malformed(_) | TokenError::Io(..))) => why,
        };
        let path = state_dir.join(TOKEN_FILE);
        let aside = path.with_extension("token.damaged");
        if matches!(why, TokenError::Malformed(_))
            && fs::rename(&path, &aside).is_ok()
            && let Ok(token) = Self::open(state_dir)
        {
            let kept = aside.display();
            let told = format!("{}: no token stood there; it is kept as {kept}", path.display());
            return Ok((token, Some(format!("{told}, and another was made"))));
        }
        let told = format!("{why}; until a restart the dashboard and the API cannot be used");
        Ok((Self(random_hex()?.into()), Some(told)))
    }

    /// The text, for the line that the binary prints at the start.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// True if `guess` is the token, in a time that tells nothing of how much of it is right.
    pub fn is(&self, guess: &str) -> bool {
        let (own, guess) = (self.0.as_bytes(), guess.as_bytes());
        if own.len() != guess.len() {
            return false;
        }
        let differing = own.iter().zip(guess).fold(0, |bits, (a, b)| bits | (a ^ b));
        std::hint::black_box(differing) == 0
    }
}

fn is_token(text: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    CUSTOM_TOKEN_LENGTHS.contains(&text.len()) && text.chars().all(fits)
}

/// 32 random bytes in hexadecimal.
pub(crate) fn random_hex() -> Result<String, TokenError> {
    random_digits::<{ TEXT_BYTES / 2 }>().map_err(|error| TokenError::Random(error.to_string()))
}

impl fmt::Debug for AdminToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

impl fmt::Display for TokenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(path, error) => write!(
                f,
                "{}: {error}; give this user the right to it, or name another folder with --state",
                path.display()
            ),
            Self::Malformed(path) => write!(
                f,
                "{}: it holds no token; delete the file to have a new one made",
                path.display()
            ),
            Self::Random(why) => write!(f, "no random bytes for the admin token: {why}"),
        }
    }
}

impl std::error::Error for TokenError {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Folder;

    #[test]
    fn a_token_is_made_once_for_its_owner_only() {
        let folder = Folder::new();
        let made = AdminToken::open(folder.path()).unwrap();
        assert_eq!(made.as_str().len(), TEXT_BYTES);
        let path = folder.path().join(TOKEN_FILE);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        let read = AdminToken::open(folder.path()).unwrap();
        assert!(made.is(read.as_str()));
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(!format!("{made:?}").contains(made.as_str()));
    }

    #[test]
    fn only_the_whole_token_is_the_token() {
        let token = AdminToken("abcdef".into());
        assert!(token.is("abcdef"));
        for wrong in ["", "abcde", "abcdeg", "abcdefg", "ABCDEF"] {
            assert!(!token.is(wrong), "{wrong}");
        }
    }

    #[test]
    fn an_empty_token_file_is_an_error_with_its_remedy() {
        let folder = Folder::new();
        fs::write(folder.path().join(TOKEN_FILE), "\n").unwrap();
        let error = AdminToken::open(folder.path()).unwrap_err();
        assert!(error.to_string().contains("delete the file"));
    }
}
