//! The users of the admin API, kept in a file of the state folder.
//!
//! A table that was asked for does not change under whoever has it; a change is written before it
//! holds.
//! A wrong password costs as much for a name that nobody has. Called by `admin`.

use crate::USERS_FILE;
use crate::attempt_counts::AttemptCounts;
use crate::private_file::{self, lock};
use crate::refusal::{AccountRefusal, NAME_LENGTHS, PASSWORD_LENGTHS, USERS_MAX};
use crate::role::UserRole;
use crate::stored_user::{StoredUser, StoredUsers};
use crate::two_step::{CodeVerdict, StoredTotp, TotpOffer};
use passwords::{PasswordHash, UserTable};
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use vocab::Now;

/// Largest file that is read, in bytes.
const FILE_BYTES_MAX: u64 = USERS_MAX as u64 * 4096;

/// The users.
pub struct UserAccounts {
    path: PathBuf,
    table: Mutex<Arc<AccountTable>>,
    /// Held over a change, from reading to writing.
    changing: Mutex<()>,
    /// Wrong codes of the last minute: whoever has the password may not try them all, from
    /// however many addresses.
    wrong_codes: AttemptCounts<String>,
    /// Secrets that were shown and not confirmed, by name.
    offers: Mutex<HashMap<String, String>>,
}

/// Users, and their passwords as they are checked.
struct AccountTable {
    users: StoredUsers,
    /// None where nobody has a password.
    passwords: Option<Arc<UserTable>>,
}

/// A user, without what is secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserInfo {
    /// Name.
    pub name: String,
    /// Role.
    pub role: UserRole,
    /// True while two-step sign-in is on.
    pub has_totp: bool,
    /// True if there is a password.
    pub has_password: bool,
    /// True for who comes by single sign-on.
    pub has_subject: bool,
    /// The moment of its making, in milliseconds since 1970.
    pub created_ms: u64,
    /// The moment of the last sign-in, likewise; none before the first.
    pub signed_in_ms: Option<u64>,
}

/// Change of a user; what is none stays.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct UserChange {
    /// Another role.
    pub role: Option<UserRole>,
    /// Another password.
    pub password: Option<String>,
    /// Another state of two-step sign-in.
    pub totp: Option<TotpChange>,
}

/// Change of two-step sign-in by somebody else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TotpChange {
    /// Asked for no more.
    Off,
}

impl UserAccounts {
    /// The users of a state folder. A file that cannot be understood is set aside and told of, and
    /// then there are none: the token still opens everything.
    pub fn open(state_dir: &Path) -> (Self, Option<String>) {
        let path = state_dir.join(USERS_FILE);
        let read = private_file::read::<StoredUsers>(&path, FILE_BYTES_MAX);
        let accounts = Self {
            path,
            table: Mutex::new(Arc::new(AccountTable::new(read.contents))),
            changing: Mutex::default(),
            wrong_codes: AttemptCounts::default(),
            offers: Mutex::default(),
        };
        (accounts, read.trouble)
    }

    /// All users, in the order in which they were made.
    pub fn list(&self) -> Vec<UserInfo> {
        self.table().users.iter().map(UserInfo::of).collect()
    }

    /// The user of a name.
    pub fn get(&self, name: &str) -> Option<UserInfo> {
        self.table().user(name).map(UserInfo::of)
    }

    /// The passwords, to be checked by a [`passwords::PasswordChecker`]; none if nobody has one.
    pub fn passwords(&self) -> Option<Arc<UserTable>> {
        self.table().passwords.clone()
    }

    /// Adds a user. Hashes and writes.
    pub fn add(
        &self,
        name: &str,
        role: UserRole,
        password: &str,
        now: Now,
    ) -> Result<(), AccountRefusal> {
        let name = read_name(name)?;
        let password = Some(hashed(password)?);
        let created_ms = now.unix_ms;
        let user = StoredUser {
            name,
            role,
            password,
            totp: None,
            subject: None,
            created_ms,
            signed_in_ms: None,
        };
        self.insert(user)
    }

    fn insert(&self, user: StoredUser) -> Result<(), AccountRefusal> {
        self.change(|users| {
            if users.iter().any(|it| it.name == user.name) {
                return Err(AccountRefusal::NameTaken);
            }
            if users.len() >= USERS_MAX {
                return Err(AccountRefusal::TooMany);
            }
            users.push(user);
            Ok(())
        })
    }

