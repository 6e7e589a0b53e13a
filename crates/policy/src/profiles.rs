//! Who gets which lists: clients by what is known of them, each with sets of lists as words of
//! bits.
//!
//! Built once from settings that were checked; what does not parse matches nobody. It asks no
//! clock: the moment comes with the question. Asked by every decision.

use crate::ask::{Ask, ClientIdentity};
use crate::clients::tags::ClientTags;
use crate::settings::{
    BlockStyle, ClientMatch, DEFAULT_NAME, LISTS_MAX, ScheduleSettings, Settings, UnlistedAction,
};
use std::collections::HashMap;
use std::net::IpAddr;
use vocab::{LinkInfoNeeds, MacAddress, Network, Now};
use weekly_hours::{HourSpan, ScheduleZone};

/// All profiles.
#[derive(Clone, Debug)]
pub struct ClientProfiles {
    /// Everybody else first, then in the order of the configuration: of those that match a client
    /// the first counts.
    all: Vec<ClientProfile>,
    /// Single addresses, so that a house of a thousand devices is no walk past a thousand rows.
    addresses: HashMap<IpAddr, u16>,
    /// In the order of the configuration.
    networks: Vec<(Network, u16)>,
    macs: HashMap<MacAddress, u16>,
    words: HashMap<ClientWord, u16>,
    link_info_needs: LinkInfoNeeds,
    /// True if some profile has a block style of its own.
    is_styled: bool,
    zone: ScheduleZone,
}

/// A word that names a client, in lower case where case means nothing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum ClientWord {
    Id(Box<str>),
    User(Box<str>),
    Interface(Box<str>),
}

/// One profile.
#[derive(Clone, Debug)]
pub(crate) struct ClientProfile {
    pub(crate) name: String,
    /// A bit for each list that holds at all hours.
    lists: u64,
    /// Lists that hold at some hours.
    schedules: Vec<ListSchedule>,
    pub(crate) tags: ClientTags,
    /// How it is answered for what is blocked, if not like everybody.
    pub(crate) blocked: Option<BlockStyle>,
    /// Treatment of requests that no rule is about.
    pub(crate) unlisted: UnlistedAction,
}

/// Lists that hold at some hours.
#[derive(Clone, Debug)]
struct ListSchedule {
    hours: HourSpan,
    lists: u64,
    unlisted: Option<UnlistedAction>,
    /// As the configuration has it, for people.
    text: String,
}

/// A profile at one moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProfileStanding<'p> {
    pub(crate) profile: &'p ClientProfile,
    /// A bit for each list that holds now.
    pub(crate) lists: u64,
    /// Treatment of requests that no rule is about, now.
    pub(crate) unlisted: UnlistedAction,
}

/// Tells whether a list holds for a client now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ListHold {
    /// At all hours.
    Always,
    /// By this schedule, now.
    BySchedule(String),
    /// At other hours.
    NotNow,
    /// Never.
    Never,
}

impl ClientProfiles {
    /// Everybody gets every list.
    pub fn everyone() -> Self {
        let everybody = ClientProfile {
            name: DEFAULT_NAME.into(),
            lists: u64::MAX,
            schedules: Vec::new(),
            tags: ClientTags::default(),
            blocked: None,
            unlisted: UnlistedAction::Pass,
        };
        Self {
            all: vec![everybody],
            addresses: HashMap::new(),
            networks: Vec::new(),
            macs: HashMap::new(),
            words: HashMap::new(),
            link_info_needs: LinkInfoNeeds::default(),
            is_styled: false,
            zone: ScheduleZone::UTC,
        }
    }

