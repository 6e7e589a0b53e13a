//! Pools and services as the commands of a file leave them.
//!
//! Commands are done in their order, as Perlbal does them: the last word counts. It knows no
//! setting by name.

use crate::command::{
    self, AccessAction, AccessCommand, CommandError, HeaderChange, NodeChange, PerlbalCommand,
};
use crate::include;
use crate::{BadCommand, CommandPlace, ImportNote, PerlbalSurroundings};
use std::collections::BTreeMap;
use std::sync::Arc;
use vocab::{Complaint, Network};

/// Lines of all files together, at most.
const LINES_MAX: usize = 100_000;
/// Files included by files, at most so deep.
pub(crate) const INCLUDE_DEPTH_MAX: usize = 8;
/// Pools and services, at most: a route each, and routes have their own bound.
const OWNERS_MAX: usize = 1_000;
/// Settings of one of them, or defaults: Perlbal knows sixty.
const SETTINGS_MAX: usize = 256;
/// Hosts or expressions of one selector, redirects of a service, nodes of a pool.
const ENTRIES_MAX: usize = 1_024;
/// Changes of fields, and rules of access, of one service.
const RULES_MAX: usize = 64;

/// A value, and the place that says it.
#[derive(Clone, Debug)]
pub(crate) struct ToldValue {
    pub(crate) place: CommandPlace,
    pub(crate) value: String,
}

#[derive(Clone, Debug)]
pub(crate) struct PerlbalPool {
    /// As `IP:PORT`.
    pub(crate) nodes: Vec<String>,
    pub(crate) settings: BTreeMap<String, ToldValue>,
}

#[derive(Clone, Debug)]
pub(crate) struct PerlbalService {
    pub(crate) place: CommandPlace,
    pub(crate) is_enabled: bool,
    pub(crate) settings: BTreeMap<String, ToldValue>,
    pub(crate) headers: Vec<HeaderChange>,
    /// Services by host.
    pub(crate) vhosts: Vec<(String, ToldValue)>,
    /// Services by expression, in their order.
    pub(crate) vpaths: Vec<(String, ToldValue)>,
    pub(crate) access: AccessRules,
    /// Hosts that requests for a host are sent to.
    pub(crate) redirects: BTreeMap<String, ToldValue>,
}

/// Rules of the plug-in `AccessControl`: the first that fits decides.
#[derive(Clone, Debug, Default)]
pub(crate) struct AccessRules {
    pub(crate) rules: Vec<(AccessAction, Network)>,
    pub(crate) denies_others: bool,
}

#[derive(Default)]
pub(crate) struct PerlbalModel {
    pub(crate) pools: BTreeMap<String, PerlbalPool>,
    pub(crate) services: BTreeMap<String, PerlbalService>,
    /// Services in the order in which they were created.
    pub(crate) order: Vec<String>,
    defaults: BTreeMap<String, ToldValue>,
    pub(crate) notes: Vec<ImportNote>,
    pub(crate) wrong: Vec<BadCommand>,
    lines: usize,
}

impl PerlbalModel {
    /// Does the commands of a file, `name` if it was included.
    pub(crate) fn read_file(
        &mut self,
        text: &str,
        name: Option<&Arc<str>>,
        around: &dyn PerlbalSurroundings,
    ) {
        self.read_at(text, name, around, 0);
    }

    fn read_at(
        &mut self,
        text: &str,
        name: Option<&Arc<str>>,
        around: &dyn PerlbalSurroundings,
        depth: usize,
    ) {
        // Each file has a context of its own.
        let mut used = None;
        for (line, text) in (1..).zip(text.lines()) {
            let place = CommandPlace { file: name.cloned(), line };
            self.lines += 1;
            if self.lines > LINES_MAX {
                if self.lines == LINES_MAX + 1 {
                    let complaint = Complaint::new("", format!("more than {LINES_MAX} lines"));
                    self.wrong.push(BadCommand { place, complaint });
                }
                return;
            }
            match command::parse(text, around) {
                Ok(None) => {}
                Ok(Some(PerlbalCommand::Include(files))) => {
                    self.include(&files, &place, around, depth);
                }
                Ok(Some(command)) => {
                    if let Err(complaint) = self.run(command, &place, &mut used) {
                        self.wrong.push(BadCommand { place, complaint });
                    }
                }
                Err(why) => self.bad(place, &why),
            }
        }
    }

