//! Foreign pipelines as programs: sets built, sequences flattened, listeners and upstreams listed.
//!
//! All complaints come at once. Nothing is opened: files are read through
//! [`ForeignFiles`](crate::language::ForeignFiles), and what the program needs of the world is
//! handed back as plain data. Called by whoever reads a configuration, after
//! [`crate::language::read`].

mod describe;
mod executors;
mod jobs;
mod matchers;
mod plugins;
mod sequences;
mod sets;
mod specs;

pub use describe::describe;
pub use specs::{
    CACHES_MAX, COLLECTORS_MAX, CacheSpec, EFFECTS_MAX, EffectSpec, EntryPoint, EntrySpec,
    GROUPS_MAX, GroupSpec, JobSpec, LEARNED_SETS_MAX, LearnedSpec, MEMORIES_MAX, MemorySpec,
    SELECTORS_MAX, SelectorSpec, ServerProtocol, ServerSpec, bytes_of_answers,
};

use crate::language::{
    ApiSettings, Dialect, DialectEvidence, Executor, ForeignFile, ForeignFiles, LogSettings,
    OutwardEffect, Plugin, PluginKind, ReadNotes, RuntimeSettings, ServerKind, ServerPlugin,
};
use executors::{ExecutorNeeds, ExecutorRunner};
use jobs::job_specs;
use matchers::MatcherCompiler;
use pipeline::program::{Program, SilentAnswer};
use plugins::PluginBook;
use sequences::FlatProgram;
use sets::SetCompiler;
use vocab::Complaint;

/// A foreign file, ready to be run.
#[derive(Debug)]
pub struct CompiledPipeline {
    /// Whose language it is in.
    pub dialect: Dialect,
    /// What made it one of OxiDNS.
    pub because: Option<DialectEvidence>,
    /// All sequences.
    pub program: Program,
    /// Where runs begin; servers refer to them by number.
    pub entries: Vec<EntryPoint>,
    /// Where questions come in.
    pub servers: Vec<ServerSpec>,
    /// Groups of upstreams, by the numbers that the program has for them.
    pub groups: Vec<GroupSpec>,
    /// Caches, likewise.
    pub caches: Vec<CacheSpec>,
    /// Effects, likewise.
    pub effects: Vec<EffectSpec>,
    /// Effects that are set off by the clock.
    pub jobs: Vec<JobSpec>,
    /// Memories of names by address, by the numbers that the program has for them.
    pub memories: Vec<MemorySpec>,
    /// Sets that sequences feed, likewise.
    pub learned: Vec<LearnedSpec>,
    /// Choosers among addresses, likewise.
    pub selectors: Vec<SelectorSpec>,
    /// Names of collectors, likewise.
    pub collectors: Vec<String>,
    /// Files of rules that were read: what changes when they change.
    pub files: Vec<String>,
    /// What is logged.
    pub log: LogSettings,
    /// Where the peer's own control API listened.
    pub api: Option<ApiSettings>,
    /// How the process runs.
    pub runtime: RuntimeSettings,
    /// What the user should know, those of the file's reading among them.
    pub warnings: Vec<Complaint>,
}

/// Compiles `foreign`. `seed` is a secret random number that sets of names and limiters are keyed
/// with.
pub fn compile(
    foreign: &ForeignFile,
    seed: u64,
    files: &dyn ForeignFiles,
) -> Result<CompiledPipeline, Vec<Complaint>> {
    let notes = ReadNotes::new(foreign.dialect);
    let book = PluginBook::new(foreign, &notes);
    let made = book.check_loops().ok().map(|()| {
        let sets = SetCompiler::new(&book, files, seed);
        let matchers = MatcherCompiler::new(&book, &sets, files, seed);
        let flat = FlatProgram::new(&book, &matchers, ExecutorNeeds::new(&book, &sets));
        let mut made = CompiledParts::of(flat, &book);
        made.files = sets.paths.borrow().iter().cloned().collect();
        made.learned = sets.learned.take();
        for (at, plugin) in foreign.plugins.iter().enumerate() {
            if matches!(plugin.kind, PluginKind::Provider(_)) && !sets.is_used(at) {
                let message = format!("nothing refers to {:?}, so it is not read", plugin.tag);
                notes.warn(plugin.position.complaint(message));
            }
        }
        made
    });
    let mut warnings = foreign.warnings.clone();
    warnings.extend(notes.finish()?);
    let made = made.expect("circles are complained of, and complaints end above");
    Ok(CompiledPipeline {
        dialect: foreign.dialect,
        because: foreign.because.clone(),
        program: made.program,
        entries: made.entries,
        servers: made.servers,
        groups: made.groups,
        caches: made.caches,
        effects: made.effects,
        jobs: made.jobs,
        memories: made.memories,
        learned: made.learned,
        selectors: made.selectors,
        collectors: made.collectors,
        files: made.files,
        log: foreign.log.clone(),
        api: foreign.api.clone(),
        runtime: foreign.runtime,
        warnings,
    })
}

