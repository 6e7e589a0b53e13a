//! Behaviour of the users, on files of their own.

use super::*;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use test_support::ScratchFolder;

const PASSWORD: &str = "correct horse";
const NOW: Now = Now { unix_ms: 1_800_000_000_000, mono_ms: 0 };

fn open(folder: &ScratchFolder) -> UserAccounts {
    let (accounts, trouble) = UserAccounts::open(folder.path());
    assert_eq!(trouble, None);
    accounts
}

#[test]
fn users_outlive_a_restart_and_their_file_holds_no_password() {
    let folder = ScratchFolder::new();
    let accounts = open(&folder);
    assert!(accounts.passwords().is_none());
    accounts.add("Anna", UserRole::Viewer, PASSWORD, NOW).unwrap();
    accounts.add("bob@example.org", UserRole::Administrator, PASSWORD, NOW).unwrap();
    let change = UserChange { role: Some(UserRole::Operator), ..UserChange::default() };
    accounts.update("ANNA", &change).unwrap();
    let again = open(&folder);
    let anna = again.get("anna").unwrap();
    assert_eq!((anna.name.as_str(), anna.role), ("anna", UserRole::Operator));
    assert!(anna.has_password && !anna.has_totp && !anna.has_subject);
    let path = folder.path().join(USERS_FILE);
    let text = fs::read_to_string(&path).unwrap();
    assert!(!text.contains(PASSWORD) && text.matches("$argon2id$").count() == 2, "{text}");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(anna.signed_in_ms, None);
    again.note_sign_in("Anna", NOW).unwrap();
    assert_eq!(open(&folder).get("anna").unwrap().signed_in_ms, Some(NOW.unix_ms));
    again.remove("Anna").unwrap();
    assert_eq!(open(&folder).list().len(), 1);
}

#[test]
fn the_last_administrator_stays_one_while_there_are_other_users() {
    let folder = ScratchFolder::new();
    let accounts = open(&folder);
    accounts.add("bob", UserRole::Administrator, PASSWORD, NOW).unwrap();
    accounts.add("anna", UserRole::Viewer, PASSWORD, NOW).unwrap();
    let role = |role| UserChange { role: Some(role), ..UserChange::default() };
    let is_last = |outcome| matches!(outcome, Err(AccountRefusal::LastAdministrator));
    assert!(is_last(accounts.remove("Bob")));
    assert!(is_last(accounts.update("bob", &role(UserRole::Operator))));
    assert_eq!(accounts.get("bob").unwrap().role, UserRole::Administrator);
    accounts.update("anna", &role(UserRole::Administrator)).unwrap();
    accounts.update("bob", &role(UserRole::Operator)).unwrap();
    accounts.remove("bob").unwrap();
    // Without users there is the token of the state folder, as at the start.
    accounts.remove("anna").unwrap();
    // Where there never was one, nobody is kept from leaving.
    accounts.add("carl", UserRole::Viewer, PASSWORD, NOW).unwrap();
    accounts.add("dora", UserRole::Viewer, PASSWORD, NOW).unwrap();
    accounts.remove("carl").unwrap();
}

#[test]
fn what_is_refused_changes_nothing() {
    let folder = ScratchFolder::new();
    let accounts = open(&folder);
    accounts.add("anna", UserRole::Viewer, PASSWORD, NOW).unwrap();
    let add = |name: &str, password: &str| accounts.add(name, UserRole::Viewer, password, NOW);
    assert!(matches!(add("ANNA", PASSWORD), Err(AccountRefusal::NameTaken)));
    for name in ["", "a:b", "a b", "a\nb", "ä", &"a".repeat(65)] {
        assert!(matches!(add(name, PASSWORD), Err(AccountRefusal::BadName)), "{name}");
    }
    for password in ["", "123456789", &"a".repeat(257)] {
        assert!(matches!(add("bob", password), Err(AccountRefusal::BadPassword)));
    }
    assert!(matches!(accounts.remove("carl"), Err(AccountRefusal::UnknownUser)));
    let change = UserChange { password: Some("short".into()), ..UserChange::default() };
    assert!(matches!(accounts.update("anna", &change), Err(AccountRefusal::BadPassword)));
    assert_eq!(accounts.list().len(), 1);
}

#[test]
fn a_file_that_cannot_be_written_leaves_all_as_before() {
    let folder = ScratchFolder::new();
    let accounts = open(&folder);
    accounts.add("anna", UserRole::Viewer, PASSWORD, NOW).unwrap();
    fs::create_dir(folder.path().join(format!("{USERS_FILE}.new"))).unwrap();
    let failed = accounts.add("bob", UserRole::Viewer, PASSWORD, NOW);
    assert!(matches!(failed, Err(AccountRefusal::Failed(_))));
    assert!(accounts.get("bob").is_none());
}

