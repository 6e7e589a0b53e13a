//! Settings of version 5: `setupVars.conf` and `pihole-FTL.conf`, a `KEY=VALUE` a line.

use super::PiholeReader;
use super::settings::{self, ConditionalWay};
use crate::draft::ImportDraft;
use import_report::NotePlace;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Assignments of a file, the last of two first.
struct PiholeVars<'t> {
    file: Arc<str>,
    vars: BTreeMap<&'t str, (&'t str, usize)>,
}

impl<'t> PiholeVars<'t> {
    fn of(file: &Arc<str>, text: &'t str) -> Self {
        let mut vars = BTreeMap::new();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if let Some((key, value)) = line.split_once('=')
                && !line.starts_with('#')
            {
                vars.insert(key.trim(), (value.trim().trim_matches('"'), index + 1));
            }
        }
        Self { file: Arc::clone(file), vars }
    }

    /// Takes a variable that says something.
    fn take(&mut self, key: &str) -> Option<(&'t str, NotePlace)> {
        let (value, line) = self.vars.remove(key)?;
        (!value.is_empty()).then(|| (value, NotePlace::new(&self.file, line)))
    }

    /// Notes what is left.
    fn note_rest(self, draft: &mut ImportDraft<'_>) {
        for (key, (value, line)) in self.vars {
            if !matches!(value, "" | "false" | "no" | "0") {
                let place = NotePlace::new(&self.file, line);
                draft.report.left_out(&place, key, absent(key));
            }
        }
    }
}

/// The reason for which a variable is left out.
fn absent(key: &str) -> &'static str {
    match key {
        key if key.starts_with("DHCP") => {
            "there is no DHCP server: leave it to the router, or to dnsmasq with port=0"
        }
        "WEBPASSWORD" => "the dashboard asks for the token in the state folder",
        key if key.starts_with("WEB") || key.starts_with("API") || key.starts_with("ADMIN") => {
            "the dashboard has its own settings"
        }
        "PIHOLE_INTERFACE" | "IPV4_ADDRESS" | "IPV6_ADDRESS" => {
            "listeners have addresses: write them under dns.listen"
        }
        "DNSSEC" => "signatures are not checked here: the AD flag is passed on as trust_ad says",
        "INSTALL_WEB_SERVER" | "INSTALL_WEB_INTERFACE" | "LIGHTTPD_ENABLED" => {
            "the dashboard needs no server of its own"
        }
        _ => "there is no such setting",
    }
}

impl PiholeReader {
    pub(super) fn setup_vars(&mut self, file: &Arc<str>, text: &str, draft: &mut ImportDraft<'_>) {
        let mut vars = PiholeVars::of(file, text);
        for number in 1..=64 {
            if let Some((server, place)) = vars.take(&format!("PIHOLE_DNS_{number}")) {
                self.upstream(server, &place, draft);
            }
        }
        if let Some((mode, place)) = vars.take("DNSMASQ_LISTENING") {
            settings::listening(mode, &place, draft);
        }
        if let Some(("false", place)) = vars.take("BLOCKING_ENABLED") {
            self.blocks_nothing = Some(place);
        }
        if let Some((entries, place)) = vars.take("CACHE_SIZE")
            && let Ok(entries) = entries.parse()
        {
            settings::cache_size(entries, &place, draft);
        }
        for key in ["DNS_FQDN_REQUIRED", "DNS_BOGUS_PRIV"] {
            if let Some(("true", place)) = vars.take(key) {
                draft.report.carried(&place, &format!("{key}=true"), "always so");
            }
        }
        if let Some((said @ ("false" | "true"), place)) = vars.take("QUERY_LOGGING") {
            draft.report.carried(&place, &format!("QUERY_LOGGING={said}"), "ledger.log");
        }
        let names = [
            ("REV_SERVER", "REV_SERVER_CIDR", "REV_SERVER_TARGET", "REV_SERVER_DOMAIN"),
            (
                "CONDITIONAL_FORWARDING",
                "CONDITIONAL_FORWARDING_REVERSE",
                "CONDITIONAL_FORWARDING_IP",
                "CONDITIONAL_FORWARDING_DOMAIN",
            ),
        ];
        for (switch, network, target, domain) in names {
            let is_on = vars.take(switch);
            let parts = [network, target, domain].map(|key| vars.take(key).map_or("", |it| it.0));
            if let Some(("true", place)) = is_on {
                let said = format!("{switch}=true");
                let [network, target, domain] = parts;
                let way = ConditionalWay { network, target, domain };
                self.conditional(&way, &place, &said, draft);
            }
        }
        vars.note_rest(draft);
    }

    pub(super) fn ftl_conf(&mut self, file: &Arc<str>, text: &str, draft: &mut ImportDraft<'_>) {
        let mut vars = PiholeVars::of(file, text);
        if let Some((mode, place)) = vars.take("BLOCKINGMODE") {
            settings::blocking_mode(mode, &place, draft);
        }
        if let Some((limit, place)) = vars.take("RATE_LIMIT")
            && let Some((count, seconds)) = limit.split_once('/')
            && let (Ok(count), Ok(seconds)) = (count.parse(), seconds.parse())
        {
            settings::rate_limit(count, seconds, &place, draft);
        }
        if let Some((days, place)) = vars.take("MAXDBDAYS")
            && let Ok(days) = days.parse::<u64>()
        {
            draft.sections.set("ledger", "keep", format!("{}d", days.min(3650)));
            draft.report.carried(&place, &format!("MAXDBDAYS={days}"), "ledger.keep");
        }
        if let Some((level, place)) = vars.take("PRIVACYLEVEL")
            && let Ok(level) = level.parse()
        {
            settings::privacy(level, &place, draft);
        }
        if let Some((seconds, place)) = vars.take("BLOCK_TTL")
            && let Ok(seconds) = seconds.parse::<u64>()
        {
            draft.sections.set("dns", "blocked_ttl", format!("{}s", seconds.min(86_400)));
            draft.report.carried(&place, &format!("BLOCK_TTL={seconds}"), "dns.blocked_ttl");
        }
        vars.note_rest(draft);
    }
}
