//! Jobs and scripts: what the clock or a person sets off, and how it ends.

use crate::support::{DEADLINE, Scratch, emit, start, wait_until};
use dns_effects::{
    EffectId, EffectSettings, EffectSpec, EffectsPlan, IpsetSpec, JobSettings, JobTime, NotRun,
    ReloadWhat, ScriptSpec, UnfinishedEffects,
};
use settings::Text;
use std::time::{Duration, Instant};
use vocab::TimeSpan;

fn shell(script: &str, args: &[&str]) -> EffectSpec {
    let mut all = vec!["-c".to_owned(), script.to_owned(), "sh".to_owned()];
    all.extend(args.iter().map(|it| (*it).to_owned()));
    let timeout = Text(TimeSpan(Duration::from_mins(1)));
    EffectSpec::Script(ScriptSpec {
        command: "/bin/sh".into(),
        args: all,
        timeout,
        ..ScriptSpec::default()
    })
}

fn yearly(name: &str, effects: &[u16]) -> JobSettings {
    JobSettings {
        schedule: "refresh".into(),
        name: name.into(),
        when: JobTime::Cron { fields: "0 0 29 2 *".into(), timezone: Some("UTC".into()) },
        effects: effects.iter().map(|it| EffectId(*it)).collect(),
    }
}

