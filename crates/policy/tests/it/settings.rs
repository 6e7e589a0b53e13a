//! What the configuration may not say, and the words in which it is told.

use policy::{
    BlockStyle, ClientSettings, DefaultSettings, GroupSettings, ListSettings, Policy,
    ScheduleSettings, Settings,
};
use settings::Text;
use std::time::Duration;
use vocab::TimeSpan;

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
        default: DefaultSettings {
            lists: Some(vec!["ads".into(), "starter".into()]),
            ..DefaultSettings::default()
        },
        ..Settings::default()
    };
    check(&settings, &[]);
    check(&Settings::default(), &[]);
}

#[test]
fn a_rule_of_the_configuration_that_does_nothing_is_a_complaint() {
    let rules = ["||a.example^", "*", "! comment", "||x.example^$unknownthing\n/(?=a)/", "no rule"];
    let settings = Settings {
        lists: vec![ListSettings { rules: rules.map(str::to_owned).into(), ..list("mine") }],
        clients: vec![ClientSettings {
            schedule: vec![ScheduleSettings {
                block: "example.org##.ad".into(),
                ..ScheduleSettings::default()
            }],
            ..client("kids", "10.0.0.1")
        }],
        ..Settings::default()
    };
    check(
        &settings,
        &[
            ("lists.0.rules.1", "would match nearly everything"),
            ("lists.0.rules.3", "modifier that is not known"),
            ("lists.0.rules.3", "no regular expression"),
            ("lists.0.rules.4", "no rule in any syntax"),
            ("clients.0.schedule.0.block", "hides elements"),
        ],
    );
    let remedy = settings.check()[0].remedy.clone().unwrap();
    assert!(remedy.contains("otherwise: block"), "{remedy}");
}

#[test]
fn every_complaint_comes_at_once() {
    let settings = Settings {
        lists: vec![
            ListSettings { path: Some("x".into()), ..list("ads") },
            ListSettings { rules: vec![], ..list("ads") },
            ListSettings { rules: vec![], builtin: Some("ender".into()), ..list("b") },
            ListSettings { rules: vec![], url: Some("ftp://x".into()), ..list("c") },
        ],
        clients: vec![
            client("kids", "10.0.0.0/99"),
            client("kids", "aa:bb:cc:dd:ee:gg"),
            ClientSettings { lists: Some(vec!["adz".into()]), ..client("guests", "10.0.0.1") },
            ClientSettings {
                schedule: vec![ScheduleSettings::default()],
                matches: vec![],
                ..client("", "")
            },
        ],
        default: DefaultSettings {
            lists: Some(vec!["nothing".into()]),
            ..DefaultSettings::default()
        },
        ..Settings::default()
    };
    check(
        &settings,
        &[
            ("lists.0", "more than one source"),
            ("lists.1.name", "is taken"),
            ("lists.1", "no source"),
            ("lists.2.builtin", "no built-in list"),
            ("lists.3.url", "no URL that lists are fetched from"),
            ("clients.0.match.0", "no prefix length"),
            ("clients.1.name", "is taken"),
            ("clients.1.match.0", "no IP address"),
            ("clients.2.lists.0", "no list \"adz\""),
            ("clients.3.name", "no name"),
            ("clients.3.match", "matches no client"),
            ("clients.3.schedule.0", "neither a rule nor a list"),
            ("default.lists.0", "no list \"nothing\""),
        ],
    );
}

#[test]
fn what_concerns_fetching_stands_beside_a_url_and_within_bounds() {
    let span = |hours| Some(Text(TimeSpan(Duration::from_hours(hours))));
    let fetched = |name: &str| ListSettings {
        rules: vec![],
        url: Some("HTTPS://lists.example/ads.txt".into()),
        ..list(name)
    };
    let digest = "0123456789abcdefABCDEF".repeat(3)[..64].to_owned();
    let good = ListSettings { refresh: span(720), sha256: Some(digest.clone()), ..fetched("a") };
    check(&Settings { lists: vec![good], ..Settings::default() }, &[]);
    let lists = vec![
        ListSettings { refresh: span(24), sha256: Some(digest), ..list("a") },
        ListSettings { refresh: span(721), sha256: Some("0g".into()), ..fetched("b") },
        ListSettings { refresh: span(0), ..fetched("c") },
    ];
    check(
        &Settings { lists, ..Settings::default() },
        &[
            ("lists.0.refresh", "only a list with url"),
            ("lists.0.sha256", "only a list with url"),
            ("lists.1.refresh", "not between 10m and 30d"),
            ("lists.1.sha256", "64 hexadecimal digits"),
            ("lists.2.refresh", "not between 10m and 30d"),
        ],
    );
    assert_eq!((fetched("a").bytes_max(), list("a").bytes_max()), (32 << 20, 256 << 20));
}

