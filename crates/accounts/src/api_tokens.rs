//! API tokens: what programs show instead of a password, each with a scope.
//!
//! A token is shown once, when it is made; the file has its digest. One that a user made goes with
//! the user and never does more than that user may: `admin` sees to that. Asked for each request.

use crate::TOKENS_FILE;
use crate::private_file::{self, lock};
use crate::random_text::{digest, random_digits};
use crate::refusal::{AccountRefusal, TOKENS_MAX};
use crate::role::{UnknownRole, UserRole};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Mutex;
use vocab::Now;

/// Characters of a token's name.
const NAME_LENGTH_MAX: usize = 64;
/// Beginning of every token: people and programs that look for leaked secrets know it by that.
const PREFIX: &str = "tg_";
/// Largest file that is read, in bytes.
const FILE_BYTES_MAX: u64 = TOKENS_MAX as u64 * 1024;
/// Time after which a use is worth writing down, in milliseconds.
const USE_WRITTEN_MS: u64 = 3_600_000;

/// The tokens.
pub struct ApiTokens {
    path: PathBuf,
    stored: Mutex<Vec<StoredToken>>,
    /// Held while the file is written: what was changed last is what stands there.
    writing: Mutex<()>,
}

/// Extent of what a token may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TokenScope {
    /// Reads the metrics page and nothing else.
    Metrics,
    /// All that a user of this role may.
    #[serde(untagged)]
    Role(UserRole),
}

/// A token to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenOrder {
    /// Name that people know it by.
    pub name: String,
    /// Extent of what it may do.
    pub scope: TokenScope,
    /// Owner; none if it is made by the token of the state folder.
    pub owner: Option<String>,
    /// Life in days; none if it has no end.
    pub days: Option<u32>,
}

/// A token, without what is secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenInfo {
    /// Identifier, which opens nothing.
    pub id: String,
    /// Name that people know it by.
    pub name: String,
    /// Extent of what it may do.
    pub scope: TokenScope,
    /// Owner; none if it was made by the token of the state folder.
    pub owner: Option<String>,
    /// The moment of its making, in milliseconds since 1970.
    pub created_ms: u64,
    /// The moment of its end; none if it has none.
    pub expires_ms: Option<u64>,
    /// The moment of its last use; none if it was not used.
    pub used_ms: Option<u64>,
}

/// Extent of a token that was shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenGrant {
    /// Name that people know it by.
    pub name: String,
    /// Extent of what it may do.
    pub scope: TokenScope,
    /// Owner.
    pub owner: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredToken {
    id: String,
    digest: String,
    name: String,
    scope: TokenScope,
    owner: Option<String>,
    created_ms: u64,
    expires_ms: Option<u64>,
    used_ms: Option<u64>,
    /// The last use that the file knows, in milliseconds since 1970.
    #[serde(skip)]
    written_use_ms: u64,
}

impl ApiTokens {
    /// The tokens of a state folder; a file that cannot be understood is set aside and told of.
    pub fn open(state_dir: &Path) -> (Self, Option<String>) {
        let path = state_dir.join(TOKENS_FILE);
        let read = private_file::read(&path, FILE_BYTES_MAX);
        (Self { path, stored: Mutex::new(read.contents), writing: Mutex::default() }, read.trouble)
    }

    /// Makes a token and gives its identifier and its text, which nobody can read again. Writes.
    pub fn make(&self, order: TokenOrder, now: Now) -> Result<(String, String), AccountRefusal> {
        let name = order.name.trim().to_owned();
        if name.is_empty()
            || name.chars().count() > NAME_LENGTH_MAX
            || name.contains(char::is_control)
        {
            return Err(AccountRefusal::BadTokenName);
        }
        let id = random_digits::<6>().map_err(AccountRefusal::Failed)?;
        let secret = random_digits::<32>().map_err(AccountRefusal::Failed)?;
        let text = format!("{PREFIX}{secret}");
        let life_ms = order.days.map(|days| u64::from(days) * 86_400_000);
        let token = StoredToken {
            id: id.clone(),
            digest: digest(&text),
            name,
            scope: order.scope,
            owner: order.owner,
            created_ms: now.unix_ms,
            expires_ms: life_ms.map(|life_ms| now.unix_ms.saturating_add(life_ms)),
            used_ms: None,
            written_use_ms: 0,
        };
        self.change(|tokens| {
            tokens.retain(|it| !it.is_over(now));
            if tokens.len() >= TOKENS_MAX {
                return Err(AccountRefusal::TooManyTokens);
            }
            tokens.push(token);
            Ok(())
        })?;
        Ok((id, text))
    }