fn fifo(path: &std::path::Path) {
    assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn a_job_runs_its_effects_in_turn_and_a_failure_does_not_stop_the_next() {
    let folder = Scratch::new();
    let seen = folder.path().join("seen");
    let seen = seen.to_str().unwrap();
    let note = "echo \"$2\" >> \"$1\"";
    let specs = vec![
        shell(
            note,
            &[seen, "one ${cron_plugin_tag} ${cron_job_name} ${cron_trigger_kind}${qname}"],
        ),
        shell("exit 3", &[]),
        EffectSpec::Reload(ReloadWhat::Providers(vec!["ads".into()])),
        shell(note, &[seen, "two"]),
    ];
    let (effects, told) = start(specs, vec![yearly("lists", &[0, 1, 2, 3])]);
    assert_eq!(effects.run_job("other"), Err(NotRun::Unknown));
    assert_eq!(effects.run_job("lists"), Ok(()));
    wait_until("the job is over", || effects.job_stats()[0].finished == 1);
    assert_eq!(std::fs::read_to_string(seen).unwrap(), "one refresh lists manual\ntwo\n");
    assert_eq!(*told.reloads.lock().unwrap(), [ReloadWhat::Providers(vec!["ads".into()])]);
    assert_eq!(effects.stats()[1].failed, 1);
    let stats = effects.job_stats().remove(0);
    assert_eq!((stats.runs, stats.skipped), (1, 0));
    assert!(stats.last_unix_ms > 0 && stats.next_unix_ms > stats.last_unix_ms, "{stats:?}");
}

#[test]
fn a_job_whose_last_run_is_not_over_is_skipped() {
    let folder = Scratch::new();
    let gate = folder.path().join("gate");
    fifo(&gate);
    let specs = vec![shell("read line < \"$1\"", &[gate.to_str().unwrap()])];
    let (effects, _told) = start(specs, vec![yearly("slow", &[0])]);
    effects.run_job("slow").unwrap();
    wait_until("the first run is under way", || effects.job_stats()[0].runs == 1);
    effects.run_job("slow").unwrap();
    effects.run_job("slow").unwrap();
    wait_until("the others are skipped", || effects.job_stats()[0].skipped == 2);
    std::fs::write(&gate, "go\n").unwrap();
    wait_until("the run is over", || effects.job_stats()[0].finished == 1);
    assert_eq!((effects.job_stats()[0].runs, effects.stats()[0].done), (1, 1));
}

#[test]
fn only_so_many_scripts_run_at_once_and_the_rest_wait_or_are_dropped() {
    let folder = Scratch::new();
    let (gate, runs) = (folder.path().join("gate"), folder.path().join("runs"));
    fifo(&gate);
    std::fs::create_dir(&runs).unwrap();
    // A doubled dollar stands for one: the shell sees $$, its own number.
    let script = "touch \"$2/$$$$\"; read line < \"$1\"";
    let mut spec = shell(script, &[gate.to_str().unwrap(), runs.to_str().unwrap()]);
    if let EffectSpec::Script(spec) = &mut spec {
        (spec.concurrent, spec.queue_size) = (2, 3);
    }
    let (effects, _told) = start(vec![spec], vec![]);
    let running = || std::fs::read_dir(&runs).unwrap().count();
    for count in 1..=2 {
        emit(&effects, 0, "a.example", &[]);
        wait_until("the script runs", || running() == count);
    }
    for _ in 0..10 {
        emit(&effects, 0, "a.example", &[]);
    }
    let stats = effects.stats().remove(0);
    assert_eq!((stats.triggered, stats.dropped, running()), (2 + 3, 7, 2), "{stats:?}");
    // Held open for reading and writing, so that each run finds its line.
    let mut lines = std::fs::OpenOptions::new().read(true).write(true).open(&gate).unwrap();
    std::io::Write::write_all(&mut lines, b"1\n2\n3\n4\n5\n").unwrap();
    wait_until("all have run", || effects.stats()[0].done == 5);
    assert_eq!(running(), 5);
}

#[test]
fn what_is_not_done_in_time_at_the_end_is_stopped() {
    let folder = Scratch::new();
    let (alive, first) = (folder.path().join("alive"), folder.path().join("first"));
    let specs = vec![
        shell(
            "echo $$$$ > \"$1.new\"; mv \"$1.new\" \"$1\"; sleep 600",
            &[alive.to_str().unwrap()],
        ),
        shell("touch \"$1\"", &[first.to_str().unwrap()]),
    ];
    let (effects, _told) = start(specs, vec![]);
    emit(&effects, 0, "a.example", &[]);
    wait_until("the script runs", || alive.exists());
    emit(&effects, 1, "a.example", &[]);
    let begun = Instant::now();
    assert_eq!(effects.close(Duration::from_secs(2)), Err(UnfinishedEffects));
    assert!(begun.elapsed() < Duration::from_secs(15));
    assert!(first.exists(), "what could be done was done");
    let script = std::fs::read_to_string(&alive).unwrap();
    let script: u32 = script.trim().parse().unwrap();
    let state = format!("/proc/{script}/stat");
    wait_until("the script is killed", || {
        std::fs::read_to_string(&state).map_or(true, |it| it.contains(") Z "))
    });
    assert_eq!(effects.close(DEADLINE), Ok(()), "a second time there is nothing left");
}

#[test]
fn all_that_is_wrong_with_a_plan_is_said() {
    let plan = EffectsPlan {
        effects: vec![
            EffectSettings { name: "a".into(), spec: shell("true", &["${what}"]) },
            EffectSettings { name: "b".into(), spec: EffectSpec::Ipset(IpsetSpec::default()) },
        ],
        jobs: vec![
            JobSettings { effects: vec![EffectId(7)], ..yearly("x", &[]) },
            JobSettings { when: JobTime::Every(Duration::from_secs(5)), ..yearly("y", &[0]) },
        ],
    };
    let paths: Vec<_> = plan.check().into_iter().map(|it| it.path).collect();
    let expected = ["effects.0.args.3", "effects.1.set_name4", "jobs.0", "jobs.1.interval"];
    assert_eq!(paths, expected);
}

#[test]
fn effects_are_read_by_their_type_and_misspelt_keys_are_refused() {
    let read = |json: serde_json::Value| serde_json::from_value::<EffectSpec>(json);
    let reload = read(serde_json::json!({ "type": "reload", "what": "everything" })).unwrap();
    assert_eq!(reload, EffectSpec::Reload(ReloadWhat::Everything));
    let lists = serde_json::json!({ "type": "reload", "what": "providers", "names": ["ads"] });
    let expected = EffectSpec::Reload(ReloadWhat::Providers(vec!["ads".into()]));
    assert_eq!(read(lists).unwrap(), expected);
    let hook = serde_json::json!({
        "type": "http_request", "method": "GET", "url": "https://hook.example/${qname}",
        "async": false, "phase": "before", "timeout": "2s", "error_mode": "stop",
        "body": null, "headers": {}, "max_redirects": 5, "queue_size": 256,
    });
    assert!(read(hook).unwrap().check().is_empty());
    let set = serde_json::json!({
        "type": "nftset",
        "ipv4": { "table_family": "inet", "table_name": "t", "set_name": "s", "mask": 24 },
        "ipv6": null,
    });
    assert!(read(set).unwrap().check().is_empty());
    assert!(read(serde_json::json!({ "type": "script", "comand": "x" })).is_err());
}
