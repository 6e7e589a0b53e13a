//! Clients by what is known of them, groups, tags, and hours.

use crate::support::{NOW, SEED, blocks, name};
use policy::{
    Ask, ClientIdentity, ClientProfiles, ClientSettings, DefaultSettings, GroupSettings, ListKind,
    ListSettings, ListSource, Policy, RuleOutcome, ScheduleSettings, Settings, UnlistedAction,
};
use vocab::Now;

const NOBODY: ClientIdentity<'static> =
    ClientIdentity { mac: None, id: None, user: None, interface: None };

fn client(name: &str, matches: &[&str]) -> ClientSettings {
    ClientSettings {
        name: name.into(),
        matches: matches.iter().map(|text| (*text).into()).collect(),
        ..ClientSettings::default()
    }
}

/// A policy whose lists each block the one name that they are called after.
fn policy(mut settings: Settings, lists: &[&str], more: &str) -> Policy {
    let list = |name: &&str| ListSettings { name: (*name).into(), ..ListSettings::default() };
    settings.lists = lists.iter().map(list).collect();
    // Lists get their texts below, and the policy can tell clients apart by more than doors know
    // yet.
    let is_wrong = |path: &str| !path.starts_with("lists") && !path.contains(".match.");
    assert_eq!(settings.check().iter().filter(|it| is_wrong(&it.path)).count(), 0);
    let mut texts: Vec<(String, String)> = lists
        .iter()
        .map(|name| ((*name).to_owned(), format!("||{name}.example^\n{more}")))
        .collect();
    texts.extend(settings.schedule_lists());
    let sources: Vec<ListSource<'_>> = texts
        .iter()
        .map(|(name, text)| ListSource {
            name,
            kind: ListKind::Block,
            text: text.as_bytes(),
            files: &[],
        })
        .collect();
    Policy::new(policy::compile(&sources, SEED).into(), ClientProfiles::build(&settings))
}

#[test]
fn a_client_is_known_by_any_of_its_marks_and_the_first_profile_counts() {
    let settings = Settings {
        clients: vec![
            client("phone", &["id:Ann-Phone", "aa:bb:cc:00:11:22"]),
            client("ann", &["user:ann"]),
            client("guests", &["interface:br-guest", "10.0.0.0/8", "10.0.0.7"]),
            client("late", &["10.0.0.8", "id:ann-phone"]),
        ],
        ..Settings::default()
    };
    let policy = policy(settings, &[], "");
    let check = |address: &str, who: ClientIdentity<'_>, profile: &str| {
        let address = address.parse().unwrap();
        assert_eq!(policy.profile_of(address, Some(&who)), profile, "{address} {who:?}");
    };
    let mac = "aa-bb-cc-00-11-22".parse().ok();
    check("192.0.2.1", NOBODY, "default");
    check("192.0.2.1", ClientIdentity { id: Some("ann-phone"), ..NOBODY }, "phone");
    check("192.0.2.1", ClientIdentity { mac, ..NOBODY }, "phone");
    check("192.0.2.1", ClientIdentity { user: Some("ann"), ..NOBODY }, "ann");
    check("192.0.2.1", ClientIdentity { user: Some("Ann"), ..NOBODY }, "default");
    check("192.0.2.1", ClientIdentity { interface: Some("br-guest"), ..NOBODY }, "guests");
    check("10.0.0.7", NOBODY, "guests");
    check("::ffff:10.0.0.8", NOBODY, "guests");
    check("10.0.0.7", ClientIdentity { mac, user: Some("ann"), ..NOBODY }, "phone");
}

#[test]
fn a_client_gets_the_lists_of_its_groups_besides_its_own() {
    let group = |name: &str, lists: &[&str]| GroupSettings {
        name: name.into(),
        lists: Some(lists.iter().map(|list| (*list).into()).collect()),
        ..GroupSettings::default()
    };
    let settings = Settings {
        groups: vec![group("family", &["ads"]), group("young", &["adult", "games"])],
        clients: vec![
            ClientSettings {
                groups: vec!["family".into(), "young".into()],
                ..client("kid", &["10.0.0.1"])
            },
            ClientSettings {
                groups: vec!["family".into()],
                lists: Some(vec!["games".into()]),
                ..client("teen", &["10.0.0.2"])
            },
        ],
        default: DefaultSettings {
            lists: Some(vec!["adult".into()]),
            ..DefaultSettings::default()
        },
        ..Settings::default()
    };
    let policy = policy(settings, &["ads", "adult", "games"], "");
    let check = |last: u8, expected: [bool; 3]| {
        let of = |list| {
            let host = format!("{list}.example");
            blocks(policy.decide(&Ask::lookup(name(&host), 1, [10, 0, 0, last].into()), NOW))
        };
        assert_eq!(["ads", "adult", "games"].map(of), expected, "10.0.0.{last}");
    };
    check(1, [true, true, true]);
    check(2, [true, false, true]);
    check(3, [false, true, false]);
}

