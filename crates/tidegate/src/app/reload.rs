//! Bringing the doors to what a plan says: at the start, and again on each reload.
//!
//! Everything that can fail comes first: the configuration, the lists, the doors made from it, the
//! new addresses. Only then do running doors take their new settings; listeners that stay are never
//! touched. On a failure nothing has changed, unless a file is exchanged between the moment when a
//! door is made from it and the one when the running door reads it: then the doors before that one
//! are new, the failure says so, and the next reload brings all of them to one plan.

use super::check_picture::check_address;
use super::compiling::CompiledPolicy;
use super::doors::{DoorsNotOpen, HttpOpening, OpenDoors, located};
use super::http::BoundListeners;
use super::{RunningApp, RunningDoors, memory, private};
use super::{compiling, effective};
use ::signer::{SealedMemory, SignerStartError, SignerSuccession};
use admin::ChangeAuthor;
use admin_api::{ReloadOutcome, UpdatedList};
use config::Plan;
use config_history::FilesInForce;
use origins::Dialer;
use policy::Policy;
use policy_lists::{ListOwner, ListsNotInForce, Subscriptions};
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, PoisonError};
use std::time::Instant;
use transport::Drain;
use vocab::{Listen, Now, Scheme};

/// Warning of a configuration without lists.
pub(super) const NO_LISTS: &str = "no list is configured under policy.lists: nothing is blocked";

