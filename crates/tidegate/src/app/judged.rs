//! A plan judged beyond what the configuration's text says: the lists, files and folders that it
//! names, and what is allowed and may still be a mistake.
//!
//! It starts nothing and touches nothing. Called by `check`, and for drafts of the dashboard.

use super::doors::HTTP_DOORS;
use super::{block_page, fleet_live, pixel_warnings, private, scripts, sign_on};
use crate::cli::CommandSetup;
use config::{FileComplaint, Plan};
use file_access::private_files::PrivateFiles;
use http_front::check_certificate;
use signer::CaCertificate;
use std::path::Path;
use std::sync::Arc;
use vocab::Door;

/// Complaints and warnings about a plan.
pub(crate) struct JudgedPlan {
    /// Everything that is wrong.
    pub(crate) complaints: Vec<FileComplaint>,
    /// Remarks on what may be a mistake, a line each.
    pub(crate) warnings: Vec<String>,
}

/// Treatment of lists, which may take seconds and the memory of all rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListReading {
    /// They are read and compiled.
    Read,
    /// They are those in force, and are not looked at.
    Known,
}

/// Judges a plan.
pub(crate) fn judge(
    setup: &CommandSetup,
    plan: &Plan,
    state: &Path,
    lists: ListReading,
) -> JudgedPlan {
    let (mut complaints, mut remarks) = (Vec::new(), Vec::new());
    if lists == ListReading::Read {
        let texts = policy_lists::read(plan, state);
        let rules = texts.compile();
        (complaints, remarks) = (texts.problems, texts.remarks);
        complaints.extend(policy_lists::not_in_force(plan, &rules));
        remarks.extend(policy_lists::without_rules(&rules));
    }
    let base = plan.base(state);
    let own = Arc::new(PrivateFiles::new(private::paths(plan, state, setup)));
    let named = HTTP_DOORS.iter().flat_map(|entry| {
        let found = (entry.check_files)(plan, base, &own).into_iter();
        found.map(|complaint| complaint.under(entry.door.as_str()))
    });
    let dns = plan.file.dns.as_ref().map(|dns| door_dns::check_files(dns, base));
    let dns = dns.into_iter().flatten().map(|complaint| complaint.under(Door::Dns.as_str()));
    let admin = plan.file.admin.https.as_ref().and_then(|https| {
        let (chain, key) = (https.certificate.as_ref()?, https.key.as_ref()?);
        check_certificate(chain, key, base, "https.certificate")
    });
    let provider = sign_on::check_authorities(plan, base);
    let admin = admin.into_iter().chain(provider).map(|complaint| complaint.under("admin"));
    let live = fleet_live::check_files(plan, base);
    let named = named.chain(dns).chain(admin).chain(live);
    complaints.extend(named.map(|complaint| plan.locate(complaint)));
    complaints.extend(start_privileges::bad_account(plan));
    complaints.extend(scripts::decision_script(plan, state, None).err());
    complaints.extend(block_page::read(plan, state).err().unwrap_or_default());
    let mut warnings =
        if complaints.is_empty() { warnings(setup, plan, state) } else { Vec::new() };
    warnings.extend(remarks);
    JudgedPlan { complaints, warnings }
}

/// Remarks about what is allowed and may still be a mistake, a line each.
fn warnings(setup: &CommandSetup, plan: &Plan, state: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    let foreign = plan.file.dns.as_ref().and_then(|dns| dns.foreign.as_ref());
    if let Some(foreign) = foreign {
        let dumps = foreign.dumps().iter().filter_map(door_dns::CacheDump::warning);
        let told = foreign.warnings().iter().chain(dumps);
        lines.extend(told.map(|told| plan.locate(told.clone()).to_string()));
    }
    let told = plan.warnings().into_iter().chain(pixel_warnings(plan));
    let told = told.chain(private::warnings(plan, state, setup));
    lines.extend(told.map(|told| told.to_string()));
    lines.extend(diagnosis::readable_secrets(plan, state, private::secrets(plan)));
    lines.extend(diagnosis::unusable_listeners(plan, state));
    lines.extend(start_privileges::warnings(plan, state));
    lines.extend(state_folder::problems(state));
    let age = CaCertificate::read(&state.join("ca"))
        .and_then(|ca| ca.warning(transport::clock::now().unix_secs()));
    lines.extend(age.map(|age| format!("{}: {age}", state.join("ca/ca.pem").display())));
    lines
}