    /// Extent of this token; none for a text that is no token, or one that is over.
    pub fn grant(&self, text: &str, now: Now) -> Option<TokenGrant> {
        if !text.starts_with(PREFIX) || text.len() > 128 {
            return None;
        }
        let sum = digest(text);
        let mut tokens = lock(&self.stored);
        let found = tokens.iter_mut().find(|it| it.digest == sum && !it.is_over(now))?;
        found.used_ms = Some(now.unix_ms);
        let (name, owner) = (found.name.clone(), found.owner.clone());
        Some(TokenGrant { name, scope: found.scope, owner })
    }

    /// All tokens that are not over, in the order in which they were made.
    pub fn list(&self, now: Now) -> Vec<TokenInfo> {
        let tokens = lock(&self.stored);
        tokens.iter().filter(|it| !it.is_over(now)).map(TokenInfo::of).collect()
    }

    /// Ends a token. Writes.
    pub fn remove(&self, id: &str) -> Result<(), AccountRefusal> {
        self.change(|tokens| {
            let before = tokens.len();
            tokens.retain(|it| it.id != id);
            if tokens.len() < before { Ok(()) } else { Err(AccountRefusal::UnknownToken) }
        })
    }

    /// Ends the tokens of a user. Writes, if there are any.
    pub fn remove_of(&self, owner: &str) -> Result<(), AccountRefusal> {
        if !lock(&self.stored).iter().any(|it| it.owner.as_deref() == Some(owner)) {
            return Ok(());
        }
        self.change(|tokens| {
            tokens.retain(|it| it.owner.as_deref() != Some(owner));
            Ok(())
        })
    }

    /// True if a use should be written down by [`ApiTokens::save`], which is at most once an hour.
    pub fn is_save_due(&self) -> bool {
        let is_due =
            |it: &StoredToken| it.used_ms.unwrap_or(0) > it.written_use_ms + USE_WRITTEN_MS;
        lock(&self.stored).iter().any(is_due)
    }

    /// Writes down when each was used. On a full disk that is not known after a restart.
    pub fn save(&self) {
        let _ = self.change(|_| Ok(()));
    }

    /// Makes a change and writes it; what cannot be written does not hold.
    fn change(
        &self,
        edit: impl FnOnce(&mut Vec<StoredToken>) -> Result<(), AccountRefusal>,
    ) -> Result<(), AccountRefusal> {
        let _turn = lock(&self.writing);
        let mut tokens = lock(&self.stored).clone();
        edit(&mut tokens)?;
        for token in &mut tokens {
            token.written_use_ms = token.used_ms.unwrap_or(0);
        }
        private_file::write(&self.path, &tokens).map_err(AccountRefusal::Failed)?;
        *lock(&self.stored) = tokens;
        Ok(())
    }
}

impl StoredToken {
    fn is_over(&self, now: Now) -> bool {
        self.expires_ms.is_some_and(|expires_ms| expires_ms <= now.unix_ms)
    }
}

impl TokenInfo {
    fn of(token: &StoredToken) -> Self {
        Self {
            id: token.id.clone(),
            name: token.name.clone(),
            scope: token.scope,
            owner: token.owner.clone(),
            created_ms: token.created_ms,
            expires_ms: token.expires_ms,
            used_ms: token.used_ms,
        }
    }
}

impl FromStr for TokenScope {
    type Err = UnknownRole;
    fn from_str(text: &str) -> Result<Self, UnknownRole> {
        if text == "metrics" { Ok(Self::Metrics) } else { text.parse().map(Self::Role) }
    }
}