/// Holds what is made while the book is open.
struct CompiledParts {
    program: Program,
    entries: Vec<EntryPoint>,
    servers: Vec<ServerSpec>,
    groups: Vec<GroupSpec>,
    caches: Vec<CacheSpec>,
    effects: Vec<EffectSpec>,
    jobs: Vec<JobSpec>,
    memories: Vec<MemorySpec>,
    learned: Vec<LearnedSpec>,
    selectors: Vec<SelectorSpec>,
    collectors: Vec<String>,
    files: Vec<String>,
}

impl CompiledParts {
    fn of<'f>(mut flat: FlatProgram<'f>, book: &'f PluginBook<'f>) -> Self {
        let mut entries = Vec::new();
        let mut servers = Vec::new();
        let mut jobs = Vec::new();
        for (at, plugin) in book.plugins.iter().enumerate() {
            match &plugin.kind {
                PluginKind::Server(server) => {
                    servers.push(server_spec(plugin, server, &mut entries, &mut flat));
                }
                // Also those that nobody runs: what is wrong with them is told.
                PluginKind::Executor(it @ (Executor::Sequence(_) | Executor::Fallback(_))) => {
                    flat.start_of(at, it);
                }
                PluginKind::Executor(Executor::Cron(cron)) => {
                    jobs.extend(job_specs(plugin, cron, book, &mut flat.needs));
                }
                // What it brings at the start is wanted whether somebody runs it or not.
                PluginKind::Executor(Executor::Outward(it @ OutwardEffect::Download(download)))
                    if download.startup_if_missing =>
                {
                    let runner = ExecutorRunner {
                        plugin: Some(at),
                        name: &plugin.tag,
                        position: &plugin.position,
                    };
                    flat.needs.effect(it, runner);
                }
                PluginKind::Executor(_) | PluginKind::Matcher(_) | PluginKind::Provider(_) => {}
            }
        }
        if servers.is_empty() {
            book.notes.warn(Complaint::new("plugins", "no server: no question comes in"));
        }
        let silence = match book.notes.dialect {
            Dialect::Mosdns => SilentAnswer::Refused,
            Dialect::Oxidns => SilentAnswer::Empty,
        };
        let mut program = Program { ops: flat.ops.into(), default_answer: silence };
        let places: Vec<pipeline::program::Place> =
            entries.iter().map(|it: &EntryPoint| it.start).collect();
        program.link(&places);
        let needs = flat.needs;
        Self {
            program,
            entries,
            servers,
            groups: needs.groups,
            caches: needs.caches,
            effects: needs.effects,
            jobs,
            memories: needs.memories,
            learned: Vec::new(),
            selectors: needs.selectors,
            collectors: needs.collectors,
            files: Vec::new(),
        }
    }
}

fn server_spec(
    plugin: &Plugin,
    server: &ServerPlugin,
    entries: &mut Vec<EntryPoint>,
    flat: &mut FlatProgram<'_>,
) -> ServerSpec {
    let mut specs = Vec::new();
    for it in &server.entries {
        let Some(place) = flat.start(&it.exec) else { continue };
        let known = entries.iter().position(|entry| entry.tag == it.exec.text);
        let number = known.unwrap_or_else(|| {
            entries.push(EntryPoint { tag: it.exec.text.clone(), start: place });
            entries.len() - 1
        });
        // There are no more plugins than this holds.
        specs.push(EntrySpec { path: it.path.clone(), entry: number as u16 });
    }
    let protocol = match (server.kind, &server.certificate) {
        (ServerKind::Udp, _) => ServerProtocol::Udp,
        (ServerKind::Tcp, None) => ServerProtocol::Tcp,
        (ServerKind::Tcp, Some(_)) => ServerProtocol::Tls,
        (ServerKind::Http, None) => ServerProtocol::Http,
        (ServerKind::Http, Some(_)) => ServerProtocol::Https,
        (ServerKind::Quic, _) => ServerProtocol::Quic,
    };
    ServerSpec {
        tag: plugin.tag.clone(),
        position: plugin.position.clone(),
        protocol,
        listen: server.listen.clone(),
        entries: specs,
        certificate: server.certificate.clone(),
        idle: server.idle,
        source_header: server.source_header.clone(),
    }
}
