//! Privileges at the start: what the configuration needs is kept, all else is given up.
//!
//! This happens once, before the first thread and before the first byte from outside. Work that
//! only root can do is done before: the state folder gets its owner, certificates that root alone
//! may read are read, and the launcher of signers begins. A reload whose configuration needs more
//! is refused and says so (docs/adr/0026). Called by the start, by reloads, and by `check` for its
//! warnings.

mod needs;

use command_output::{CommandFailure, ExitReason};
use config::{FileComplaint, LandlockMode, Plan};
use needs::{SystemNeeds, WritablePlace};
use sandbox::{
    AccountError, Capability, FileAccess, HeldPrivileges, KernelProtection, OwnershipError,
    PrivilegePlan, ProgramStarts, SystemAccount,
};
use signer::{SignerLauncher, SignerProgram};
use std::fmt::{self, Display};
use std::fs::{OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use transport::tls::cache_pem;
use vocab::Complaint;

/// The variable by which the unit names the socket of its launcher of signers.
const SIGNER_SOCKET: &str = "TIDEGATE_SIGNER_SOCKET";
/// Bits of a file's mode.
const READ: u32 = 4;
const WRITE: u32 = 2;
const SEARCH: u32 = 1;

/// Privileges as the start left them.
#[derive(Debug)]
pub struct StartPrivileges {
    /// Privileges and protections until the end.
    pub held: HeldPrivileges,
    /// Notes for the operator.
    pub notes: Vec<String>,
    programs: ProgramStarts,
    writable: Option<Vec<PathBuf>>,
}

/// Privileges at the start, and what was started while there were more of them.
pub struct PrivilegedStart {
    /// Privileges as they are now.
    pub privileges: StartPrivileges,
    /// Starts signers as root; none where the process never was root.
    pub launcher: Option<SignerLauncher>,
}

/// The account to become, where root started this; none where the process stays who it is.
fn account(plan: &Plan) -> Result<Option<SystemAccount>, (&'static str, AccountError)> {
    let group = plan.file.group.as_deref();
    let at = |why: AccountError| match why {
        AccountError::NoGroup(_) => ("group", why),
        AccountError::NoUser(_) | AccountError::Root(_) => ("user", why),
    };
    let found = match &plan.file.user {
        Some(user) => SystemAccount::find(user, group).map_err(at)?,
        None if !is_root() => return Ok(None),
        None => SystemAccount::default_of_system(group).map_err(at)?,
    };
    Ok(is_root().then_some(found))
}

fn is_root() -> bool {
    SystemAccount::present().uid == 0
}

/// Gives up what the plan does not need. The state folder is made, and belongs to the account from
/// now on. `launcher` is what starts signers as root, where the process is root.
pub fn drop_privileges(
    launcher: &SignerProgram,
    plan: &Plan,
    state: &Path,
) -> Result<PrivilegedStart, CommandFailure> {
    let cannot = |why: &dyn Display| CommandFailure::new(ExitReason::NotStarted, why);
    if let Some(complaint) = bad_account(plan) {
        return Err(CommandFailure::complaints(&[complaint]));
    }
    let account = account(plan).ok().flatten();
    let needs = SystemNeeds::of(plan, state);
    let mut notes = Vec::new();
    // Root that is alone in its namespace is an ordinary user outside of it.
    let account = account.filter(|account| {
        let may = sandbox::can_become(account);
        if !may {
            let name = &account.name;
            notes.push(format!("this user namespace has no user {name}: root stays what it is"));
        }
        may
    });
    let mut begun = None;
    if let Some(account) = &account {
        // What cannot be given away is a fault of the disk: doors that can do without it go on.
        let given = sandbox::give_ownership(state, account, Some(c"ca"));
        notes.extend(given.err().map(|why| why.to_string()));
        check_reachable(state, account).map_err(|why| cannot(&why))?;
        needs.writable_places.iter().for_each(|place| prepare(place, account));
        notes.extend(hold_certificates(&needs, account));
        notes.extend(shared_account(plan, account));
    }
    if let Some(tried) = begin_launcher(launcher, state, account.as_ref()) {
        match tried {
            Ok(launcher) => begun = Some(launcher),
            Err(why) => notes.push(format!("there are no certificates of the authority: {why}")),
        }
    }
    let programs = match begun {
        Some(_) if !needs.starts_programs => ProgramStarts::Refused,
        // Without a launcher the signer is this program's own child.
        Some(_) | None => ProgramStarts::Allowed,
    };
    // What programs write is not known here, and they would inherit the bounds.
    let is_bounded = plan.file.landlock == LandlockMode::On && !needs.starts_programs;
    let writable = is_bounded.then(|| needs.folders(state));
    let wanted =
        PrivilegePlan { account, keep: needs.capabilities, programs, writable: writable.clone() };
    let held = wanted.apply().map_err(|why| cannot(&why))?;
    let writable = writable.filter(|_| held.has(KernelProtection::WriteBounds));
    let privileges = StartPrivileges { held, notes, programs, writable };
    Ok(PrivilegedStart { privileges, launcher: begun })
}

/// Takes the authority's folder for root, and starts who alone may read in it. Where the service
/// manager has such a launcher, that one is taken; where neither is possible there is none.
fn begin_launcher(
    program: &SignerProgram,
    state: &Path,
    account: Option<&SystemAccount>,
) -> Option<Result<SignerLauncher, NoLauncher>> {
    if let Some(socket) = std::env::var_os(SIGNER_SOCKET) {
        return Some(SignerLauncher::connect(Path::new(&socket)).map_err(NoLauncher::Process));
    }
    account?;
    let folder = sandbox::make_folder_of_root(&state.join("ca")).map_err(NoLauncher::Folder);
    Some(
        folder
            .and_then(|folder| SignerLauncher::start(program, folder).map_err(NoLauncher::Process)),
    )
}

/// Reasons why there is no launcher of signers.
#[derive(Debug)]
enum NoLauncher {
    /// The authority's folder cannot be root's.
    Folder(OwnershipError),
    Process(io::Error),
}

impl Display for NoLauncher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(why) => why.fmt(f),
            Self::Process(why) => {
                write!(f, "the launcher of signers cannot be started: {why}")
            }
        }
    }
}

