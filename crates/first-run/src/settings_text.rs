//! A choice written into the text of a configuration, setting by setting, with comments and
//! everything else kept.
//!
//! Only the main file's text is changed; what other files say besides is joined with it as ever,
//! and judged by the program. Doors that were not chosen stay as they are.

use crate::choice::FirstRunChoice;
use crate::pixel_address::pixel_place;
use crate::upstreams::usual;
use config::{
    EditRefusal, Plan, SettingChange, SettingPath, WrittenValue, edit_text, find_setting,
};
use serde_json::{Value as Json, json};
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use vocab::{Door, Listen, Scheme};

/// The list that comes with the program.
pub const STARTER: &str = "starter";

/// Reason why a choice cannot be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TextRefusal {
    /// The text stands against it.
    Edit(EditRefusal),
    /// A list that is set in another file and is not wanted.
    ListElsewhere(String),
    /// A list that is neither there nor offered.
    NoSuchList(String),
    /// No address for blocked names.
    NoPixelAddress,
}

/// The text of the main file with a choice in it. `pixel` is the address that blocked names get.
///
/// # Errors
/// Names the place or the list that stands against it.
pub fn settings_text(
    main: &str,
    plan: &Plan,
    choice: &FirstRunChoice,
    pixel: Option<IpAddr>,
) -> Result<String, TextRefusal> {
    let mut text = SettingsText(main.to_owned());
    let FirstRunChoice { address, ports, .. } = choice;
    let at = |scheme, address: IpAddr, port| Listen {
        scheme,
        address: SocketAddr::new(address, port),
        path: String::new(),
    };
    for door in &choice.doors {
        match door {
            Door::Dns => {
                let wanted =
                    [at(Scheme::Udp, *address, ports.dns), at(Scheme::Tcp, *address, ports.dns)];
                text.listen("dns.listen", &wanted)?;
                let has_upstreams =
                    plan.file.dns.as_ref().is_some_and(|it| !it.upstreams.is_empty());
                match (&choice.upstreams, has_upstreams) {
                    (chosen, _) if !chosen.is_empty() => {
                        text.set("dns.upstreams", &json!(chosen))?;
                    }
                    (_, true) => {}
                    (_, false) => text.set("dns.upstreams", &json!(usual()))?,
                }
            }
            Door::Pixel => {
                let pixel = pixel.ok_or(TextRefusal::NoPixelAddress)?;
                let place = pixel_place(pixel, *address);
                let wanted =
                    [at(Scheme::Http, place, ports.http), at(Scheme::Https, place, ports.https)];
                text.listen("pixel.listen", &wanted)?;
                text.set("pixel.addresses", &json!([pixel]))?;
            }
            Door::Proxy => {
                text.listen("proxy.listen", &[at(Scheme::Http, *address, ports.proxy)])?;
            }
            // A choice names no other.
            Door::Web | Door::Gateway => {}
        }
    }
    if let Some(place) = choice.dashboard {
        text.set("admin.listen", &json!(place))?;
    }
    text.lists(plan, &choice.lists)?;
    Ok(text.0)
}

/// A text that is being changed.
struct SettingsText(String);

impl SettingsText {
    fn set(&mut self, path: &str, value: &Json) -> Result<(), TextRefusal> {
        let value = WrittenValue::parse(&value.to_string()).expect("JSON is a value of YAML");
        self.change(path, &SettingChange::Set(value))
    }

    fn change(&mut self, path: &str, change: &SettingChange) -> Result<(), TextRefusal> {
        let path = SettingPath::parse(path).expect("paths of ours are right");
        self.0 = edit_text(&self.0, &path, change).map_err(TextRefusal::Edit)?;
        Ok(())
    }

    /// The value of a setting as it is written here.
    fn written(&self, path: &str) -> Result<Option<Json>, TextRefusal> {
        let path = SettingPath::parse(path).expect("paths of ours are right");
        let found = find_setting(&[&self.0], &path);
        found.map(|it| it.value).map_err(|(_, why)| TextRefusal::Edit(why))
    }

    /// Has a door listen at these places, and go on listening on this machine alone where it does
    /// and they leave room for that.
    fn listen(&mut self, path: &str, wanted: &[Listen]) -> Result<(), TextRefusal> {
        let before = self.written(path)?;
        let before = before.as_ref().and_then(Json::as_array).into_iter().flatten();
        let stays = |it: &Listen| {
            it.address.ip().is_loopback() && !wanted.iter().any(|new| are_in_the_way(new, it))
        };
        let kept = before.filter_map(|it| it.as_str()?.parse::<Listen>().ok());
        let all: Vec<String> =
            kept.filter(stays).chain(wanted.iter().cloned()).map(|it| it.to_string()).collect();
        self.set(path, &json!(all))
    }

    /// Has the lists be those that are wanted, as far as this text names them.
    fn lists(&mut self, plan: &Plan, wanted: &[String]) -> Result<(), TextRefusal> {
        let held = &plan.file.policy.lists;
        let is_held = |name: &str| held.iter().any(|list| list.name == name);
        if let Some(strange) = wanted.iter().find(|name| *name != STARTER && !is_held(name)) {
            return Err(TextRefusal::NoSuchList(strange.clone()));
        }
        let off = &plan.file.policy.lists_off;
        let unwanted =
            held.iter().filter(|it| !wanted.contains(&it.name) && !off.contains(&it.name));
        for list in unwanted {
            let written = self.written("policy.lists")?;
            let written = written.as_ref().and_then(Json::as_array);
            let place = written.and_then(|it| it.iter().position(|it| it["name"] == *list.name));
            let place = place.ok_or_else(|| TextRefusal::ListElsewhere(list.name.clone()))?;
            self.change(&format!("policy.lists[{place}]"), &SettingChange::Unset)?;
        }
        if wanted.iter().any(|name| name == STARTER) && !is_held(STARTER) {
            let written = self.written("policy.lists")?;
            let place = written.as_ref().and_then(Json::as_array).map_or(0, Vec::len);
            let list = json!({ "name": STARTER, "builtin": STARTER });
            self.set(&format!("policy.lists[{place}]"), &list)?;
        }
        Ok(())
    }
}