    /// The user whom a provider of single sign-on calls `subject`, found or made under `name` with
    /// this role. The role is the provider's affair: another one is taken over. Writes.
    pub fn enrol(
        &self,
        subject: &str,
        name: &str,
        role: UserRole,
        now: Now,
    ) -> Result<UserInfo, AccountRefusal> {
        let table = self.table();
        let known = table.users.iter().find(|it| it.subject.as_deref() == Some(subject));
        let name = match known {
            Some(user) if user.role == role => return Ok(UserInfo::of(user)),
            Some(user) => {
                let name = user.name.clone();
                self.alter(&name, |user| user.role = role)?;
                name
            }
            None => {
                let name = read_name(name)?;
                let (subject, created_ms) = (Some(subject.to_owned()), now.unix_ms);
                let user = StoredUser {
                    name,
                    role,
                    password: None,
                    totp: None,
                    subject,
                    created_ms,
                    signed_in_ms: None,
                };
                let name = user.name.clone();
                self.insert(user)?;
                name
            }
        };
        self.get(&name).ok_or(AccountRefusal::UnknownUser)
    }

    /// The user whom a provider of single sign-on calls `subject`.
    pub fn of_subject(&self, subject: &str) -> Option<UserInfo> {
        let table = self.table();
        let mut users = table.users.iter();
        users.find(|it| it.subject.as_deref() == Some(subject)).map(UserInfo::of)
    }

    /// Keeps the moment of a sign-in. Writes.
    pub fn note_sign_in(&self, name: &str, now: Now) -> Result<(), AccountRefusal> {
        self.alter(name, |user| user.signed_in_ms = Some(now.unix_ms))
    }

    /// Changes a user. Hashes and writes.
    pub fn update(&self, name: &str, change: &UserChange) -> Result<(), AccountRefusal> {
        let password = change.password.as_deref().map(hashed).transpose()?;
        let name = name.to_ascii_lowercase();
        self.change_guarded(|users| {
            let user = users.iter_mut().find(|it| it.name == name);
            let user = user.ok_or(AccountRefusal::UnknownUser)?;
            user.role = change.role.unwrap_or(user.role);
            user.password = password.or(user.password.take());
            if change.totp == Some(TotpChange::Off) {
                user.totp = None;
            }
            Ok(())
        })
    }

    /// Removes a user. Writes.
    pub fn remove(&self, name: &str) -> Result<(), AccountRefusal> {
        let name = name.to_ascii_lowercase();
        lock(&self.offers).remove(&name);
        self.change_guarded(|users| {
            let before = users.len();
            users.retain(|it| it.name != name);
            if users.len() < before { Ok(()) } else { Err(AccountRefusal::UnknownUser) }
        })
    }

    /// A secret for the authenticator of a user; it holds once a code of it is confirmed.
    pub fn offer_totp(&self, name: &str) -> Result<TotpOffer, AccountRefusal> {
        let user = self.get(name).ok_or(AccountRefusal::UnknownUser)?;
        let offer = TotpOffer::new(&user.name).map_err(AccountRefusal::Failed)?;
        // One a user, of which there are few.
        lock(&self.offers).insert(user.name, offer.secret.clone());
        Ok(offer)
    }

    /// Switches two-step sign-in on by a code of the secret that was shown, and gives the recovery
    /// codes. Writes.
    pub fn confirm_totp(
        &self,
        name: &str,
        code: &str,
        now: Now,
    ) -> Result<Vec<String>, AccountRefusal> {
        let secret = lock(&self.offers).get(name).cloned().ok_or(AccountRefusal::NoOffer)?;
        let begun = StoredTotp::begin(&secret, code, now.unix_ms / 1000);
        let begun = begun.map_err(AccountRefusal::Failed)?;
        let (totp, codes) = begun.ok_or(AccountRefusal::WrongCode)?;
        self.alter(name, |user| user.totp = Some(totp))?;
        lock(&self.offers).remove(name);
        Ok(codes)
    }

