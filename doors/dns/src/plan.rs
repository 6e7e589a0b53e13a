//! The door's settings, made ready for requests: the program that they are, and what it draws on.
//!
//! The simple settings become the same kind of program as a foreign pipeline. Made by `door` at the
//! start and on every reload; a request sees one plan from its beginning to its end.

use crate::blocked::BlockedAnswers;
use crate::guard::{DesignatedResolvers, GuardSecrets, QueryGuard};
use crate::local_names::LocalNames;
use crate::resources::PipelineResources;
use crate::settings::client_subnet::ClientSubnetSettings;
use crate::settings::{AliasesAtPixel, Settings};
use crate::simple;
use crate::special::SpecialNames;
use crate::start_error::StartError;
use crate::stream_limits;
use crate::structured::InCharge;
use pipeline::program::{Place, Program};
use query_log::QueryLog;
use scripting::{LuauScript, ScriptLog, ScriptPlace};
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use vocab::{Complaint, DomainName};

/// The settings of the door, ready for requests.
pub(crate) struct DnsPlan {
    pub(crate) program: Arc<Program>,
    /// Where runs begin, by the number that a listener has.
    entries: Box<[Place]>,
    pub(crate) local: Arc<LocalNames>,
    pub(crate) special: SpecialNames,
    pub(crate) blocked: BlockedAnswers,
    /// What names get there that only their alias blocks.
    pub(crate) aliases_at_pixel: AliasesAtPixel,
    /// Whom to ask about what is blocked.
    pub(crate) in_charge: InCharge,
    /// Types that are answered as empty.
    pub(crate) filtered: Box<[u16]>,
    pub(crate) outside: PipelineResources,
    pub(crate) guard: QueryGuard,
    pub(crate) designated: DesignatedResolvers,
    pub(crate) client_subnet: ClientSubnetSettings,
    /// Asked about questions.
    pub(crate) script: Option<LuauScript>,
    pub(crate) query_log: Option<QueryLog>,
    /// What this server is called.
    names: Box<[DomainName]>,
}

/// Parts of the door that a plan is made with.
pub(crate) struct PlanContext<'c> {
    pub(crate) secrets: &'c GuardSecrets,
    /// The folder from which relative paths start.
    pub(crate) base: &'c Path,
    /// Takes the lines of the script.
    pub(crate) log: &'c ScriptLog,
}

impl DnsPlan {
    pub(crate) fn new(
        settings: &Settings,
        pixel: &[IpAddr],
        outside: PipelineResources,
        around: &PlanContext<'_>,
        before: Option<&Self>,
    ) -> Result<Self, StartError> {
        let complaints = settings.check();
        if !complaints.is_empty() {
            return Err(StartError::Settings(complaints));
        }
        let local = LocalNames::of(settings).map_err(StartError::Settings)?;
        let script = open_script(settings, around, before)?;
        let (program, entries) = match &settings.foreign {
            Some(foreign) => (Arc::clone(&foreign.program), foreign.entries.clone()),
            None => (Arc::new(simple::program(settings, &local)), Box::from([0])),
        };
        Ok(Self {
            program,
            entries,
            local: Arc::new(local),
            special: SpecialNames::new(settings.canaries, settings.delegated()),
            blocked: BlockedAnswers::new(settings.blocked, settings.blocked_ttl_s(), pixel),
            aliases_at_pixel: settings.aliases_at_pixel,
            in_charge: InCharge::new(&settings.contact, settings.organization.as_deref()),
            // A pipeline alone says what is done.
            filtered: match &settings.foreign {
                Some(_) => Box::default(),
                None => settings.filtered().map_err(StartError::Settings)?,
            },
            outside,
            guard: QueryGuard::new(
                settings.guard(),
                around.secrets,
                stream_limits::IDLE,
                before.map(|it| &it.guard),
            ),
            designated: designated(settings),
            client_subnet: settings.client_subnet.clone(),
            script,
            query_log: QueryLog::open_if(settings.query_log.as_ref(), around.base)
                .map_err(|why| StartError::Settings(vec![why]))?,
            names: settings.names.iter().map(|name| name.0.clone()).collect(),
        })
    }

    /// The client's identifier in the name that it connected to: `tablet` in `tablet.dns.example`,
    /// where this server is called `dns.example`.
    pub(crate) fn id_in<'n>(&self, server_name: &'n str) -> Option<&'n str> {
        let (id, rest) = server_name.split_once('.')?;
        self.names.iter().any(|name| name.as_str() == rest).then_some(id)
    }

    /// Where the run of a listener's requests begins.
    pub(crate) fn entry(&self, number: u16) -> Place {
        self.entries.get(usize::from(number)).copied().unwrap_or_default()
    }
}

fn open_script(
    settings: &Settings,
    around: &PlanContext<'_>,
    before: Option<&DnsPlan>,
) -> Result<Option<LuauScript>, StartError> {
    let Some(choice) = &settings.script else { return Ok(None) };
    let before = before.and_then(|before| before.script.as_ref());
    let script = LuauScript::open_at(ScriptPlace::Dns, choice, around.base, around.log, before);
    script.map(Some).map_err(|why| StartError::Settings(vec![why]))
}

/// Complaints about the files that settings name, relative ones from `base`, with paths relative to
/// them.
pub fn check_files(settings: &Settings, base: &Path) -> Vec<Complaint> {
    let unread = scripting::unread_log();
    let script = settings.script.as_ref();
    let opened = script.map(|it| LuauScript::open_at(ScriptPlace::Dns, it, base, &unread, None));
    opened.and_then(Result::err).into_iter().collect()
}

/// Returns what clients of plain DNS are told of our encrypted listeners.
fn designated(settings: &Settings) -> DesignatedResolvers {
    let names: Vec<_> = settings.names.iter().map(|name| name.0.clone()).collect();
    let listeners: Vec<_> = settings.listen.iter().map(|listen| listen.0.clone()).collect();
    let listening: Vec<_> = listeners.iter().map(|listen| listen.address).collect();
    DesignatedResolvers::new(
        settings.ddr,
        &names,
        &transport::own_addresses(&listening),
        &listeners,
    )
}