#[test]
fn tags_and_client_ids_choose_rules() {
    let tagged = |name: &str, matches: &str, tags: &[&str]| ClientSettings {
        tags: tags.iter().map(|tag| (*tag).into()).collect(),
        ..client(name, &[matches])
    };
    let settings = Settings {
        clients: vec![
            tagged("phone", "10.0.0.1", &["device_phone", "user_child"]),
            tagged("pc", "10.0.0.2", &["device_pc"]),
        ],
        ..Settings::default()
    };
    let rules = "||x.example^$ctag=device_phone|device_tv\n||y.example^$ctag=~user_child\n\
                 ||z.example^$client=tablet\n||w.example^$ctag=device_phone|~user_child";
    let policy = policy(settings, &["list"], rules);
    let check = |host: &str, last: u8, who: ClientIdentity<'_>, blocked: bool| {
        let ask = Ask::lookup(name(host), 1, [10, 0, 0, last].into()).by(&who);
        assert_eq!(blocks(policy.decide(&ask, NOW)), blocked, "{host} for 10.0.0.{last}");
        assert_eq!(policy.explain(&ask, NOW).verdict, policy.decide(&ask, NOW));
    };
    check("x.example", 1, NOBODY, true);
    check("x.example", 2, NOBODY, false);
    check("x.example", 3, NOBODY, false);
    check("y.example", 1, NOBODY, false);
    check("y.example", 2, NOBODY, true);
    check("y.example", 3, NOBODY, true);
    check("w.example", 1, NOBODY, false);
    check("z.example", 3, NOBODY, false);
    check("z.example", 3, ClientIdentity { id: Some("tablet"), ..NOBODY }, true);
    let told = policy.explain(&Ask::lookup(name("x.example"), 1, [10, 0, 0, 2].into()), NOW);
    assert_eq!(told.considered[0].outcome, RuleOutcome::NotForThisTag);
}

fn at(unix_s: u64) -> Now {
    Now { unix_ms: unix_s * 1000, mono_ms: 0 }
}

#[test]
fn a_schedule_blocks_all_that_no_rule_lets_pass_at_its_hours() {
    let night = |otherwise| ScheduleSettings {
        otherwise: Some(otherwise),
        from: "21:00".into(),
        to: "07:00".into(),
        ..ScheduleSettings::default()
    };
    let with = |schedules: &[UnlistedAction], otherwise| {
        let schedule = schedules.iter().map(|it| night(*it)).collect();
        let kids = ClientSettings { schedule, otherwise, ..client("kids", &["10.0.0.1"]) };
        policy(
            Settings { clients: vec![kids], ..Settings::default() },
            &["ads"],
            "@@||fine.example^",
        )
    };
    let (pass, block) = (UnlistedAction::Pass, UnlistedAction::Block);
    let (noon, late) = (at(12 * 3600), at(22 * 3600));
    for (schedules, otherwise, at_noon, at_night) in [
        (&[block][..], None, false, true),
        (&[pass], Some(block), true, false),
        // The first that says it.
        (&[pass, block], None, false, false),
    ] {
        let policy = with(schedules, otherwise);
        for (last, host, now, blocked) in [
            (1, "shop.example", noon, at_noon),
            (1, "shop.example", late, at_night),
            (1, "fine.example", late, false),
            (2, "shop.example", late, false),
        ] {
            let ask = Ask::lookup(name(host), 1, [10, 0, 0, last].into());
            let verdict = policy.decide(&ask, now);
            assert_eq!(blocks(verdict), blocked, "{schedules:?} {last} {host} {now:?}");
            assert_eq!(policy.explain(&ask, now).verdict, verdict);
        }
    }
}

#[test]
fn schedules_hold_at_their_hours_in_their_zone() {
    let schedule = |block: &str, lists: &[&str]| ScheduleSettings {
        block: block.into(),
        lists: lists.iter().map(|list| (*list).into()).collect(),
        otherwise: None,
        days: "fri".into(),
        from: "21:00".into(),
        to: "07:00".into(),
    };
    let settings = Settings {
        clients: vec![ClientSettings {
            lists: Some(vec!["ads".into()]),
            schedule: vec![schedule("||video.example^", &[]), schedule("", &["games"])],
            ..client("kids", &["10.0.0.1"])
        }],
        time_zone: Some("Europe/Zurich".into()),
        ..Settings::default()
    };
    let policy = policy(settings, &["ads", "games"], "");
    let check = |host: &str, last: u8, now: u64, blocked: bool| {
        let ask = Ask::lookup(name(host), 1, [10, 0, 0, last].into());
        assert_eq!(blocks(policy.decide(&ask, at(now))), blocked, "{host} at {now}");
        assert_eq!(policy.explain(&ask, at(now)).verdict, policy.decide(&ask, at(now)));
    };
    // Friday 2026-07-17: summer time, so that 21:00 is 19:00Z.
    let friday = 1_784_246_400;
    let (evening, morning) = (friday + 19 * 3600, friday + 29 * 3600);
    for (now, blocked) in
        [(evening - 1, false), (evening, true), (morning - 1, true), (morning, false)]
    {
        check("video.example", 1, now, blocked);
        check("games.example", 1, now, blocked);
        check("ads.example", 1, now, true);
        // The rules of somebody's schedule are nobody else's.
        check("video.example", 2, now, false);
        check("games.example", 2, now, true);
    }
    let ask = Ask::lookup(name("video.example"), 1, [10, 0, 0, 1].into());
    let told = policy.explain(&ask, at(evening));
    assert_eq!(told.schedule.as_deref(), Some("fri 21:00 to 07:00"));
    assert_eq!(told.winner.unwrap().list, "kids, fri 21:00 to 07:00");
    let told = policy.explain(&ask, at(evening - 1));
    assert_eq!((told.schedule, told.considered[0].outcome), (None, RuleOutcome::NotAtThisHour));
}
