//! What the configuration may not say, and the words in which it is told.

use policy::{ClientSettings, DefaultSettings, ListSettings, ScheduleSettings, Settings};

fn list(name: &str) -> ListSettings {
    ListSettings { name: name.into(), rules: vec!["a.example".into()], ..ListSettings::default() }
}

fn client(name: &str, matches: &str) -> ClientSettings {
    ClientSettings { name: name.into(), matches: vec![matches.into()], ..ClientSettings::default() }
}

fn check(settings: &Settings, expected: &[(&str, &str)]) {
    let complaints = settings.check();
    let found: Vec<_> =
        complaints.iter().map(|complaint| (complaint.path.as_str(), &complaint.message)).collect();
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for ((path, message), (expected_path, part)) in found.iter().zip(expected) {
        assert_eq!(path, expected_path);
        assert!(message.contains(part), "{message:?} does not say {part:?}");
    }
}

#[test]
fn a_right_section_has_no_complaint() {
    let settings = Settings {
        lists: vec![
            list("ads"),
            ListSettings { rules: vec![], builtin: Some("starter".into()), ..list("starter") },
        ],
        clients: vec![ClientSettings {
            lists: Some(vec!["ads".into()]),
            ..client("kids", "10.0.0.0/8")
        }],
        default: DefaultSettings { lists: Some(vec!["ads".into(), "starter".into()]) },
    };
    check(&settings, &[]);
    check(&Settings::default(), &[]);
}

#[test]
fn every_complaint_comes_at_once() {
    let settings = Settings {
        lists: vec![
            ListSettings { path: Some("x".into()), ..list("ads") },
            ListSettings { rules: vec![], ..list("ads") },
            ListSettings { rules: vec![], builtin: Some("ender".into()), ..list("b") },
            ListSettings { rules: vec![], url: Some("https://x".into()), ..list("c") },
        ],
        clients: vec![
            client("kids", "10.0.0.0/99"),
            client("kids", "aa:bb:cc:dd:ee:ff"),
            ClientSettings { lists: Some(vec!["adz".into()]), ..client("guests", "10.0.0.1") },
            ClientSettings {
                schedule: vec![ScheduleSettings::default()],
                matches: vec![],
                ..client("", "")
            },
        ],
        default: DefaultSettings { lists: Some(vec!["nothing".into()]) },
    };
    check(
        &settings,
        &[
            ("lists.0", "more than one source"),
            ("lists.1.name", "is taken"),
            ("lists.1", "no source"),
            ("lists.2.builtin", "no built-in list"),
            ("lists.3.url", "not fetched from URLs yet"),
            ("clients.0.match.0", "no prefix length"),
            ("clients.1.name", "is taken"),
            ("clients.1.match.0", "MAC address"),
            ("clients.2.lists.0", "no list \"adz\""),
            ("clients.3.name", "no name"),
            ("clients.3.match", "matches no client"),
            ("clients.3.schedule", "not built yet"),
            ("default.lists.0", "no list \"nothing\""),
        ],
    );
}

#[test]
fn sixty_four_lists_are_the_most() {
    let lists = (0..65).map(|n| list(&format!("list{n}"))).collect();
    check(&Settings { lists, ..Settings::default() }, &[("lists", "65 lists")]);
}