#[test]
fn a_damaged_file_is_set_aside_and_told_of() {
    let folder = ScratchFolder::new();
    fs::write(folder.path().join(USERS_FILE), "[{\"name\":").unwrap();
    let (accounts, trouble) = UserAccounts::open(folder.path());
    assert!(accounts.list().is_empty());
    assert!(trouble.unwrap().contains("admin.users.damaged"));
    let kept = fs::read_to_string(folder.path().join("admin.users.damaged")).unwrap();
    assert_eq!(kept, "[{\"name\":");
}

#[test]
fn two_steps_begin_with_a_confirmed_code_and_end_by_an_administrator() {
    let folder = ScratchFolder::new();
    let accounts = open(&folder);
    accounts.add("anna", UserRole::Viewer, PASSWORD, NOW).unwrap();
    assert_eq!(accounts.check_code("anna", None, NOW).unwrap(), CodeVerdict::NotNeeded);
    assert!(matches!(accounts.confirm_totp("anna", "123456", NOW), Err(AccountRefusal::NoOffer)));
    let offer = accounts.offer_totp("anna").unwrap();
    let code = |unix_s: u64| {
        let secret = totp_rs::Secret::try_from_base32(&offer.secret).unwrap();
        let totp = totp_rs::Builder::new().with_secret(secret).build().unwrap();
        totp.generate(unix_s).to_string()
    };
    let now_s = NOW.unix_ms / 1000;
    let wrong = if code(now_s) == "000000" { "000001" } else { "000000" };
    assert!(matches!(accounts.confirm_totp("anna", wrong, NOW), Err(AccountRefusal::WrongCode)));
    assert!(!accounts.get("anna").unwrap().has_totp);
    let recovery = accounts.confirm_totp("anna", &code(now_s), NOW).unwrap();
    let again = open(&folder);
    assert_eq!(again.check_code("anna", None, NOW).unwrap(), CodeVerdict::Missing);
    assert_eq!(again.check_code("anna", Some(&code(now_s)), NOW).unwrap(), CodeVerdict::Wrong);
    let next = code(now_s + 30);
    assert_eq!(again.check_code("anna", Some(&next), NOW).unwrap(), CodeVerdict::Accepted);
    // What was used up stays used up over a restart.
    let third = open(&folder);
    assert_eq!(third.check_code("anna", Some(&next), NOW).unwrap(), CodeVerdict::Wrong);
    assert_eq!(third.check_code("anna", Some(&recovery[0]), NOW).unwrap(), CodeVerdict::Accepted);
    let off = UserChange { totp: Some(TotpChange::Off), ..UserChange::default() };
    third.update("anna", &off).unwrap();
    assert_eq!(third.check_code("anna", None, NOW).unwrap(), CodeVerdict::NotNeeded);
}

#[test]
fn who_comes_by_single_sign_on_takes_nobodys_name() {
    let folder = ScratchFolder::new();
    let accounts = open(&folder);
    accounts.add("anna", UserRole::Administrator, PASSWORD, NOW).unwrap();
    let taken = accounts.enrol("https://id.example#1", "Anna", UserRole::Viewer, NOW);
    assert!(matches!(taken, Err(AccountRefusal::NameTaken)));
    let made = accounts.enrol("https://id.example#1", "anna@example", UserRole::Viewer, NOW);
    assert!(!made.unwrap().has_password);
    let again = accounts.enrol("https://id.example#1", "other", UserRole::Operator, NOW).unwrap();
    assert_eq!((again.name.as_str(), again.role), ("anna@example", UserRole::Operator));
    assert_eq!(accounts.list().len(), 2);
}

#[test]
fn after_ten_wrong_codes_none_is_looked_at_for_a_minute() {
    let folder = ScratchFolder::new();
    let accounts = open(&folder);
    accounts.add("anna", UserRole::Viewer, PASSWORD, NOW).unwrap();
    let offer = accounts.offer_totp("anna").unwrap();
    let secret = totp_rs::Secret::try_from_base32(&offer.secret).unwrap();
    let totp = totp_rs::Builder::new().with_secret(secret).build().unwrap();
    let now_s = NOW.unix_ms / 1000;
    accounts.confirm_totp("anna", &totp.generate(now_s).to_string(), NOW).unwrap();
    let judge = |code: &str, now: Now| accounts.check_code("anna", Some(code), now).unwrap();
    let written = || fs::metadata(folder.path().join(USERS_FILE)).unwrap().modified().unwrap();
    let before = written();
    for _ in 0..10 {
        assert_eq!(judge("no code", NOW), CodeVerdict::Wrong);
    }
    assert_eq!(written(), before, "guesses write nothing");
    let right = totp.generate(now_s + 30).to_string();
    assert_eq!(judge(&right, NOW), CodeVerdict::TooMany);
    let later = Now { mono_ms: 60_000, ..NOW };
    assert_eq!(judge(&right, later), CodeVerdict::Accepted);
}
