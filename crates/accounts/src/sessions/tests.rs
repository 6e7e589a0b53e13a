//! Behaviour of sessions, on files of their own.

use super::*;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use test_support::ScratchFolder;

const DAY_MS: u64 = 86_400_000;

fn at(unix_ms: u64) -> Now {
    Now { unix_ms, mono_ms: 0 }
}

fn open(folder: &ScratchFolder, now: Now) -> OpenSessions {
    OpenSessions::open(folder.path(), "salt", now)
}

fn start(user: Option<&str>) -> SessionStart {
    let user = user.map(str::to_owned);
    let agent = "Browser\u{1b}[31m\n".into();
    SessionStart { user, client: "192.0.2.7".into(), agent, life_s: SESSION_SECONDS }
}

fn begin(sessions: &OpenSessions, user: Option<&str>, unix_ms: u64) -> String {
    sessions.start(start(user), at(unix_ms)).unwrap()
}

fn is_open(sessions: &OpenSessions, id: &str, now: Now) -> bool {
    sessions.touch(id, now).is_some()
}

#[test]
fn a_session_outlives_a_restart_and_ends_when_it_is_over() {
    let folder = ScratchFolder::new();
    let id = begin(&open(&folder, at(0)), Some("anna"), 0);
    let session = open(&folder, at(DAY_MS)).touch(&id, at(DAY_MS)).unwrap();
    assert_eq!((session.user.as_deref(), session.seen_ms), (Some("anna"), DAY_MS));
    let over = at(SESSION_SECONDS * 1000);
    assert!(!is_open(&open(&folder, over), &id, over));
    let again = open(&folder, at(1));
    again.end(&id);
    assert!(!is_open(&again, &id, at(1)));
    assert!(!is_open(&open(&folder, at(1)), &id, at(1)), "a logout outlives it too");
}

#[test]
fn the_file_is_secret_and_tells_no_identifier() {
    let folder = ScratchFolder::new();
    let id = begin(&open(&folder, at(0)), None, 0);
    let path = folder.path().join(FILE);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(!fs::read_to_string(&path).unwrap().contains(&id));
}

#[test]
fn another_salt_ends_every_session() {
    let folder = ScratchFolder::new();
    let id = begin(&open(&folder, at(0)), Some("anna"), 0);
    let other = OpenSessions::open(folder.path(), "another", at(0));
    assert!(!is_open(&other, &id, at(0)));
}

#[test]
fn what_stands_in_the_file_is_believed_as_far_as_it_is_sound() {
    let folder = ScratchFolder::new();
    let id = begin(&open(&folder, at(0)), None, 0);
    let path = folder.path().join(FILE);
    let good = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("\n x 1\n{{}}\n{{\"digest\": \"é\"}}\n{good}")).unwrap();
    assert!(is_open(&open(&folder, at(1)), &id, at(1)));
    fs::write(&path, good.replace(":2592000000", ":18446744073709551615")).unwrap();
    let wrong_clock = open(&folder, at(1));
    assert!(is_open(&wrong_clock, &id, at(1)));
    assert!(!is_open(&wrong_clock, &id, at(SESSION_SECONDS * 1000 + 1)), "it ends in a month");
    fs::write(&path, vec![0xff; 1 << 20]).unwrap();
    assert!(!is_open(&open(&folder, at(1)), &id, at(1)));
}

#[test]
fn at_a_users_cap_the_users_own_oldest_ends() {
    let folder = ScratchFolder::new();
    let sessions = open(&folder, at(0));
    let others = begin(&sessions, Some("bob"), 0);
    let first = begin(&sessions, Some("anna"), 1);
    let second = begin(&sessions, Some("anna"), 2);
    for number in 0..SESSIONS_OF_ONE_MAX as u64 - 1 {
        begin(&sessions, Some("anna"), 3 + number);
    }
    let now = at(1000);
    assert!(!is_open(&sessions, &first, now));
    assert!(is_open(&sessions, &second, now) && is_open(&sessions, &others, now));
    for user in 0..SESSIONS_MAX {
        begin(&sessions, Some(&format!("user{user}")), 1000);
    }
    assert_eq!(sessions.list(now).len(), SESSIONS_MAX);
    assert!(!is_open(&sessions, &others, now), "the oldest of all ends at the cap of all");
    assert_eq!(open(&folder, now).list(now).len(), SESSIONS_MAX, "all of them fit into the file");
}

#[test]
fn sessions_are_listed_and_ended_by_name_and_by_user() {
    let folder = ScratchFolder::new();
    let sessions = open(&folder, at(0));
    let old = begin(&sessions, Some("anna"), 0);
    let used = begin(&sessions, Some("anna"), 1);
    let token = begin(&sessions, None, 2);
    sessions.touch(&old, at(9)).unwrap();
    let listed = sessions.list(at(9));
    assert_eq!(listed[0].seen_ms, 9);
    let name = listed[0].id().to_owned();
    assert!(!is_open(&sessions, &name, at(9)), "its name in the API does not sign in");
    assert_eq!(sessions.end_some(SessionEnd::OfUser { user: "anna", but: Some(&name) }), 1);
    assert!(is_open(&sessions, &old, at(9)) && !is_open(&sessions, &used, at(9)));
    assert_eq!(sessions.end_some(SessionEnd::Id(&name)), 1);
    assert_eq!(sessions.end_some(SessionEnd::Id("")), 0);
    assert!(!is_open(&open(&folder, at(9)), &old, at(9)));
    assert!(is_open(&sessions, &token, at(9)));
}

#[test]
fn a_use_is_written_down_once_an_hour() {
    let folder = ScratchFolder::new();
    let sessions = open(&folder, at(0));
    let id = begin(&sessions, Some("anna"), 0);
    sessions.touch(&id, at(USE_WRITTEN_MS)).unwrap();
    assert!(!sessions.is_write_due());
    sessions.touch(&id, at(USE_WRITTEN_MS + 1)).unwrap();
    assert!(sessions.is_write_due());
    sessions.write();
    assert!(!sessions.is_write_due());
    assert_eq!(open(&folder, at(0)).list(at(0))[0].seen_ms, USE_WRITTEN_MS + 1);
}