#[test]
fn sixty_four_lists_are_the_most() {
    let lists = (0..65).map(|n| list(&format!("list{n}"))).collect();
    check(&Settings { lists, ..Settings::default() }, &[("lists", "65 lists")]);
}

#[test]
fn a_client_has_a_block_style_or_that_of_all() {
    let with = |blocked| {
        let client = ClientSettings { blocked, ..client("ann", "10.0.0.1") };
        Settings { clients: vec![client], ..Settings::default() }
    };
    check(&with(Some(BlockStyle::Nxdomain)), &[]);
    check(&with(Some(BlockStyle::Auto)), &[("clients.0.blocked", "for all clients")]);
    let policy = |blocked| {
        Policy::new(policy::compile(&[], 7).into(), policy::ClientProfiles::build(&with(blocked)))
    };
    let [ann, bob] = ["10.0.0.1", "10.0.0.2"].map(|it| it.parse().unwrap());
    let style = |blocked, client| policy(blocked).style_of(client, None);
    assert_eq!(style(Some(BlockStyle::Null), ann), Some(BlockStyle::Null));
    assert_eq!(style(Some(BlockStyle::Null), bob), None);
    assert_eq!(style(None, ann), None);
}

#[test]
fn whatever_a_door_knows_of_a_client_tells_it_apart() {
    for mark in ["id:phone", "user:ann", "aa:bb:cc:00:11:22", "interface:br-lan"] {
        let known = Settings { clients: vec![client("ann", mark)], ..Settings::default() };
        check(&known, &[]);
    }
}

#[test]
fn groups_tags_and_hours_are_checked() {
    let schedule = |days: &str, from: &str, to: &str| ScheduleSettings {
        block: "||video.example^".into(),
        days: days.into(),
        from: from.into(),
        to: to.into(),
        ..ScheduleSettings::default()
    };
    let settings = Settings {
        lists: vec![list("ads")],
        groups: vec![
            GroupSettings {
                name: "school".into(),
                lists: Some(vec!["adz".into()]),
                schedule: vec![schedule("mon-fri", "21:00", "07:00"), schedule("monday", "", "")],
            },
            GroupSettings { name: "school".into(), ..GroupSettings::default() },
        ],
        clients: vec![ClientSettings {
            groups: vec!["school".into(), "work".into()],
            tags: vec!["user_child".into(), "user_cat".into()],
            schedule: vec![schedule("", "9pm", ""), schedule("", "", "25:00")],
            ..client("kids", "user:")
        }],
        time_zone: Some("Europe/Atlantis".into()),
        ..Settings::default()
    };
    check(
        &settings,
        &[
            ("time_zone", "no time zone"),
            ("groups.0.lists.0", "no list \"adz\""),
            ("groups.0.schedule.1.days", "\"monday\" cannot be read"),
            ("groups.1.name", "is taken"),
            ("clients.0.match.0", "nobody is named"),
            ("clients.0.groups.1", "no group \"work\""),
            ("clients.0.tags.1", "no tag"),
            ("clients.0.schedule.0.from", "cannot be read"),
            ("clients.0.schedule.1.to", "cannot be read"),
        ],
    );
}

#[test]
fn rules_of_schedules_count_as_lists() {
    let block = |n: usize| ScheduleSettings {
        block: format!("||a{n}.example^"),
        ..ScheduleSettings::default()
    };
    let settings = Settings {
        lists: (0..60).map(|n| list(&format!("list{n}"))).collect(),
        clients: vec![ClientSettings {
            schedule: (0..5).map(block).collect(),
            ..client("kids", "10.0.0.1")
        }],
        ..Settings::default()
    };
    assert_eq!(settings.schedule_lists().len(), 5);
    check(&settings, &[("clients", "60 lists and 5 rules of schedules")]);
}