    /// Judges the second step of a user whose password was right. Writes what was used up.
    pub fn check_code(
        &self,
        name: &str,
        code: Option<&str>,
        now: Now,
    ) -> Result<CodeVerdict, AccountRefusal> {
        let user = self.get(name).ok_or(AccountRefusal::UnknownUser)?;
        let code = match (user.has_totp, code) {
            (false, _) => return Ok(CodeVerdict::NotNeeded),
            (true, None) => return Ok(CodeVerdict::Missing),
            (true, Some(code)) => code,
        };
        if self.wrong_codes.is_full(&user.name, now) {
            return Ok(CodeVerdict::TooMany);
        }
        let _turn = lock(&self.changing);
        let mut users = self.table().users.clone();
        let stored = users.iter_mut().find(|it| it.name == user.name);
        let totp = stored.and_then(|it| it.totp.as_mut()).ok_or(AccountRefusal::UnknownUser)?;
        let verdict = totp.take(code, now.unix_ms / 1000);
        if verdict == CodeVerdict::Accepted {
            self.store(users)?;
        } else {
            // It uses nothing up and is not worth a write.
            self.wrong_codes.add(user.name, now);
        }
        Ok(verdict)
    }

    fn table(&self) -> Arc<AccountTable> {
        Arc::clone(&lock(&self.table))
    }

    fn alter(&self, name: &str, edit: impl FnOnce(&mut StoredUser)) -> Result<(), AccountRefusal> {
        let name = name.to_ascii_lowercase();
        self.change(|users| {
            let user = users.iter_mut().find(|it| it.name == name);
            edit(user.ok_or(AccountRefusal::UnknownUser)?);
            Ok(())
        })
    }

    /// The same, unless it leaves users of whom none is an administrator, where one was.
    fn change_guarded(
        &self,
        edit: impl FnOnce(&mut StoredUsers) -> Result<(), AccountRefusal>,
    ) -> Result<(), AccountRefusal> {
        self.change(|users| {
            let has_one =
                |users: &StoredUsers| users.iter().any(|it| it.role == UserRole::Administrator);
            let is_guarded = has_one(users);
            edit(users)?;
            if is_guarded && !users.is_empty() && !has_one(users) {
                return Err(AccountRefusal::LastAdministrator);
            }
            Ok(())
        })
    }

    /// Makes a change, writes it, and lets it hold.
    fn change(
        &self,
        edit: impl FnOnce(&mut StoredUsers) -> Result<(), AccountRefusal>,
    ) -> Result<(), AccountRefusal> {
        let _turn = lock(&self.changing);
        let mut users = self.table().users.clone();
        edit(&mut users)?;
        self.store(users)
    }

    /// Writes users, and lets them hold. Called by who has the turn to change them.
    fn store(&self, users: StoredUsers) -> Result<(), AccountRefusal> {
        private_file::write(&self.path, &users).map_err(AccountRefusal::Failed)?;
        *lock(&self.table) = Arc::new(AccountTable::new(users));
        Ok(())
    }
}

impl AccountTable {
    fn new(users: StoredUsers) -> Self {
        let hash = |user: &StoredUser| Some((user.name.clone(), user.password.clone()?));
        let hashes: BTreeMap<_, _> = users.iter().filter_map(hash).collect();
        // Without a hash that is taken there is no table, and nobody comes in by a password.
        let passwords = UserTable::open(&hashes, None, Path::new("")).ok().map(Arc::new);
        Self { users, passwords }
    }

    fn user(&self, name: &str) -> Option<&StoredUser> {
        self.users.iter().find(|it| it.name.eq_ignore_ascii_case(name))
    }
}

impl UserInfo {
    fn of(user: &StoredUser) -> Self {
        Self {
            name: user.name.clone(),
            role: user.role,
            has_totp: user.totp.is_some(),
            has_password: user.password.is_some(),
            has_subject: user.subject.is_some(),
            created_ms: user.created_ms,
            signed_in_ms: user.signed_in_ms,
        }
    }
}

/// A name in lower case, of characters that need no quoting anywhere.
fn read_name(name: &str) -> Result<String, AccountRefusal> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"._-@".contains(&byte);
    if NAME_LENGTHS.contains(&name.len()) && name.bytes().all(fits) {
        Ok(name.to_ascii_lowercase())
    } else {
        Err(AccountRefusal::BadName)
    }
}

fn hashed(password: &str) -> Result<String, AccountRefusal> {
    if !PASSWORD_LENGTHS.contains(&password.chars().count()) {
        return Err(AccountRefusal::BadPassword);
    }
    let hash = PasswordHash::make(password.as_bytes()).map_err(AccountRefusal::Failed)?;
    Ok(hash.as_str().to_owned())
}

impl fmt::Debug for UserChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Never the password.
        f.debug_struct("UserChange").field("role", &self.role).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
