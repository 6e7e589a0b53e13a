//! Behaviour of the audit log, on files of its own.

use super::*;
use serde_json::json;
use std::os::unix::fs::PermissionsExt;
use test_support::ScratchFolder;

fn record(who: &str, action: &str) -> AuditRecord {
    AuditRecord {
        at_ms: 7,
        who: who.into(),
        kind: AuditActor::User,
        role: Some(UserRole::Operator),
        client: "192.0.2.7".into(),
        action: action.into(),
        body: Some(json!({"seconds": 600})),
        status: 200,
        error: None,
    }
}

fn numbers(page: &AuditPage) -> Vec<u64> {
    page.entries.iter().map(|entry| entry.n).collect()
}

fn query(before: Option<u64>, limit: usize, filter: &str) -> AuditQuery {
    AuditQuery { before, limit, filter: filter.into() }
}

#[test]
fn entries_are_numbered_on_after_a_restart_and_paged() {
    let folder = ScratchFolder::new();
    let log = AuditLog::open(folder.path());
    for _ in 0..3 {
        log.append(record("anna", "POST /api/pause"));
    }
    let again = AuditLog::open(folder.path());
    again.append(record("Bob", "POST /api/resume"));
    let page = again.page(&query(None, 2, ""));
    assert_eq!((numbers(&page), page.older), (vec![4, 3], Some(3)));
    assert_eq!(page.entries[0].record, record("Bob", "POST /api/resume"));
    let rest = again.page(&query(Some(3), 2, ""));
    assert_eq!((numbers(&rest), rest.older), (vec![2, 1], None));
    for (filter, found) in [("bob", vec![4]), ("600", vec![4, 3, 2, 1]), ("RESUME", vec![4])] {
        assert_eq!(numbers(&again.page(&query(None, 9, filter))), found, "{filter}");
    }
    let mode = fs::metadata(folder.path().join(AUDIT_FILE)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_line_that_a_crash_cut_costs_itself_alone() {
    let folder = ScratchFolder::new();
    let log = AuditLog::open(folder.path());
    log.append(record("anna", "POST /api/pause"));
    log.append(record("anna", "POST /api/resume"));
    let path = folder.path().join(AUDIT_FILE);
    let text = fs::read(&path).unwrap();
    fs::write(&path, &text[..text.len() - 10]).unwrap();
    let again = AuditLog::open(folder.path());
    again.append(record("bob", "POST /api/pause"));
    assert_eq!(numbers(&again.page(&query(None, 9, ""))), [2, 1]);
}

#[test]
fn files_are_bounded_and_the_older_one_goes() {
    let folder = ScratchFolder::new();
    let log = AuditLog::open(folder.path());
    let bulky = record("anna", &"x".repeat(4000));
    let lines = 3 * FILE_BYTES_MAX / 4000;
    for _ in 0..lines {
        log.append(bulky.clone());
    }
    let sizes = [AUDIT_FILE.to_owned(), format!("{AUDIT_FILE}.1")]
        .map(|name| fs::metadata(folder.path().join(name)).unwrap().len());
    assert!(sizes.iter().all(|size| *size <= FILE_BYTES_MAX + LINE_BYTES_MAX as u64), "{sizes:?}");
    let page = log.page(&query(None, usize::MAX, ""));
    assert_eq!(page.entries[0].n, lines);
    assert!(page.entries.windows(2).all(|pair| pair[0].n == pair[1].n + 1));
    let huge = AuditRecord { body: Some(json!("y".repeat(1 << 16))), ..record("a", "b") };
    log.append(huge);
    assert_eq!(log.page(&query(None, 1, "")).entries[0].record.body, None);
}

#[test]
fn what_cannot_be_written_is_counted() {
    let folder = ScratchFolder::new();
    let log = AuditLog::open(folder.path());
    let path = folder.path().join(AUDIT_FILE);
    fs::create_dir(&path).unwrap();
    log.append(record("anna", "POST /api/pause"));
    assert_eq!(log.page(&query(None, 9, "")).lost, 1);
    fs::remove_dir(&path).unwrap();
    log.append(record("anna", "POST /api/resume"));
    let page = log.page(&query(None, 9, ""));
    assert_eq!((numbers(&page), page.lost), (vec![1], 1));
}