    fn bad(&mut self, place: CommandPlace, why: &CommandError) {
        let complaint = Complaint::new("", why.to_string()).remedy(why.remedy());
        self.wrong.push(BadCommand { place, complaint });
    }

    fn include(
        &mut self,
        patterns: &str,
        place: &CommandPlace,
        around: &dyn PerlbalSurroundings,
        depth: usize,
    ) {
        if depth >= INCLUDE_DEPTH_MAX {
            let complaint = Complaint::new("", "files include one another without end");
            self.wrong.push(BadCommand { place: place.clone(), complaint });
            return;
        }
        match include::files(patterns, around) {
            Ok(files) => {
                for (name, text) in files {
                    self.read_at(&text, Some(&name), around, depth + 1);
                }
            }
            Err(why) => {
                let complaint = Complaint::new("", why.to_string())
                    .remedy("make it readable, or take the line out");
                self.wrong.push(BadCommand { place: place.clone(), complaint });
            }
        }
    }

    pub(crate) fn note(&mut self, place: &CommandPlace, text: impl Into<String>) {
        self.notes.push(ImportNote { place: place.clone(), text: text.into() });
    }

    /// Does one command; `used` is what was created or used last.
    fn run(
        &mut self,
        command: PerlbalCommand,
        place: &CommandPlace,
        used: &mut Option<String>,
    ) -> Result<(), Complaint> {
        match command {
            PerlbalCommand::CreatePool(name) => {
                self.unused(&name)?;
                let (nodes, settings) = (Vec::new(), BTreeMap::new());
                let pool = PerlbalPool { nodes, settings };
                self.pools.insert(name.clone(), pool);
                *used = Some(name);
            }
            PerlbalCommand::CreateService(name) => {
                self.unused(&name)?;
                self.create_service(&name, place);
                *used = Some(name);
            }
            PerlbalCommand::Use(name) => {
                if !self.pools.contains_key(&name) && !self.services.contains_key(&name) {
                    return Err(nothing(&name));
                }
                *used = Some(name);
            }
            PerlbalCommand::Pool { pool, node, change } => {
                self.change_node(&pool, &node, change)?;
            }
            PerlbalCommand::Set { owner, key, value } => {
                let owner = owner.or_else(|| used.clone()).ok_or_else(no_name)?;
                self.set(&owner, key, ToldValue { place: place.clone(), value })?;
            }
            PerlbalCommand::Default { key, value } => {
                bounded(self.defaults.len(), SETTINGS_MAX)?;
                self.defaults.insert(key, ToldValue { place: place.clone(), value });
            }
            PerlbalCommand::Enable(name) => self.service(&name)?.is_enabled = true,
            PerlbalCommand::Disable(name) => self.service(&name)?.is_enabled = false,
            PerlbalCommand::Header { service, change } => {
                push(&mut self.service(&service)?.headers, change, RULES_MAX)?;
            }
            PerlbalCommand::Vhost { service, host, target } => {
                let selector = service.or_else(|| used.clone()).ok_or_else(no_name)?;
                let vhosts = &mut self.service(&selector)?.vhosts;
                vhosts.retain(|(known, _)| *known != host);
                let told = ToldValue { place: place.clone(), value: target };
                push(vhosts, (host, told), ENTRIES_MAX)?;
            }
            PerlbalCommand::Vpath { service, expression, target } => {
                let selector = service.or_else(|| used.clone()).ok_or_else(no_name)?;
                let told = ToldValue { place: place.clone(), value: target };
                push(&mut self.service(&selector)?.vpaths, (expression, told), ENTRIES_MAX)?;
            }
            PerlbalCommand::Access(command) => {
                let name = used.clone().ok_or_else(no_name)?;
                self.access(&name, command)?;
            }
            PerlbalCommand::Redirect { host, target } => {
                let name = used.clone().ok_or_else(no_name)?;
                let told = ToldValue { place: place.clone(), value: target };
                let redirects = &mut self.service(&name)?.redirects;
                bounded(redirects.len(), ENTRIES_MAX)?;
                redirects.insert(host, told);
            }
            PerlbalCommand::Needless(why) => self.note(place, why),
            PerlbalCommand::Load | PerlbalCommand::Include(_) => {}
        }
        Ok(())
    }

