//! What a script in Luau answers, and what a faulty one costs.

use crate::support;

use scripting::{LuauChoice, LuauSettings, OnScriptError};
use std::sync::atomic::{AtomicU32, Ordering};
use support::{A, AAAA, Bench, HTTPS};

/// A door whose script is this.
fn scripted(source: &str, on_error: OnScriptError) -> Bench {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!("tidegate-dns-luau-{}-{number}.luau", std::process::id());
    let file = std::env::temp_dir().join(name);
    std::fs::write(&file, source).unwrap();
    let settings =
        LuauSettings { file: file.display().to_string(), on_error, ..LuauSettings::default() };
    let bench = Bench::start(|it| it.script = Some(LuauChoice::Detailed(settings.clone())));
    std::fs::remove_file(file).unwrap();
    bench
}

#[test]
fn a_script_answers_what_it_wants_and_the_rest_goes_on() {
    let bench = scripted(
        "function on_query(query)
            local name = query.name
            if name == 'one.test' then query:respond('192.0.2.7', 30) end
            if name == 'both.test' then query:respond({'192.0.2.8', '2001:db8::8'}) end
            if name == 'gone.test' then query:nxdomain() end
            if name == 'empty.test' then query:nodata(5) end
            if name == 'told.test' and query.type == 'HTTPS' then query:refuse() end
            if name == 'who.test' then query:respond(query.client) end
        end",
        OnScriptError::Fail,
    );
    let one = bench.ask("ONE.test", A);
    assert_eq!((one.rcode(), one.address().to_string()), (0, "192.0.2.7".into()));
    assert_eq!(bench.ask("one.test", AAAA).counts(), (0, 1));
    let both = bench.ask("both.test", A);
    assert_eq!((both.counts(), both.address().to_string()), ((1, 0), "192.0.2.8".into()));
    assert_eq!(bench.ask("both.test", AAAA).counts(), (1, 0));
    assert_eq!(bench.ask("gone.test", A).rcode(), 3);
    assert_eq!((bench.ask("empty.test", A).rcode(), bench.ask("empty.test", A).counts().0), (0, 0));
    assert_eq!(bench.ask("told.test", HTTPS).rcode(), 5);
    assert_eq!(bench.ask("who.test", A).address().to_string(), "127.0.0.1");
    for name in ["one.test", "both.test", "gone.test", "empty.test", "who.test"] {
        assert_eq!(bench.upstream.asked(name), 0, "{name}");
    }
    assert_eq!(bench.ask("told.test", A).rcode(), 0);
    assert_eq!(bench.upstream.asked("told.test"), 1);
    let blocked = bench.ask("blocked.test", A);
    assert_eq!((blocked.counts().0, bench.upstream.asked("blocked.test")), (0, 0));
}

#[test]
fn a_faulty_script_fails_its_own_questions_or_lets_them_pass() {
    let source = "function on_query(query)
            if query.name == 'loop.test' then while true do end end
            if query.name == 'error.test' then error('here') end
            if query.name == 'many.test' then
                query:respond({'::1','::2','::3','::4','::5','::6','::7','::8','::9'})
            end
            if query.name == 'wrong.test' then query:respond('nowhere') end
            if query.name == 'long.test' then query:nodata(100000) end
        end";
    let names = ["loop.test", "error.test", "many.test", "wrong.test", "long.test"];
    let bench = scripted(source, OnScriptError::Fail);
    for name in names {
        assert_eq!(bench.ask(name, A).rcode(), 2, "{name}");
        assert_eq!(bench.ask("other.test", A).rcode(), 0);
        assert_eq!(bench.upstream.asked(name), 0);
    }
    let counts = bench.door.script().unwrap().counts();
    assert_eq!((counts.errors, counts.ended), (5, 1));
    let bench = scripted(source, OnScriptError::Pass);
    for name in names {
        assert_eq!((bench.ask(name, A).rcode(), bench.upstream.asked(name)), (0, 1), "{name}");
    }
}
