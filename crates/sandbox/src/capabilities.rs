//! Capabilities and user numbers of the one thread that there is (capabilities(7), credentials(7)).
//!
//! Capabilities that are not kept leave every set, the bounding set included where the process may
//! change it. Called by [`crate::PrivilegePlan::apply`] alone, but for what says whether
//! something is needed.

use crate::account::SystemAccount;
use rustix::io::Errno;
use rustix::process::{Gid, Uid};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities, set_keep_capabilities,
    set_thread_groups, set_thread_res_gid, set_thread_res_uid,
};
use std::fmt;
use std::io;

/// A privilege of root's that may be worth keeping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capability {
    /// Listening on ports below 1024 (`CAP_NET_BIND_SERVICE`).
    BindService,
    /// Sets of ipset and nftables, marks on packets (`CAP_NET_ADMIN`).
    NetworkAdmin,
    /// Reading every file (`CAP_DAC_READ_SEARCH`); for the launcher of signers.
    ReadFiles,
    /// Reading and writing every file (`CAP_DAC_OVERRIDE`), which containers give in its place.
    OverrideFiles,
    /// Becoming another user (`CAP_SETUID`); for the launcher of signers.
    SetUser,
    /// Changing groups (`CAP_SETGID`); for the launcher of signers.
    SetGroup,
    /// Ending processes of others (`CAP_KILL`); for the launcher of signers.
    Kill,
}

const ALL: [Capability; 7] = [
    Capability::BindService,
    Capability::NetworkAdmin,
    Capability::ReadFiles,
    Capability::OverrideFiles,
    Capability::SetUser,
    Capability::SetGroup,
    Capability::Kill,
];

/// Capabilities that the kernel's sets have room for.
const CAPABILITY_BITS: u32 = 64;

impl Capability {
    const fn set(self) -> CapabilitySet {
        match self {
            Self::BindService => CapabilitySet::NET_BIND_SERVICE,
            Self::NetworkAdmin => CapabilitySet::NET_ADMIN,
            Self::ReadFiles => CapabilitySet::DAC_READ_SEARCH,
            Self::OverrideFiles => CapabilitySet::DAC_OVERRIDE,
            Self::SetUser => CapabilitySet::SETUID,
            Self::SetGroup => CapabilitySet::SETGID,
            Self::Kill => CapabilitySet::KILL,
        }
    }
}

/// Capabilities that this process may use now.
pub(crate) fn held() -> Vec<Capability> {
    let Ok(sets) = capabilities(None) else { return Vec::new() };
    ALL.into_iter().filter(|one| sets.permitted.contains(one.set())).collect()
}

fn union(keep: &[Capability]) -> CapabilitySet {
    keep.iter().fold(CapabilitySet::empty(), |all, one| all | one.set())
}

/// Takes everything else out of the bounding set, if this process may.
pub(crate) fn drop_bounds(keep: &[Capability]) {
    let keep = union(keep);
    for bit in 0..CAPABILITY_BITS {
        let one = CapabilitySet::from_bits_retain(1 << bit);
        if !keep.contains(one) {
            // Without CAP_SETPCAP it stays, and means nothing: no program gains privileges.
            let _ = remove_capability_from_bounding_set(one);
        }
    }
}

/// Becomes the account for good: real, effective and saved numbers, and its groups alone.
/// Capabilities stay until [`keep_only`].
pub(crate) fn become_account(account: &SystemAccount) -> io::Result<()> {
    let (uid, gid) = (Uid::from_raw(account.uid), Gid::from_raw(account.gid));
    let groups: Vec<Gid> = account.groups.iter().copied().map(Gid::from_raw).collect();
    set_keep_capabilities(true)?;
    // Of this thread alone, and it is the only one.
    set_thread_groups(&groups)?;
    set_thread_res_gid(gid, gid, gid)?;
    set_thread_res_uid(uid, uid, uid)?;
    Ok(set_keep_capabilities(false)?)
}

/// Drops all capabilities but these, of which those that were not there do not come; says which are
/// left.
pub(crate) fn keep_only(keep: &[Capability]) -> io::Result<Vec<Capability>> {
    let left = capabilities(None)?.permitted & union(keep);
    // A kernel without ambient capabilities has none to clear.
    let _ = clear_ambient_capability_set();
    let sets =
        CapabilitySets { effective: left, permitted: left, inheritable: CapabilitySet::empty() };
    set_capabilities(None, sets)?;
    Ok(held())
}

/// The first port that needs no privilege.
pub fn first_unprivileged_port() -> u16 {
    let told = std::fs::read_to_string("/proc/sys/net/ipv4/ip_unprivileged_port_start");
    told.ok().and_then(|text| text.trim().parse().ok()).unwrap_or(1024)
}

/// True if this process's user namespace has the account at all. Where root is alone in its
/// namespace it is an ordinary user outside, and there is nobody to become.
pub fn can_become(account: &SystemAccount) -> bool {
    let has = |map: &str, number: u32| {
        let Ok(text) = std::fs::read_to_string(map) else { return true };
        is_mapped(&text, number)
    };
    has("/proc/self/uid_map", account.uid) && has("/proc/self/gid_map", account.gid)
}

/// True if a map of `user_namespaces(7)` has the number.
fn is_mapped(map: &str, number: u32) -> bool {
    map.lines().any(|line| {
        let mut fields = line.split_whitespace().map(str::parse::<u64>);
        match (fields.next(), fields.next(), fields.next()) {
            (Some(Ok(first)), Some(Ok(_)), Some(Ok(count))) => {
                (first..first.saturating_add(count)).contains(&u64::from(number))
            }
            _ => false,
        }
    })
}

/// The capability to read every file that this process has; the lesser one if both.
pub fn file_reading_capability() -> Capability {
    let held = held();
    if held.contains(&Capability::ReadFiles) || !held.contains(&Capability::OverrideFiles) {
        Capability::ReadFiles
    } else {
        Capability::OverrideFiles
    }
}

/// Becomes another user and keeps one capability, reading files, for what is still to be read.
pub(crate) fn become_reader(account: &SystemAccount) -> Result<(), Errno> {
    let (uid, gid) = (Uid::from_raw(account.uid), Gid::from_raw(account.gid));
    set_keep_capabilities(true)?;
    set_thread_groups(&[gid])?;
    set_thread_res_gid(gid, gid, gid)?;
    set_thread_res_uid(uid, uid, uid)?;
    set_keep_capabilities(false)?;
    let left = capabilities(None)?.permitted & file_reading_capability().set();
    let inheritable = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: left, permitted: left, inheritable })
}

/// Drops what [`become_reader`] left.
pub(crate) fn drop_all() -> Result<(), Errno> {
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BindService => "CAP_NET_BIND_SERVICE",
            Self::NetworkAdmin => "CAP_NET_ADMIN",
            Self::ReadFiles => "CAP_DAC_READ_SEARCH",
            Self::OverrideFiles => "CAP_DAC_OVERRIDE",
            Self::SetUser => "CAP_SETUID",
            Self::SetGroup => "CAP_SETGID",
            Self::Kill => "CAP_KILL",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_in_a_namespace_if_a_range_of_its_map_has_it() {
        let usual = "         0          0 4294967295\n";
        let alone = "         0       1000          1\n";
        let rootless = "0 1000 1\n1 100000 65536\n";
        for (map, number, mapped) in [
            (usual, 65534, true),
            (alone, 0, true),
            (alone, 65534, false),
            (rootless, 65534, true),
            (rootless, 65537, false),
            ("nonsense", 0, false),
        ] {
            assert_eq!(is_mapped(map, number), mapped, "{map:?} {number}");
        }
    }
}
