//! Warnings about this machine, in the form of complaints: secrets that everybody here can read,
//! listeners that cannot be had.
//!
//! Files are looked at and addresses tried; nothing listens and nothing is changed. What a
//! configuration says by itself is `config`'s to warn of.

use crate::surroundings::is_locked;
use config::Plan;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use transport::{BindProtocol, BindReason, check_bind};
use vocab::{Complaint, Scheme};

/// The bit of a file's mode by which everybody may read it.
const READABLE_BY_ALL: u32 = 0o004;

/// Lines about files with keys or passwords that any user of this machine can read.
pub fn readable_secrets<'p>(
    plan: &Plan,
    state: &Path,
    secrets: impl Iterator<Item = &'p Path>,
) -> Vec<String> {
    let base = plan.base(state);
    let mut files: Vec<PathBuf> = secrets.map(|path| base.join(path)).collect();
    if plan.has_passwords() {
        files.push(plan.source.clone());
    }
    files.sort_unstable();
    files.dedup();
    let is_open = |path: &PathBuf| {
        std::fs::metadata(path).is_ok_and(|it| it.permissions().mode() & READABLE_BY_ALL != 0)
    };
    let tell = |path: PathBuf| {
        let path = path.display();
        format!(
            "{path}: warning: every user of this machine can read this file, which holds a key or \
             passwords; chmod 640 {path}, and give it to the group that Tidegate runs as"
        )
    };
    files.into_iter().filter(is_open).map(tell).collect()
}

/// Lines about listeners whose address this machine does not have, or whose port is taken. Where a
/// Tidegate runs on this state folder, ports that are taken are its own.
pub fn unusable_listeners(plan: &Plan, state: &Path) -> Vec<String> {
    let is_running = is_locked(&state.join("lock"));
    let mut lines = Vec::new();
    for (path, listen) in plan.listen_settings() {
        let protocol = match listen.scheme {
            Scheme::Udp | Scheme::Quic => BindProtocol::Udp,
            Scheme::Tcp | Scheme::Tls | Scheme::Http | Scheme::Https | Scheme::Redirect => {
                BindProtocol::Tcp
            }
            Scheme::Tproxy => BindProtocol::TcpAnyAddress,
        };
        let Err(why) = check_bind(listen.address, protocol) else { continue };
        match why.reason {
            BindReason::InUse if is_running => {}
            // Whoever checks need not be the user that it runs as.
            BindReason::Privileged => {}
            BindReason::InUse
            | BindReason::NoSuchAddress
            | BindReason::NotTransparent
            | BindReason::Other(_) => {
                let complaint = Complaint::new(path, format!("warning: {why}"));
                lines.push(plan.locate(complaint).to_string());
            }
        }
    }
    lines
}