/// True if one listener leaves no room for the other.
fn are_in_the_way(new: &Listen, old: &Listen) -> bool {
    let is_udp = |it: &Listen| matches!(it.scheme, Scheme::Udp | Scheme::Quic);
    let same_host = new.address.ip() == old.address.ip() || new.address.ip().is_unspecified();
    is_udp(new) == is_udp(old) && same_host && new.address.port() == old.address.port()
}

impl fmt::Display for TextRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Edit(why) => why.fmt(f),
            Self::ListElsewhere(name) => write!(
                f,
                "the list {name} is set in another file than the configuration's own; switch it off \
                 on the page of lists"
            ),
            Self::NoSuchList(name) => {
                let name: String = name.chars().take(64).collect();
                write!(f, "there is no list {name:?} to begin with; add it afterwards")
            }
            Self::NoPixelAddress => f.write_str(
                "this machine has no address for blocked names; send pixel_address, such as \
                 192.0.2.1",
            ),
        }
    }
}

impl std::error::Error for TextRefusal {}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use admin_api::FirstRunRequest;
    use std::path::Path;

    fn chosen(doors: &[&str], lists: &[&str]) -> FirstRunChoice {
        FirstRunChoice::read(&FirstRunRequest {
            address: "192.0.2.7".into(),
            doors: doors.iter().map(|it| (*it).to_owned()).collect(),
            lists: lists.iter().map(|it| (*it).to_owned()).collect(),
            ..FirstRunRequest::default()
        })
        .unwrap()
    }

    fn written(main: &str, choice: &FirstRunChoice) -> Result<String, TextRefusal> {
        let plan = config::parse(main, Path::new("t.yaml")).unwrap();
        settings_text(main, &plan, choice, Some("192.0.2.1".parse().unwrap()))
    }

    #[test]
    fn an_empty_configuration_becomes_one_that_check_takes() {
        let text = written("", &chosen(&["dns", "pixel", "proxy"], &["starter"])).unwrap();
        let plan = config::parse(&text, Path::new("t.yaml")).unwrap();
        let dns = plan.file.dns.as_ref().unwrap();
        assert_eq!((dns.listen.len(), dns.upstreams.len()), (2, 2), "{text}");
        assert!(text.contains("udp://192.0.2.7:53"), "{text}");
        assert_eq!(plan.file.pixel.as_ref().unwrap().addresses.len(), 1);
        assert_eq!(plan.file.policy.lists[0].name, "starter");
    }

    #[test]
    fn comments_and_what_was_not_chosen_stay() {
        let main = "# ours\nadmin: { config_edits: on } # by hand\ndns:\n  # at home\n  listen: \
                    [\"udp://127.0.0.1:5353\", \"udp://10.0.0.1:53\"]\n  upstreams: [\"tls://1.1.1.1\"] # near\n\
                    policy:\n  lists:\n    - { name: starter, builtin: starter }\n    - { name: b, rules: [\"||b.example^\"] }\n";
        let text = written(main, &chosen(&["dns"], &["b"])).unwrap();
        for kept in
            ["# ours", "# by hand", "# at home", "# near", "udp://127.0.0.1:5353", "tls://1.1.1.1"]
        {
            assert!(text.contains(kept), "{kept} of {text}");
        }
        assert!(!text.contains("10.0.0.1") && !text.contains("starter"), "{text}");
        let plan = config::parse(&text, Path::new("t.yaml")).unwrap();
        assert_eq!(plan.file.policy.lists.len(), 1);
        let none = written(main, &chosen(&["dns"], &["strange"])).unwrap_err();
        assert_eq!(none, TextRefusal::NoSuchList("strange".into()));
        let main_alone = "policy: { lists: [] }\n";
        let plan = config::parse(main, Path::new("t.yaml")).unwrap();
        let elsewhere = settings_text(main_alone, &plan, &chosen(&["dns"], &[]), None).unwrap_err();
        assert_eq!(elsewhere, TextRefusal::ListElsewhere("starter".into()));
    }

    #[test]
    fn a_loopback_listener_that_is_in_the_way_of_all_addresses_goes() {
        let main = "dns: { listen: [\"udp://127.0.0.1:53\"], upstreams: [\"tls://1.1.1.1\"] }\n";
        let all = FirstRunChoice { address: "0.0.0.0".parse().unwrap(), ..chosen(&["dns"], &[]) };
        let text = written(main, &all).unwrap();
        assert!(!text.contains("127.0.0.1") && text.contains("udp://0.0.0.0:53"), "{text}");
        let pixel = settings_text(
            "",
            &config::parse("", Path::new("t")).unwrap(),
            &chosen(&["pixel"], &[]),
            None,
        );
        assert_eq!(pixel, Err(TextRefusal::NoPixelAddress));
    }
}
