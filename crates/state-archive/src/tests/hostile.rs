//! Archives that nobody's backup made.

use super::*;
use std::io::Write;

/// A head and a manifest for these files, with entries of one's own between.
fn archive(entries: &[(&str, tar::EntryType, &[u8])], manifest: &str) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    let head = r#"{"archive_format":1,"state_format":1,"version":"1","made":"now",
        "state":"/nowhere/state","configuration":null}"#;
    add(&mut tar, "tidegate-backup.json", tar::EntryType::Regular, head.as_bytes());
    for (name, kind, content) in entries {
        add(&mut tar, name, *kind, content);
    }
    if !manifest.is_empty() {
        add(&mut tar, "manifest.json", tar::EntryType::Regular, manifest.as_bytes());
    }
    zstd::encode_all(&tar.into_inner().unwrap()[..], 3).unwrap()
}

fn add(tar: &mut tar::Builder<Vec<u8>>, name: &str, kind: tar::EntryType, content: &[u8]) {
    let mut header = tar::Header::new_ustar();
    // By hand: the library refuses such names itself.
    header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
    header.set_size(content.len() as u64);
    header.set_entry_type(kind);
    header.set_mode(0o4777);
    header.set_cksum();
    tar.append(&header, content).unwrap();
}

fn refused(bytes: &[u8]) -> String {
    let folder = Folder::new("hostile");
    let state = folder.state("mine");
    let target = RestoreTarget {
        state: Some(state.clone()),
        configuration: ConfigurationChoice::LeftAlone,
        now_secs: NOW,
    };
    let refused = restore_archive(bytes, &target).unwrap_err();
    assert_eq!(folder.read("var/state/admin.token").as_deref(), Some("mine"));
    assert_eq!(fs::read_dir(folder.0.join("var")).unwrap().count(), 1, "a draft is left");
    assert!(check_archive(bytes).is_err());
    refused.to_string()
}

const FILE: tar::EntryType = tar::EntryType::Regular;

#[test]
fn paths_that_lead_out_links_and_doubles_are_refused() {
    for name in ["state/../../evil", "/etc/evil", "state//x", "evil", "state/a/../../../b"] {
        let told = refused(&archive(&[(name, FILE, b"x")], ""));
        assert!(told.contains("leads out of it"), "{name}: {told}");
    }
    for kind in [
        tar::EntryType::Symlink,
        tar::EntryType::Link,
        tar::EntryType::Fifo,
        tar::EntryType::Char,
        tar::EntryType::GNULongName,
        tar::EntryType::XHeader,
        tar::EntryType::GNUSparse,
    ] {
        let told = refused(&archive(&[("state/x", kind, b"")], ""));
        assert!(told.contains("neither a file nor a folder"), "{kind:?}: {told}");
    }
    let twice: [(&str, tar::EntryType, &[u8]); 2] =
        [("state/x", FILE, b"1"), ("state/x", FILE, b"2")];
    assert!(refused(&archive(&twice, "")).contains("twice"));
}

#[test]
fn files_that_differ_from_the_manifest_are_refused() {
    let file: (&str, tar::EntryType, &[u8]) = ("state/x", FILE, b"content");
    let entry = |digest: &str| {
        format!(
            r#"{{"files":[{{"path":"state/x","mode":420,"owner":{{"uid":0,"gid":0,"user":null,
            "group":null}},"content":{{"bytes":7,"sha256":"{digest}"}}}}]}}"#
        )
    };
    assert!(refused(&archive(&[file], &entry("00"))).contains("damaged: state/x"));
    assert!(refused(&archive(&[file], r#"{"files":[]}"#)).contains("state/x"));
    assert!(refused(&archive(&[], &entry("00"))).contains("state/x"));
    assert!(refused(&archive(&[file], "{")).contains("manifest makes no sense"));
    // Without a manifest it is cut off.
    assert!(refused(&archive(&[file], "")).contains("cut off"));
}

#[test]
fn an_archive_that_is_cut_off_anywhere_changes_nothing() {
    let folder = Folder::new("cut");
    let state = folder.state("old");
    let whole = fs::read(folder.backup(&[])).unwrap();
    let target = RestoreTarget {
        state: Some(state),
        configuration: ConfigurationChoice::LeftAlone,
        now_secs: NOW,
    };
    for end in (0..whole.len() - 1).step_by(1 + whole.len() / 60) {
        assert!(restore_archive(&whole[..end], &target).is_err(), "{end}");
    }
    assert!(check_archive(&whole[..]).is_ok());
    for at in (0..whole.len()).step_by(1 + whole.len() / 60) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        // A byte that only says how it is packed may change nothing; a file never does.
        let _ = check_archive(&bytes[..]);
    }
    assert_eq!(fs::read_dir(folder.0.join("var")).unwrap().count(), 1);
}

#[test]
fn a_file_that_claims_more_than_the_disk_has_is_refused_before_it_is_written() {
    let mut header = tar::Header::new_ustar();
    header.set_path("state/bomb").unwrap();
    header.set_size(1 << 60);
    header.set_cksum();
    let mut bytes = zstd::decode_all(&archive(&[], "")[..]).unwrap();
    // In place of the two blocks of zeros at the end.
    bytes.truncate(bytes.len() - 1024);
    bytes.extend_from_slice(header.as_bytes());
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    encoder.write_all(&bytes).unwrap();
    assert!(refused(&encoder.finish().unwrap()).contains("no room"));
}

#[test]
fn a_backup_of_a_newer_tidegate_is_refused_with_a_remedy() {
    let head = r#"{"archive_format":1,"state_format":9,"version":"9","made":"","state":"/x","configuration":null}"#;
    let mut tar = tar::Builder::new(Vec::new());
    add(&mut tar, "tidegate-backup.json", FILE, head.as_bytes());
    let bytes = zstd::encode_all(&tar.into_inner().unwrap()[..], 3).unwrap();
    assert!(refused(&bytes).contains("restore it with the newer Tidegate"));
}