impl fmt::Display for TokenScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Metrics => f.write_str("metrics"),
            Self::Role(role) => role.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use test_support::ScratchFolder;

    const DAY_MS: u64 = 86_400_000;

    fn at(unix_ms: u64) -> Now {
        Now { unix_ms, mono_ms: 0 }
    }

    fn order(name: &str, days: Option<u32>) -> TokenOrder {
        let scope = TokenScope::Role(UserRole::Operator);
        TokenOrder { name: name.into(), scope, owner: Some("anna".into()), days }
    }

    #[test]
    fn a_token_outlives_a_restart_and_ends_in_its_time() {
        let folder = ScratchFolder::new();
        let (tokens, _) = ApiTokens::open(folder.path());
        let (_, text) = tokens.make(order("backup", Some(2)), at(0)).unwrap();
        let (again, trouble) = ApiTokens::open(folder.path());
        assert_eq!(trouble, None);
        let grant = again.grant(&text, at(DAY_MS)).unwrap();
        assert_eq!((grant.name.as_str(), grant.owner.as_deref()), ("backup", Some("anna")));
        assert_eq!(again.grant(&text, at(2 * DAY_MS)), None);
        assert_eq!(again.list(at(2 * DAY_MS)), []);
        let file = std::fs::read_to_string(folder.path().join(TOKENS_FILE)).unwrap();
        assert!(!file.contains(&text), "only its digest is kept");
        for guess in ["", "tg_", &text[..66], &text.to_uppercase(), &"tg_".repeat(100)] {
            assert_eq!(again.grant(guess, at(0)), None, "{guess}");
        }
    }

    #[test]
    fn tokens_go_one_by_one_and_with_their_user() {
        let folder = ScratchFolder::new();
        let (tokens, _) = ApiTokens::open(folder.path());
        let (first, text) = tokens.make(order("a", None), at(0)).unwrap();
        tokens.make(order("b", None), at(0)).unwrap();
        let own = TokenOrder { owner: None, scope: TokenScope::Metrics, ..order("c", None) };
        let (_, scraper) = tokens.make(own, at(0)).unwrap();
        tokens.remove(&first).unwrap();
        assert!(matches!(tokens.remove(&first), Err(AccountRefusal::UnknownToken)));
        assert_eq!(tokens.grant(&text, at(0)), None);
        tokens.remove_of("anna").unwrap();
        let left = tokens.list(at(0));
        assert_eq!((left.len(), left[0].scope), (1, TokenScope::Metrics));
        let grant = ApiTokens::open(folder.path()).0.grant(&scraper, at(0)).unwrap();
        assert_eq!(grant.scope, TokenScope::Metrics);
    }

    #[test]
    fn names_and_numbers_are_bounded() {
        let folder = ScratchFolder::new();
        let (tokens, _) = ApiTokens::open(folder.path());
        for name in ["", "  ", "a\nb", &"x".repeat(65)] {
            let refused = tokens.make(order(name, None), at(0));
            assert!(matches!(refused, Err(AccountRefusal::BadTokenName)), "{name}");
        }
        for _ in 0..TOKENS_MAX {
            tokens.make(order("a", Some(1)), at(0)).unwrap();
        }
        let refused = tokens.make(order("a", None), at(0));
        assert!(matches!(refused, Err(AccountRefusal::TooManyTokens)));
        tokens.make(order("a", None), at(DAY_MS)).unwrap();
        assert_eq!(tokens.list(at(DAY_MS)).len(), 1, "those that are over make room");
    }

    #[test]
    fn a_use_is_written_down_once_an_hour() {
        let folder = ScratchFolder::new();
        let (tokens, _) = ApiTokens::open(folder.path());
        let (_, text) = tokens.make(order("a", None), at(0)).unwrap();
        assert!(!tokens.is_save_due());
        tokens.grant(&text, at(USE_WRITTEN_MS + 1)).unwrap();
        assert!(tokens.is_save_due());
        tokens.save();
        assert!(!tokens.is_save_due());
        let used = ApiTokens::open(folder.path()).0.list(at(0))[0].used_ms;
        assert_eq!(used, Some(USE_WRITTEN_MS + 1));
    }
}