impl RunningApp {
    /// Opens every door of the plan for the first time.
    pub(super) fn open_doors(&self, plan: Plan) -> Result<(), DoorsNotOpen> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        self.apply(&mut running, plan)?;
        self.start_timers(&running.doors);
        self.count_upstreams();
        self.note_files(&running.plan, &config_history::outside());
        Ok(())
    }

    /// Reads configuration and lists again and takes them over, or says every complaint.
    pub(crate) fn reload(self: &Arc<Self>) -> Result<ReloadOutcome, Vec<String>> {
        self.reload_as(&config_history::outside()).map(|(outcome, _)| outcome)
    }

    /// The same for somebody who has changed files; with the number that the history gives the
    /// change.
    pub(super) fn reload_as(
        self: &Arc<Self>,
        author: &ChangeAuthor,
    ) -> Result<(ReloadOutcome, Option<u64>), Vec<String>> {
        let done = self.reload_unsettled(author)?;
        // Where a change waits, its old listeners are needed until it is confirmed.
        if self.commit.is_settled() {
            self.settle_admin();
        }
        Ok(done)
    }

    /// The same, with listeners of the admin left open that it names no more.
    pub(super) fn reload_unsettled(
        self: &Arc<Self>,
        author: &ChangeAuthor,
    ) -> Result<(ReloadOutcome, Option<u64>), Vec<String>> {
        let mut number = None;
        let outcome = self.read_again(author, &mut number);
        let outcome = self.reloads.note(transport::clock::now().unix_secs(), outcome);
        outcome.map(|outcome| (outcome, number))
    }

    fn read_again(
        self: &Arc<Self>,
        author: &ChangeAuthor,
        number: &mut Option<u64>,
    ) -> Result<ReloadOutcome, Vec<String>> {
        let begun = Instant::now();
        let _turn = self.compiling.lock().unwrap_or_else(PoisonError::into_inner);
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let lines = |text: String| text.lines().map(str::to_owned).collect::<Vec<_>>();
        let plan = self.setup.plan().map_err(|failure| lines(failure.message))?;
        // Most of the admin stays as it is until the next start, whatever the plan says.
        let mut judged = plan.clone();
        judged.file.admin = self.admin_after(&plan);
        let refused = self.privileges.refuse(&judged, self.state.path());
        if !refused.is_empty() {
            return Err(refused.into_iter().map(|it| plan.locate(it).to_string()).collect());
        }
        // What reading a pipeline's sets took must not stand beside what the lists take.
        memory::return_memory();
        let before = self.policy.load_full();
        let CompiledPolicy { policy, tables, .. } =
            compiling::compile(&plan, self.state.path(), Some(&before))
                .map_err(|failure| lines(failure.message))?;
        let log = program_log::open(&plan.file.log, plan.base(self.state.path()))
            .map_err(|why| lines(plan.locate(why).to_string()))?;
        // It reads the same files; doors may want certificates for names that it must know of.
        let succession = self.reload_signer(tables).map_err(|why| lines(why.to_string()))?;
        self.apply(&mut running, plan).map_err(|why| lines(why.to_string()))?;
        *number = self.note_files(&running.plan, author);
        succession.keep();
        self.start_signer(&running.plan);
        log.take_over();
        self.export(&running.plan);
        self.share_live_state(&running.plan);
        self.send_rows(&running.plan);
        self.follow_releases(&running.plan);
        let (lists, rules) = self.swap(policy, before);
        // Files are opened anew by every reload.
        log_sink::reopen_all();
        // The policy's script is in force by now, as are those of the doors.
        self.start_timers(&running.doors);
        self.subscriptions.all_in_force();
        self.subscribe(&running.plan, transport::clock::now())
            .map_err(|why| lines(why.to_string()))?;
        let mut warnings = self.report_lists(&running.plan);
        warnings.extend(running.warnings.iter().cloned().chain(self.subscriptions.warnings()));
        Ok(ReloadOutcome { lists, rules, took_ms: begun.elapsed().as_millis() as u64, warnings })
    }

    /// Takes the files of a plan into the history; the number of the change, if they differ.
    pub(super) fn note_files(&self, plan: &Plan, author: &ChangeAuthor) -> Option<u64> {
        if self.setup.is_written_by_command() {
            return None;
        }
        let files = FilesInForce::of(plan, self.state.path());
        let number = self.history.take_over(files, author, transport::clock::now().unix_ms);
        if let Some(trouble) = self.history.trouble() {
            log::error!(target: "program", "{trouble}");
        }
        number
    }

    /// Has the signer read everything again, and share these tables. One that did not work before
    /// either is no reason to keep old settings: why it does not is among the warnings.
    fn reload_signer(
        &self,
        tables: Option<SealedMemory>,
    ) -> Result<SignerSuccession, SignerStartError> {
        let answered = self.signer.is_ready();
        self.signer
            .reload(tables)
            .or_else(|why| if answered { Err(why) } else { Ok(SignerSuccession::NONE) })
    }

    /// Starts the signer where a pixel door came with a reload: any handshake may need it.
    fn start_signer(&self, plan: &Plan) {
        if plan.file.pixel.is_some()
            && !self.signer.is_ready()
            && let Err(why) = self.signer.start()
        {
            log::error!(target: "signer", "there are no certificates for blocked names: {why}");
        }
    }

    /// Takes the lists with a URL of a plan.
    pub(super) fn subscribe(self: &Arc<Self>, plan: &Plan, now: Now) -> io::Result<()> {
        let owner = Arc::clone(self) as Arc<dyn ListOwner>;
        policy_lists::subscribe(&owner, plan, self.state.path(), now)
    }

    /// Compiles the lists as they are now, by the plan that runs, and swaps them in; says how many
    /// lists and rules there are. The doors are not touched. A reload that comes meanwhile waits,
    /// and what it brings stands last.
    pub(super) fn compile_lists_again(&self) -> Result<(u32, u64), ListsNotInForce> {
        let _turn = self.compiling.lock().unwrap_or_else(PoisonError::into_inner);
        let plan = self.running.lock().unwrap_or_else(PoisonError::into_inner).plan.clone();
        let before = self.policy.load_full();
        let CompiledPolicy { policy, tables, .. } =
            compiling::compile(&plan, self.state.path(), Some(&before))
                .map_err(ListsNotInForce::Unreadable)?;
        // It comes to know of new names before the doors do, as with a reload. If it cannot,
        // blocking goes on without certificates for them.
        let signer = self.reload_signer(tables);
        let size = self.swap(policy, before);
        self.report_lists(&plan);
        signer.map(SignerSuccession::keep).map_err(ListsNotInForce::SignerKeeps)?;
        Ok(size)
    }

    /// Reads the lists again that are folders, all or the one of this name, and says what came of
    /// each.
    pub(super) fn read_folders(&self, name: Option<&str>) -> Vec<UpdatedList> {
        let plan = self.running.lock().unwrap_or_else(PoisonError::into_inner).plan.clone();
        let names = policy_lists::folders(&plan, self.state.path(), name);
        if names.is_empty() {
            return Vec::new();
        }
        let sums = || self.policy.load().rules().list_digests().to_vec();
        let before = sums();
        let failure = self.compile_lists_again().err().map(|why| why.to_string());
        let after = sums();
        let all = &plan.file.policy.lists;
        let is_same = |name: &String| {
            let at = all.iter().position(|list| list.name == *name);
            at.is_some_and(|at| before.get(at) == after.get(at))
        };
        let told = |name: String| {
            let outcome = match &failure {
                Some(_) => "failed",
                None if is_same(&name) => "same",
                None => "changed",
            };
            UpdatedList { name, outcome: outcome.into(), failure: failure.clone() }
        };
        names.into_iter().map(told).collect()
    }

    /// Says in the log and in the notes which lists of the configuration were read and are
    /// not in force.
    pub(super) fn report_lists(&self, plan: &Plan) -> Vec<String> {
        let policy = self.policy.load();
        let told = policy_lists::not_in_force(plan, policy.rules());
        let told: Vec<String> = told.iter().map(ToString::to_string).collect();
        for text in &told {
            log::warn!(target: "lists", "{text}");
            self.ledger.note(transport::clock::now(), None, "lists", text);
        }
        told
    }

    /// Puts a policy in force, with the pause and the overrides of the one before.
    fn swap(&self, policy: Policy, before: Arc<Policy>) -> (u32, u64) {
        policy.pause_until(before.paused_until());
        let now = transport::clock::now();
        for made in before.overrides(now) {
            // The new policy has room for as many as the one before.
            let _ = policy.set_override(made, now);
        }
        drop(before);
        let size = size(&policy);
        self.policy.store(Arc::new(policy));
        self.signer.drop_unblocked();
        memory::release_after_compile(self.policy.load().rules());
        size
    }

    fn apply(&self, running: &mut RunningDoors, plan: Plan) -> Result<(), DoorsNotOpen> {
        let before = self.private.paths();
        let wanted = private::paths(&plan, self.state.path(), &self.setup);
        // What was private stays so until the doors have taken the new plan.
        self.private.replace(before.with(&wanted));
        let outcome = self.apply_plan(running, plan);
        self.private.replace(if outcome.is_ok() { wanted } else { (*before).clone() });
        outcome
    }

    fn apply_plan(&self, running: &mut RunningDoors, plan: Plan) -> Result<(), DoorsNotOpen> {
        let fresh = OpenDoors::make(self, &plan)?;
        // A door that runs goes on with new settings; a new one begins. Until it has taken them,
        // only the fresh one knows where to listen.
        let wanted: Vec<_> = fresh.openings().into_iter().map(|opening| opening.listen).collect();
        let doors = running.doors.joined(fresh);
        let mut openings = doors.openings();
        for (opening, listen) in openings.iter_mut().zip(wanted) {
            opening.listen = listen;
        }
        let leaving = leaving(running, &openings, &plan);
        let mut bound: Vec<(usize, BoundListeners)> = Vec::new();
        for (index, opening) in openings.iter().enumerate() {
            let listeners = running
                .http
                .bind(opening.name, &opening.listen, &self.cores, &leaving)
                .map_err(DoorsNotOpen::Bind)?;
            bound.extend(listeners.into_iter().map(|listener| (index, listener)));
        }
        let admin = self.bind_admin(running, &plan).map_err(DoorsNotOpen::Bind)?;
        // The DNS door binds before it changes anything, the resolver included, and is the last
        // that can fail. Without it the other doors still look names up.
        if let (Some(door), Some(settings)) = (&doors.dns, effective::dns_settings(&plan)) {
            door.reload(&settings, &effective::pixel_addresses(&plan), &self.cores, &leaving)
                .map_err(DoorsNotOpen::Dns)?;
        } else {
            self.resolver
                .reload(&plan.resolver_settings())
                .map_err(|complaints| located(&plan, "dns", complaints))?;
        }
        self.resolver.answer_from(doors.dns.as_ref().map(|door| door.local_names()));
        doors.apply_settings(self, &plan)?;
        for (index, listener) in bound {
            let opening = &openings[index];
            running
                .http
                .start(listener, &opening.limits, &self.cores, &self.drain, &opening.serve)
                .map_err(DoorsNotOpen::Core)?;
        }
        self.move_admin(running, admin, &plan).map_err(DoorsNotOpen::Core)?;
        self.blocked_names.sign_for(plan.file.signer.names);
        self.signer.apply_settings(&plan.file.signer);
        for opening in &openings {
            running.http.keep_only(opening.name, &opening.listen);
        }
        let gateway = doors.get();
        if let Some(gateway) = &gateway {
            memory::hold_blocks(gateway);
        }
        self.texts.gateway.store(gateway);
        self.ledger.apply(&plan.file.ledger);
        running.doors = doors;
        running.warnings = warnings(&plan);
        let (setup, state) = (&self.setup, self.state.path());
        let held = private::warnings(&plan, state, setup);
        running.warnings.extend(held.iter().map(ToString::to_string));
        running.warnings.extend(setup.state_note(&plan));
        running.warnings.extend(self.ledger.health().warnings);
        if plan.file.admin != **self.admin.load() {
            let told =
                "of the admin section, all but listen and hosts takes effect at the next start";
            running.warnings.push(told.into());
        }
        self.check_url.store(check_address(running, &plan).map(Arc::new));
        running.plan = plan;
        Ok(())
    }
}