    /// The profiles of `settings`, whose lists stand in the order in which they were compiled:
    /// those of [`Settings::lists`], then those of [`Settings::schedule_lists`].
    pub fn build(settings: &Settings) -> Self {
        let mut built = Self::everyone();
        built.zone = settings.zone();
        let mut draft = ProfileDraft { settings, next: settings.lists.len().min(LISTS_MAX) };
        let everybody = match settings.default.lists.as_deref() {
            Some(names) => draft.mask(names),
            // All lists, but for the rules of schedules.
            None => !draft.of_schedules(),
        };
        built.all[0].lists = everybody;
        built.all[0].unlisted = settings.default.otherwise;
        let mut groups = HashMap::new();
        for group in &settings.groups {
            let lists = group.lists.as_deref().map_or(0, |names| draft.mask(names));
            groups.insert(group.name.as_str(), (lists, draft.schedules(&group.schedule)));
        }
        for client in settings.clients.iter().take(usize::from(u16::MAX) - 1) {
            let at = built.all.len() as u16;
            let mut lists = match &client.lists {
                Some(names) => draft.mask(names),
                None if client.groups.is_empty() => everybody,
                None => 0,
            };
            let mut schedules = draft.schedules(&client.schedule);
            for (also, scheduled) in client.groups.iter().filter_map(|name| groups.get(&**name)) {
                lists |= also;
                schedules.extend(scheduled.iter().cloned());
            }
            let tags: Vec<ClientTags> =
                client.tags.iter().filter_map(|word| ClientTags::by_name(word)).collect();
            let tags = ClientTags::all_of(&tags);
            built.is_styled |= client.blocked.is_some();
            built.all.push(ClientProfile {
                name: client.name.clone(),
                lists,
                schedules,
                tags,
                blocked: client.blocked,
                unlisted: client.otherwise.unwrap_or(settings.default.otherwise),
            });
            for text in &client.matches {
                built.add(text, at);
            }
        }
        built.switch_off(draft.mask(&settings.lists_off));
        built
    }

    /// Takes lists away from everybody.
    fn switch_off(&mut self, off: u64) {
        for profile in &mut self.all {
            profile.lists &= !off;
            profile.schedules.iter_mut().for_each(|schedule| schedule.lists &= !off);
        }
    }

    /// Notes who belongs to a profile; an earlier profile keeps what it has.
    fn add(&mut self, text: &str, at: u16) {
        match ClientMatch::parse(text) {
            Ok(ClientMatch::Network(network)) => match network.address().to_canonical() {
                one if network.prefix() == if one.is_ipv4() { 32 } else { 128 } => {
                    self.addresses.entry(one).or_insert(at);
                }
                _ => self.networks.push((network, at)),
            },
            Ok(ClientMatch::Mac(mac)) => {
                self.link_info_needs.mac = true;
                self.macs.entry(mac).or_insert(at);
            }
            Ok(ClientMatch::Id(id)) => {
                self.words.entry(ClientWord::Id(id.to_ascii_lowercase().into())).or_insert(at);
            }
            Ok(ClientMatch::User(user)) => {
                self.words.entry(ClientWord::User(user.into())).or_insert(at);
            }
            Ok(ClientMatch::Interface(name)) => {
                self.link_info_needs.interface = true;
                self.words.entry(ClientWord::Interface(name.into())).or_insert(at);
            }
            Err(_) => {}
        }
    }