/// A state folder that an account cannot get to.
#[derive(Debug)]
struct UnreachableState<'p> {
    state: &'p Path,
    user: &'p str,
}

impl Display for UnreachableState<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the state folder {} cannot be reached by the user {}, whom Tidegate becomes when root \
             starts it; name a folder such as /var/lib/tidegate under state_dir or with --state",
            self.state.display(),
            self.user
        )
    }
}

/// The complaint about an account that cannot be used, if it is one.
pub fn bad_account(plan: &Plan) -> Option<FileComplaint> {
    let (path, why) = account(plan).err()?;
    Some(plan.locate(Complaint::new(path, why.to_string()).remedy(why.remedy())))
}

/// A note where the account is one that other programs may have.
fn shared_account(plan: &Plan, account: &SystemAccount) -> Option<String> {
    let is_shared = plan.file.user.is_none() && account.name == "nobody";
    is_shared.then(|| {
        "it runs as the user nobody, which other programs may share: make a user for it with `useradd \
         --system --no-create-home --shell /usr/sbin/nologin tidegate`"
            .into()
    })
}

/// Refuses a state folder that the account cannot get to.
fn check_reachable<'p>(
    state: &'p Path,
    account: &'p SystemAccount,
) -> Result<(), UnreachableState<'p>> {
    if has_access(state, account, READ | WRITE | SEARCH) {
        return Ok(());
    }
    Err(UnreachableState { state, user: &account.name })
}

/// True if the account may do this with a file or folder, by the modes of all folders above it.
fn has_access(path: &Path, account: &SystemAccount, bits: u32) -> bool {
    let Ok(path) = path.canonicalize() else { return false };
    let has = |path: &Path, bits| {
        let found = std::fs::metadata(path);
        found.is_ok_and(|it| {
            account.has_access(bits, FileAccess { uid: it.uid(), gid: it.gid(), mode: it.mode() })
        })
    };
    has(&path, bits) && path.ancestors().skip(1).all(|above| has(above, SEARCH))
}

/// Makes what is to be written, and gives it to the account. What cannot be is told by whoever
/// wants to write there.
fn prepare(place: &WritablePlace, account: &SystemAccount) {
    match place {
        WritablePlace::Folder(path) => {
            if !path.exists() {
                // The folders above it are only passed through.
                let _ = std::fs::DirBuilder::new().recursive(true).mode(0o755).create(path);
                let _ = std::fs::set_permissions(path, Permissions::from_mode(0o700));
            }
            // One below the state folder has just been made by root, too.
            if !has_access(path, account, READ | WRITE | SEARCH) {
                let _ = sandbox::give_ownership(path, account, None);
            }
        }
        WritablePlace::Site(_) | WritablePlace::Kept(_) => {}
        WritablePlace::Log(path) => {
            let _ = OpenOptions::new().create_new(true).append(true).mode(0o640).open(path);
            if path.is_file() {
                let _ = sandbox::give_ownership(path, account, None);
            }
        }
        WritablePlace::Replaced(path) => {
            if path.is_file() {
                let _ = sandbox::give_ownership(path, account, None);
            }
        }
    }
}

