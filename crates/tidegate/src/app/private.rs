//! What of this program's own files no door serves, and the roots that hold some of it.
//!
//! Every file with a secret that a configuration names is listed here, beside the state folder and
//! the configuration itself. The doors refuse them wherever a root reaches them
//! ([`file_access::private_files`]); `check` and the start say so. A setting that names another
//! secret belongs into [`paths`].

use crate::cli::CommandSetup;
use config::{FileComplaint, Plan};
use file_access::private_files::PrivatePaths;
use fleet_edge::{OVERLAY_FOLDER, SECRET_FOLDER};
use std::path::{Path, PathBuf};
use vocab::Complaint;

/// Private paths that one warning names.
const NAMED_MAX: usize = 3;

/// Everything that no door serves by this plan.
pub(crate) fn paths(plan: &Plan, state: &Path, setup: &CommandSetup) -> PrivatePaths {
    let base = plan.base(state);
    let mut private = vec![state.to_path_buf(), state.join("ca")];
    private.extend(state_archive::leftovers(state));
    // The site of the built-in configuration.
    let mut public = vec![state.join("www")];
    // Another Tidegate may be at home where this one serves.
    let roots: Vec<_> = roots(plan).into_iter().map(|(_, root)| base.join(root)).collect();
    let usual = setup.default_places(&roots);
    public.extend(usual.iter().map(|place| place.join("www")));
    private.extend(usual);
    if let Some(fleet) = plan.fleet_layers() {
        // Sites come with the bundle, and so do secrets.
        public.extend(roots.iter().filter(|root| root.starts_with(&fleet.folder)).cloned());
        private.extend([SECRET_FOLDER, OVERLAY_FOLDER].map(|name| fleet.folder.join(name)));
    }
    if !plan.is_built_in() && !setup.is_written_by_command() {
        private.push(plan.source.clone());
        let behind = plan.source.canonicalize().unwrap_or_else(|_| plan.source.clone());
        private.push(config_history::undo_mark(&behind));
        private.extend(state_archive::leftovers(&plan.source));
        private.extend(plan.included_files().iter().cloned());
    }
    private.extend(secrets(plan).map(|path| base.join(path)));
    private.extend(folders(plan).map(|path| state.join(path)));
    let absolute = |path: PathBuf| std::path::absolute(&path).unwrap_or(path);
    PrivatePaths {
        private: private.into_iter().map(absolute).collect(),
        public: public.into_iter().map(absolute).collect(),
    }
}

/// Files with secrets, and records of who asked for what, as they stand in the configuration.
pub(crate) fn secrets(plan: &Plan) -> impl Iterator<Item = &Path> {
    let file = &plan.file;
    let dns = file.dns.iter().filter_map(|dns| Some(dns.certificate.as_ref()?.key.as_path()));
    let web = file.web.iter().flat_map(|site| {
        let key = site.tls.key.as_deref();
        let users = site.auth.iter().filter_map(|auth| Some(Path::new(auth.file.as_ref()?)));
        key.into_iter().chain(users)
    });
    let gateway = file.gateway.iter().flat_map(|gateway| {
        let own = gateway.tls.certificates.iter().map(|files| files.key.as_path());
        let shown = gateway.pools.values().filter_map(|pool| pool.tls.key.as_deref());
        let auth = gateway.routes.iter().filter_map(|route| route.auth.as_ref());
        own.chain(shown).chain(auth.filter_map(|auth| Some(Path::new(auth.file.as_ref()?))))
    });
    let proxy = file.proxy.iter().flat_map(|proxy| {
        let users = proxy.auth.iter().filter_map(|auth| Some(Path::new(auth.file.as_ref()?)));
        proxy.tls.key.as_deref().into_iter().chain(users)
    });
    let values = plan.secret_files().iter().map(PathBuf::as_path);
    let admin = file.admin.https.iter().filter_map(|https| https.key.as_deref());
    dns.chain(web).chain(gateway).chain(proxy).chain(admin).chain(values)
}

/// Folders with what other people have fetched, as they stand in the configuration.
pub(crate) fn folders(plan: &Plan) -> impl Iterator<Item = &Path> {
    let file = &plan.file;
    let proxy = file.proxy.iter().filter_map(|proxy| proxy.cache.as_ref()?.disk.as_ref());
    let gateway = file.gateway.iter().filter_map(|gateway| gateway.cache.disk.as_ref());
    let caches = proxy.chain(gateway).map(|disk| disk.path.as_path());
    // An empty path is complained about; joined, it would be the folder itself.
    caches.filter(|path| !path.as_os_str().is_empty())
}

/// Roots that hold something private: served without it, but surely not meant so.
pub(crate) fn warnings(plan: &Plan, state: &Path, setup: &CommandSetup) -> Vec<FileComplaint> {
    let private = existing(&paths(plan, state, setup).private);
    let base = plan.base(state);
    let warning = |(place, root): (String, PathBuf)| {
        let real = std::fs::canonicalize(base.join(&root)).ok()?;
        let inside = private.iter().filter(|path| path.starts_with(&real) && **path != real);
        let mut names: Vec<String> = inside
            .filter_map(|path| Some(path.strip_prefix(&real).ok()?.display().to_string()))
            .collect();
        let more = names.len().saturating_sub(NAMED_MAX);
        names.truncate(NAMED_MAX);
        let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
        let names = (!names.is_empty()).then(|| names.join(", "))?;
        let message = format!(
            "{}: Tidegate's own files lie in this folder and are not served: {names}{rest}",
            root.display()
        );
        let complaint = Complaint::new(place, message);
        Some(plan.locate(
            complaint.remedy("name a folder for the site alone, or keep these outside of it"),
        ))
    };
    roots(plan).into_iter().filter_map(warning).collect()
}

/// Where private paths really are, those left out that lie below another.
fn existing(paths: &[PathBuf]) -> Vec<PathBuf> {
    let mut real: Vec<_> =
        paths.iter().filter_map(|path| std::fs::canonicalize(path).ok()).collect();
    real.sort_unstable();
    // What lies below a path comes right behind it.
    real.dedup_by(|later, earlier| later.starts_with(&*earlier));
    real
}

/// Folders that doors serve from, with their places in the configuration.
fn roots(plan: &Plan) -> Vec<(String, PathBuf)> {
    let sites = plan.file.web.iter().enumerate();
    let sites = sites.map(|(index, site)| (format!("web.{index}.root"), (&site.root).into()));
    let gateway = plan.file.gateway.iter().flat_map(|gateway| {
        let folders = gateway.folders();
        let folders = folders
            .map(|(index, folder)| (format!("gateway.routes.{index}.root"), folder.root.into()));
        let reproxied = gateway.routes.iter().enumerate().filter_map(|(index, route)| {
            let files = route.reproxy.as_ref()?.files.as_ref()?;
            Some((format!("gateway.routes.{index}.reproxy.files"), files.into()))
        });
        folders.chain(reproxied)
    });
    sites.chain(gateway).collect()
}