    /// Names of the profiles, that of everybody else first.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.all.iter().map(|profile| profile.name.as_str())
    }

    /// True if some client gets only what a rule lets pass.
    pub(crate) fn block_unlisted(&self) -> bool {
        let block = UnlistedAction::Block;
        self.all.iter().any(|profile| {
            profile.unlisted == block
                || profile.schedules.iter().any(|schedule| schedule.unlisted == Some(block))
        })
    }

    /// The block style of a client's own.
    pub(crate) fn style_of(
        &self,
        client: IpAddr,
        who: Option<&ClientIdentity<'_>>,
    ) -> Option<BlockStyle> {
        if self.is_styled { self.of(client, who).blocked } else { None }
    }

    /// Returns what profiles depend on beside addresses and what clients say of themselves.
    pub(crate) fn link_info_needs(&self) -> LinkInfoNeeds {
        self.link_info_needs
    }

    /// The profile of whoever asks.
    pub(crate) fn of(&self, client: IpAddr, who: Option<&ClientIdentity<'_>>) -> &ClientProfile {
        // Everybody else is profile 0, and means that none was found.
        let mut found = u16::MAX;
        if !self.addresses.is_empty()
            && let Some(at) = self.addresses.get(&client.to_canonical())
        {
            found = *at;
        }
        let networks = self.networks.iter().take_while(|(_, at)| *at < found);
        if let Some((_, at)) = { networks }.find(|(network, _)| network.contains(client)) {
            found = *at;
        }
        if let Some(who) = who {
            found = found.min(self.of_identity(who));
        }
        self.all.get(usize::from(found)).unwrap_or(&self.all[0])
    }

    fn of_identity(&self, who: &ClientIdentity<'_>) -> u16 {
        if self.macs.is_empty() && self.words.is_empty() {
            return u16::MAX;
        }
        let mac = who.mac.and_then(|mac| self.macs.get(&mac));
        let words = [
            who.id.map(|id| ClientWord::Id(id.to_ascii_lowercase().into())),
            who.user.map(|user| ClientWord::User(user.into())),
            who.interface.map(|name| ClientWord::Interface(name.into())),
        ];
        let words = words.iter().flatten().filter_map(|word| self.words.get(word));
        words.chain(mac).min().copied().unwrap_or(u16::MAX)
    }

    /// The profile of whoever asks, with the lists that hold now.
    #[inline]
    pub(crate) fn for_request(&self, ask: &Ask<'_>, now: Now) -> ProfileStanding<'_> {
        let profile = self.of(ask.client, ask.identity);
        let (mut lists, mut unlisted) = (profile.lists, profile.unlisted);
        if !profile.schedules.is_empty() {
            let hour = self.zone.hour(now);
            let holding = profile.schedules.iter().filter(|schedule| schedule.hours.contains(hour));
            // Of schedules that say it, the first one holds.
            for schedule in holding.rev() {
                lists |= schedule.lists;
                unlisted = schedule.unlisted.unwrap_or(unlisted);
            }
        }
        ProfileStanding { profile, lists, unlisted }
    }

    /// Returns whether and why a list holds for a profile now.
    pub(crate) fn list_hold(&self, profile: &ClientProfile, list: u8, now: Now) -> ListHold {
        let among = |lists: u64| lists >> (list & 63) & 1 == 1;
        if among(profile.lists) {
            return ListHold::Always;
        }
        let hour = self.zone.hour(now);
        let mut scheduled = profile.schedules.iter().filter(|schedule| among(schedule.lists));
        match { &mut scheduled }.find(|schedule| schedule.hours.contains(hour)) {
            Some(schedule) => ListHold::BySchedule(schedule.text.clone()),
            None if profile.schedules.iter().any(|schedule| among(schedule.lists)) => {
                ListHold::NotNow
            }
            None => ListHold::Never,
        }
    }
}

/// Settings on their way into profiles.
struct ProfileDraft<'s> {
    settings: &'s Settings,
    /// The number of the next list made of a schedule's own rule.
    next: usize,
}

impl ProfileDraft<'_> {
    fn mask(&self, names: &[String]) -> u64 {
        let bits = self.settings.lists.iter().take(LISTS_MAX).enumerate();
        bits.filter(|(_, list)| names.contains(&list.name)).fold(0, |mask, (at, _)| mask | 1 << at)
    }

    /// The bits of the lists made of schedules' own rules.
    fn of_schedules(&self) -> u64 {
        let count = self.settings.schedule_lists().len();
        let above = |bits: usize| u64::MAX.checked_shl(bits as u32).unwrap_or(0);
        above(self.next) & !above(self.next + count)
    }

    fn schedules(&mut self, settings: &[ScheduleSettings]) -> Vec<ListSchedule> {
        let mut schedules = Vec::new();
        for entry in settings {
            let mut lists = self.mask(&entry.lists);
            if !entry.block.is_empty() {
                lists |= 1u64.checked_shl(self.next as u32).unwrap_or(0);
                self.next += 1;
            }
            if let Ok(hours) = HourSpan::parse(&entry.days, &entry.from, &entry.to) {
                let (unlisted, text) = (entry.otherwise, entry.text());
                schedules.push(ListSchedule { hours, lists, unlisted, text });
            }
        }
        schedules
    }
}