impl ListOwner for RunningApp {
    fn subscriptions(&self) -> &Subscriptions {
        &self.subscriptions
    }

    fn list_dialer(&self) -> Dialer {
        self.dialer()
    }

    fn list_drain(&self) -> Drain {
        self.drain.clone()
    }

    fn reload_lists(&self) -> Result<(u32, u64), ListsNotInForce> {
        self.compile_lists_again()
    }

    fn note_list(&self, subject: &str, text: &str) {
        self.ledger.note(transport::clock::now(), None, subject, text);
    }
}

/// Returns how many lists and rules a policy has.
pub(super) fn size(policy: &Policy) -> (u32, u64) {
    let lists = policy.rules().lists();
    let rules = lists.iter().map(|list| u64::from(list.rules_names) + u64::from(list.rules_urls));
    (lists.len() as u32, rules.sum())
}

/// TCP addresses that a door listens on now and no door of that name wants any more: they may be
/// given to another door by the same reload, which listens there before the old one closes.
fn leaving(running: &RunningDoors, openings: &[HttpOpening], plan: &Plan) -> Vec<SocketAddr> {
    let wanted: Vec<_> = openings.iter().map(|it| (it.name, it.listen.as_slice())).collect();
    let mut leaving = running.http.leaving(&wanted);
    let dns = effective::dns_settings(plan).map_or_else(Vec::new, |it| door_dns::listens(&it));
    let open = running.doors.dns.as_ref().map_or_else(Vec::new, |door| door.listeners());
    let over_tcp = |listen: &&Listen| !matches!(listen.scheme, Scheme::Udp | Scheme::Quic);
    let gone = open.iter().filter(over_tcp).filter(|open| {
        !dns.iter().any(|it| it.scheme == open.scheme && it.address == open.address)
    });
    leaving.extend(gone.map(|listen| listen.address));
    leaving
}

/// Returns what is allowed and still worth saying.
fn warnings(plan: &Plan) -> Vec<String> {
    let mut warnings = Vec::new();
    let auto = plan.file.dns.as_ref().is_some_and(|dns| dns.blocked == policy::BlockStyle::Auto);
    if auto
        && plan.file.pixel.is_some()
        && effective::effective_style(plan) == policy::BlockStyle::Nodata
    {
        warnings.push(
            "browsers use ports 80 and 443 only, and the pixel door listens on neither: blocked \
             names get no address (nodata)"
                .into(),
        );
    }
    warnings.extend(plan.warnings().iter().map(ToString::to_string));
    warnings.extend(effective::pixel_warnings(plan).iter().map(ToString::to_string));
    let foreign = plan.file.dns.as_ref().and_then(|dns| dns.foreign.as_ref());
    if let Some(foreign) = foreign {
        let told = foreign.warnings().iter().cloned();
        let dumps = foreign.dumps().iter().filter_map(|dump| dump.warning().cloned());
        warnings.extend(told.chain(dumps).map(|complaint| plan.locate(complaint).to_string()));
    } else if plan.file.policy.lists.is_empty() {
        warnings.push(NO_LISTS.into());
    }
    warnings
}