/// Reads the certificates and keys that the account cannot read, and says which they are.
fn hold_certificates(needs: &SystemNeeds, account: &SystemAccount) -> Option<String> {
    let closed = |path: &&PathBuf| path.is_file() && !has_access(path, account, READ);
    let held = needs.certificates.iter().filter(closed).filter(|path| cache_pem(path).is_ok());
    let names: Vec<_> = held.map(|path| path.display().to_string()).collect();
    (!names.is_empty()).then(|| {
        format!(
            "{} can be read by root alone: what was read at the start is served until the next \
             one; give the group of {} the right to read, and a renewal is taken at once",
            names.join(", "),
            account.name
        )
    })
}

/// Warnings of `check`: files that the account could not read at a reload.
pub fn warnings(plan: &Plan, state: &Path) -> Vec<String> {
    // An account that cannot be used is a complaint.
    let Ok(Some(account)) = account(plan) else { return Vec::new() };
    let needs = SystemNeeds::of(plan, state);
    let closed =
        needs.read.iter().filter(|path| path.exists() && !has_access(path, &account, READ));
    let told = closed.map(|path| {
        format!(
            "{}: the user {} cannot read it, so a reload cannot; give that user or its group the \
             right to",
            path.display(),
            account.name
        )
    });
    let unwritable = needs.writable_places.iter().filter_map(|it| unwritable(it, &account));
    told.chain(unwritable).collect()
}

/// Warning about a place that the account could not write.
fn unwritable(place: &WritablePlace, account: &SystemAccount) -> Option<String> {
    let name = &account.name;
    let folder = place.folder();
    let is_closed = folder.exists() && !has_access(folder, account, WRITE | SEARCH);
    match place {
        WritablePlace::Site(path) => {
            let is_closed = path.exists() && !has_access(path, account, READ | WRITE | SEARCH);
            is_closed.then(|| {
                format!(
                    "{}: clients of this site write, and the user {name} cannot: give that user \
                     or its group the right to",
                    path.display()
                )
            })
        }
        WritablePlace::Replaced(path) => is_closed.then(|| {
            format!(
                "{}: the user {name} cannot write to its folder, so this cache is kept in the \
                 state folder; give that user or its group the right to",
                path.display()
            )
        }),
        WritablePlace::Kept(path) => {
            let facts = path.metadata().ok().filter(std::fs::Metadata::is_file);
            let is_strange = facts.is_some_and(|facts| is_closed || facts.uid() != account.uid);
            is_strange.then(|| {
                format!(
                    "{}: commands cannot change it (admin.config_edits), because the user {name} \
                     does not own it or cannot write to its folder: give it both",
                    path.display()
                )
            })
        }
        WritablePlace::Folder(_) | WritablePlace::Log(_) => None,
    }
}

/// One line about what would hold, for `check`.
pub fn foretold(plan: &Plan, state: &Path) -> Option<String> {
    let needs = SystemNeeds::of(plan, state);
    let account = account(plan).ok()?.unwrap_or_else(SystemAccount::present);
    let kept: Vec<_> = needs.capabilities.iter().map(ToString::to_string).collect();
    let kept = if kept.is_empty() { "no capabilities".into() } else { kept.join(", ") };
    let mut line = format!("privileges: user {}, {kept}, no-new-privs", account.name);
    if plan.file.landlock == LandlockMode::On && !needs.starts_programs {
        line.push_str(", landlock");
    }
    line.push_str(", seccomp");
    Some(line)
}

impl StartPrivileges {
    /// Complaints about needs of the plan that were given up at the start; nothing of it is taken
    /// over.
    pub fn refuse(&self, plan: &Plan, state: &Path) -> Vec<Complaint> {
        let needs = SystemNeeds::of(plan, state);
        let restart = |path: &str, why: String| {
            Complaint::new(path, why).remedy("restart Tidegate to take this over")
        };
        let mut complaints = Vec::new();
        if let Some(writable) = &self.writable {
            let outside = |path: &&Path| !sandbox::is_within(path, writable);
            complaints.extend(
                needs.writable_places.iter().map(WritablePlace::folder).filter(outside).map(
                    |path| {
                        let path = path.display();
                        restart(
                            "",
                            format!("{path} cannot be written: landlock holds since the start"),
                        )
                    },
                ),
            );
        }
        let refused = self.programs == ProgramStarts::Refused || self.writable.is_some();
        if needs.starts_programs && refused {
            let why = "programs cannot be started: the configuration of the start had none";
            complaints.push(restart("", why.into()));
        }
        for capability in &needs.capabilities {
            let what = match capability {
                Capability::BindService => "ports below 1024 cannot be listened on",
                Capability::NetworkAdmin => {
                    "sets of the firewall and marks cannot be written, nor `tproxy` listeners opened"
                }
                Capability::ReadFiles
                | Capability::OverrideFiles
                | Capability::SetUser
                | Capability::SetGroup
                | Capability::Kill => continue,
            };
            // Who started without it never had it, and may do without.
            if self.held.dropped.contains(capability) {
                complaints.push(restart("", format!("{what}: {capability} was given up")));
            }
        }
        complaints
    }
}