    fn unused(&self, name: &str) -> Result<(), Complaint> {
        if self.pools.contains_key(name) || self.services.contains_key(name) {
            let complaint = Complaint::new("", format!("{name:?} is there already"));
            return Err(complaint.remedy("give it another name"));
        }
        if self.pools.len() + self.services.len() >= OWNERS_MAX {
            return Err(Complaint::new("", format!("more than {OWNERS_MAX} pools and services")));
        }
        Ok(())
    }

    fn create_service(&mut self, name: &str, place: &CommandPlace) {
        let service = PerlbalService {
            place: place.clone(),
            is_enabled: false,
            settings: self.defaults.clone(),
            headers: Vec::new(),
            vhosts: Vec::new(),
            vpaths: Vec::new(),
            access: AccessRules::default(),
            redirects: BTreeMap::new(),
        };
        self.services.insert(name.to_owned(), service);
        self.order.push(name.to_owned());
    }

    fn service(&mut self, name: &str) -> Result<&mut PerlbalService, Complaint> {
        self.services.get_mut(name).ok_or_else(|| nothing(name))
    }

    fn set(&mut self, owner: &str, key: String, told: ToldValue) -> Result<(), Complaint> {
        let settings = if let Some(pool) = self.pools.get_mut(owner) {
            &mut pool.settings
        } else {
            &mut self.service(owner)?.settings
        };
        bounded(settings.len(), SETTINGS_MAX)?;
        settings.insert(key, told);
        Ok(())
    }

    fn change_node(&mut self, pool: &str, node: &str, change: NodeChange) -> Result<(), Complaint> {
        let node = crate::values::node(node).ok_or_else(|| {
            Complaint::new("", format!("{node:?} is no IP:PORT")).remedy("write 10.0.0.10:8080")
        })?;
        let pool = self.pools.get_mut(pool).ok_or_else(|| nothing(pool))?;
        bounded(pool.nodes.len(), ENTRIES_MAX)?;
        match change {
            NodeChange::Add if pool.nodes.contains(&node) => {}
            NodeChange::Add => pool.nodes.push(node),
            NodeChange::Remove => pool.nodes.retain(|known| *known != node),
        }
        Ok(())
    }

    fn access(&mut self, name: &str, command: AccessCommand) -> Result<(), Complaint> {
        let access = &mut self.service(name)?.access;
        match command {
            AccessCommand::Reset => *access = AccessRules::default(),
            AccessCommand::Policy(action) => access.denies_others = action == AccessAction::Deny,
            AccessCommand::Rule(action, who) => {
                let network = crate::values::network(&who).ok_or_else(|| {
                    Complaint::new("", format!("{who:?} is no address and no network"))
                        .remedy("write 192.0.2.1 or 192.0.2.0/24")
                })?;
                bounded(access.rules.len(), RULES_MAX)?;
                // The first rule counts.
                if !access.rules.iter().any(|(_, known)| *known == network) {
                    access.rules.push((action, network));
                }
            }
        }
        Ok(())
    }
}

/// Adds one to a list, unless it has `most` already.
fn push<T>(list: &mut Vec<T>, one: T, most: usize) -> Result<(), Complaint> {
    bounded(list.len(), most)?;
    list.push(one);
    Ok(())
}

/// A complaint where one more would be too many.
fn bounded(count: usize, most: usize) -> Result<(), Complaint> {
    if count < most {
        return Ok(());
    }
    Err(Complaint::new("", format!("there are {most} such lines already")).remedy("write fewer"))
}

fn nothing(name: &str) -> Complaint {
    Complaint::new("", format!("there is no pool and no service {name:?}"))
        .remedy("create it in a line before")
}

fn no_name() -> Complaint {
    Complaint::new("", "nothing was created or used before").remedy("name the service")
}
