//! CGI programs: which paths of a site are programs of a folder.
//!
//! A program is a file that may be executed, found segment by segment below its folder; what
//! follows it in the path is for the program. Nothing of such a folder is ever sent. The `cgi`
//! crate runs it. Called by `look` and `script`.

mod settings;

pub(crate) use self::settings::check;
pub use self::settings::{CgiChoice, CgiSettings};

use crate::path::PathTarget;
use crate::root::{FoundPath, NotOpened, SiteRoot};
use crate::settings::SiteSettings;
use crate::settings::written::SymlinkMode;
use ::cgi::{CgiOptions, CgiRunner};
use file_access::private_files::PrivateFiles;
use rustix::fs::fstat;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use transport::clock;
use vocab::{Complaint, Now};

/// Right to execute a file, for anybody.
const EXECUTABLE: u32 = 0o111;

/// The folders of programs of one site.
pub(crate) struct SitePrograms(Vec<Arc<ProgramFolder>>);

/// A folder of programs.
pub(crate) struct ProgramFolder {
    /// Part of a URL's path, from slash to slash.
    prefix: Box<str>,
    root: SiteRoot,
    pub(crate) runner: CgiRunner,
}

/// The program that a path leads to.
pub(crate) struct FoundProgram {
    pub(crate) folder: Arc<ProgramFolder>,
    /// Path in the URL.
    pub(crate) name: String,
    /// Rest of the path.
    pub(crate) path_info: String,
    /// The file, absolute.
    pub(crate) file: PathBuf,
}

impl SitePrograms {
    /// Opens the folders of a site, relative ones from `base`. Complaints have paths relative to
    /// the site.
    pub(crate) fn open(
        site: &SiteSettings,
        base: &Path,
        private: &Arc<PrivateFiles>,
    ) -> Result<Self, Vec<Complaint>> {
        let (mut folders, mut complaints) = (Vec::new(), Vec::new());
        for (pattern, choice) in &site.cgi {
            let under = |it: Complaint| it.under(pattern).under("cgi");
            let settings = choice.settings();
            let Some(prefix) = settings::prefix(pattern) else { continue };
            let path = base.join(&settings.root);
            match SiteRoot::open(&path, SymlinkMode::Inside, private, clock::now()) {
                Ok(root) => {
                    let shown = served(&base.join(&site.root), &site.path, prefix, &path);
                    complaints.extend(shown.map(under));
                    let runner = CgiRunner::new(options(&settings));
                    folders.push(Arc::new(ProgramFolder { prefix: prefix.into(), root, runner }));
                }
                Err(why) => {
                    let message = format!("{}: {why}", settings.root);
                    complaints.push(under(
                        Complaint::new("", message)
                            .remedy("name a folder of programs that this user may read"),
                    ));
                }
            }
        }
        // The longest path says the most.
        folders.sort_by_key(|folder| std::cmp::Reverse(folder.prefix.len()));
        if complaints.is_empty() { Ok(Self(folders)) } else { Err(complaints) }
    }

    /// True if there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The program of a path; none if the path is no program's.
    pub(crate) fn find(
        &self,
        whole: &PathTarget,
        now: Now,
    ) -> Option<Result<FoundProgram, NotOpened>> {
        if self.is_empty() {
            return None;
        }
        let path = whole.text();
        let folder = self.0.iter().find(|folder| path.starts_with(&*folder.prefix))?;
        Some(folder.find(&path[folder.prefix.len()..], now))
    }
}

impl ProgramFolder {
    /// The program that `below`, the path behind the folder's, leads to.
    fn find(self: &Arc<Self>, below: &str, now: Now) -> Result<FoundProgram, NotOpened> {
        let ends = below.match_indices('/').map(|(at, _)| at).chain([below.len()]);
        for end in ends {
            let (name, path_info) = below.split_at(end);
            if name.is_empty() || name.split('/').any(|part| part.starts_with('.')) {
                return Err(NotOpened::NotFound);
            }
            match self.root.find(Path::new(name), now)? {
                FoundPath::Folder => {}
                FoundPath::File(found) => {
                    let mode = fstat(&found.file).map_err(|_| NotOpened::Failed)?.st_mode;
                    if mode & EXECUTABLE == 0 {
                        return Err(NotOpened::Forbidden);
                    }
                    return Ok(FoundProgram {
                        folder: Arc::clone(self),
                        name: [&*self.prefix, name].concat(),
                        path_info: path_info.to_owned(),
                        file: self.root.path().join(name),
                    });
                }
            }
        }
        Err(NotOpened::NotFound)
    }
}

fn options(settings: &CgiSettings) -> CgiOptions {
    CgiOptions {
        processes: settings.processes,
        params: settings.params.clone(),
        timeout: settings.timeout.0.0,
        body_max: settings.body_max.bytes(),
    }
}

/// The complaint about programs that the site would send under another path.
fn served(root: &Path, path: &str, prefix: &str, folder: &Path) -> Option<Complaint> {
    let (root, folder) = (root.canonicalize().ok()?, folder.canonicalize().ok()?);
    let below = folder.strip_prefix(&root).ok()?;
    let shown = [path, below.to_str()?, "/"].concat();
    let is_covered = !below.as_os_str().is_empty() && shown == prefix;
    (!is_covered).then(|| {
        let message = format!("the site sends the source of these programs: they stand at {shown}");
        Complaint::new("", message).remedy("keep the programs outside the site's root")
    })
}
