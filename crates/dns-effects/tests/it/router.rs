//! Address lists of a router, against one that the test plays: it has lists in memory, speaks the
//! API, and can be told to be silent or to go away.

use crate::support::{emit, ips, start, wait_until};
use dns_effects::{EffectSpec, Effects, EffectsPlan, RouterPassword, RouterSpec};
use routeros::{SentenceReader, write_sentence};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// One entry of a list.
#[derive(Clone, Debug, Default, PartialEq)]
struct Entry {
    list: String,
    address: String,
    comment: String,
    timeout: Option<String>,
}

#[derive(Default)]
struct Lists {
    entries: Mutex<BTreeMap<usize, Entry>>,
    next: AtomicUsize,
    connections: AtomicUsize,
    is_silent: AtomicBool,
    /// It hangs up after each command.
    hangs_up: AtomicBool,
}

struct Router {
    address: SocketAddr,
    lists: Arc<Lists>,
}

impl Router {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let lists = Arc::new(Lists::default());
        let served = Arc::clone(&lists);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let served = Arc::clone(&served);
                std::thread::spawn(move || served.serve(stream));
            }
        });
        Self { address, lists }
    }

    fn entries(&self) -> Vec<Entry> {
        self.lists.entries.lock().unwrap().values().cloned().collect()
    }

    fn put(&self, list: &str, address: &str, comment: &str) {
        let number = self.lists.next.fetch_add(1, Ordering::Relaxed);
        let entry = Entry {
            list: list.into(),
            address: address.into(),
            comment: comment.into(),
            timeout: None,
        };
        self.lists.entries.lock().unwrap().insert(number, entry);
    }

    fn spec(&self) -> RouterSpec {
        RouterSpec {
            address: self.address.to_string(),
            username: "me".into(),
            password: RouterPassword("secret".into()),
            address_list4: "four".into(),
            address_list6: "six".into(),
            owner: "tag".into(),
            ..RouterSpec::default()
        }
    }
}

impl Lists {
    fn serve(&self, mut stream: TcpStream) {
        self.connections.fetch_add(1, Ordering::Relaxed);
        let (mut reader, mut bytes) = (SentenceReader::default(), [0; 4096]);
        loop {
            let words = loop {
                if let Some(words) = reader.next_sentence().unwrap() {
                    break words;
                }
                match stream.read(&mut bytes) {
                    Ok(0) | Err(_) => return,
                    Ok(count) => reader.push(&bytes[..count]),
                }
            };
            if self.is_silent.load(Ordering::Relaxed) {
                continue;
            }
            let mut out = Vec::new();
            for sentence in self.answer(&words) {
                write_sentence(sentence.iter().map(String::as_str), &mut out);
            }
            if stream.write_all(&out).is_err() {
                return;
            }
            if self.hangs_up.load(Ordering::Relaxed) && words[0] != "/login" {
                return;
            }
        }
    }

    fn answer(&self, words: &[String]) -> Vec<Vec<String>> {
        let value = |name: &str| {
            let head = format!("={name}=");
            words.iter().find_map(|word| word.strip_prefix(&head)).map(str::to_owned)
        };
        let done = || vec!["!done".to_owned()];
        let trap = |why: &str| vec![vec!["!trap".into(), format!("=message={why}")], done()];
        let mut entries = self.entries.lock().unwrap();
        let number = |id: String| id.trim_start_matches('*').parse::<usize>().unwrap();
        let (folder, command) =
            words[0].split_once("/firewall/address-list/").unwrap_or((&words[0], ""));
        match command {
            "" if folder == "/login" => {
                assert_eq!(words[1..], ["=name=me", "=password=secret"]);
                vec![done()]
            }
            "add" => {
                let full =
                    |text: String| if text.contains(':') { format!("{text}/128") } else { text };
                let entry = Entry {
                    list: value("list").unwrap(),
                    address: full(value("address").unwrap()),
                    comment: value("comment").unwrap(),
                    timeout: value("timeout"),
                };
                let same = |it: &Entry| (&it.list, &it.address) == (&entry.list, &entry.address);
                if entries.values().any(same) {
                    return trap("failure: already have such entry");
                }
                let id = self.next.fetch_add(1, Ordering::Relaxed);
                entries.insert(id, entry);
                vec![vec!["!done".into(), format!("=ret=*{id}")]]
            }
            "set" => {
                let entry = entries.get_mut(&number(value(".id").unwrap())).unwrap();
                entry.comment = value("comment").unwrap();
                entry.timeout = value("timeout");
                vec![done()]
            }
            "remove" => match entries.remove(&number(value(".id").unwrap())) {
                Some(_) => vec![done()],
                None => trap("no such item"),
            },
            "print" => {
                let asked: Vec<&str> =
                    words.iter().filter_map(|it| it.strip_prefix("?address=")).collect();
                let list = words.iter().find_map(|it| it.strip_prefix("?list=")).unwrap();
                let is_six = folder == "/ipv6";
                let fits = |it: &Entry| {
                    it.list == list
                        && it.address.contains(':') == is_six
                        && (asked.is_empty() || asked.contains(&it.address.as_str()))
                };
                let rows = entries.iter().filter(|(_, it)| fits(it)).map(|(id, it)| {
                    let (address, comment) = (&it.address, &it.comment);
                    vec![
                        "!re".into(),
                        format!("=.id=*{id}"),
                        format!("=address={address}"),
                        format!("=comment={comment}"),
                    ]
                });
                rows.chain([done()]).collect()
            }
            other => trap(&format!("no such command {other}")),
        }
    }
}

fn running(spec: RouterSpec) -> Effects {
    start(vec![EffectSpec::RosAddressList(spec)], Vec::new()).0
}

/// An answer to a question for `name`.
fn tell(effects: &Effects, name: &str, addresses: &[&str]) {
    emit(effects, 0, name, &ips(addresses));
}

#[test]
fn addresses_of_answers_are_added_with_their_time_and_removed_at_the_end() {
    let router = Router::start();
    router.put("four", "198.51.100.1", "somebody's");
    let effects = running(router.spec());
    tell(&effects, "www.test", &["192.0.2.1", "192.0.2.1", "2001:db8::1"]);
    tell(&effects, "other.test", &["198.51.100.1"]);
    wait_until("both are done", || effects.stats()[0].done == 2);
    let entry = |list: &str, address: &str| Entry {
        list: list.into(),
        address: address.into(),
        comment: "fdns;pg=tag;kind=D;dm=www.test".into(),
        timeout: Some("300s".into()),
    };
    let entries = router.entries();
    assert_eq!(entries[0].comment, "somebody's", "entries of others stay as they are");
    assert_eq!(entries[1..], [entry("four", "192.0.2.1"), entry("six", "2001:db8::1/128")]);
    // What was told a moment ago is not told again.
    tell(&effects, "www.test", &["192.0.2.1"]);
    assert_eq!((effects.stats()[0].triggered, effects.stats()[0].suppressed), (2, 1));
    assert_eq!(router.lists.connections.load(Ordering::Relaxed), 1);
    effects.close(Duration::from_secs(20)).unwrap();
    let left = router.entries();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn an_entry_of_ours_is_renewed_and_kept_where_it_is_said_so() {
    let router = Router::start();
    router.put("four", "192.0.2.1", "fdns;pg=tag;kind=D;dm=old.test");
    router.put("six", "2001:db8::1/128", "fdns;pg=tag;kind=D;dm=old.test");
    let spec = RouterSpec { cleanup_on_shutdown: false, max_ttl: 120, ..router.spec() };
    let effects = running(spec);
    tell(&effects, "new.test", &["192.0.2.1", "2001:db8::1"]);
    wait_until("it is done", || effects.stats()[0].done == 1);
    effects.close(Duration::from_secs(20)).unwrap();
    let renewed = |it: &Entry| (it.comment.clone(), it.timeout.clone());
    let expected = ("fdns;pg=tag;kind=D;dm=new.test".to_owned(), Some("120s".to_owned()));
    let entries = router.entries();
    assert_eq!(entries.iter().map(renewed).collect::<Vec<_>>(), [expected.clone(), expected]);
}

#[test]
fn what_is_set_is_put_right_at_the_start() {
    let router = Router::start();
    router.put("four", "203.0.113.0/24", "fdns;pg=tag;kind=P");
    router.put("four", "198.51.100.0/24", "fdns;pg=tag;kind=P");
    router.put("four", "192.0.2.77", "fdns;pg=other;kind=P");
    let persistent = vec!["203.0.113.9/24".into(), "192.0.2.9".into(), "2001:db8::/32".into()];
    let effects = running(RouterSpec { persistent, cleanup_on_shutdown: false, ..router.spec() });
    wait_until("it is put right", || {
        let addresses: Vec<_> = router.entries().into_iter().map(|it| it.address).collect();
        let has = |it: &str| addresses.iter().any(|other| other.starts_with(it));
        addresses.len() == 4
            && ["203.0.113.0/24", "192.0.2.77", "192.0.2.9", "2001:db8::/32"].into_iter().all(has)
    });
    // Nothing of an answer changes it.
    tell(&effects, "www.test", &["192.0.2.9"]);
    wait_until("it is done", || effects.stats()[0].done == 1);
    assert!(router.entries().iter().any(|it| it.address == "192.0.2.9" && it.timeout.is_none()));
}

#[test]
fn a_router_that_is_silent_or_gone_holds_nobody_up_and_is_told() {
    let router = Router::start();
    router.lists.is_silent.store(true, Ordering::Relaxed);
    let second = settings::Text(vocab::TimeSpan(Duration::from_secs(1)));
    let spec = RouterSpec { connect_timeout: second, queue_size: 2, ..router.spec() };
    let effects = running(spec);
    // One is under way, two wait, and the rest is dropped at once.
    for number in 0..50 {
        tell(&effects, "www.test", &[&format!("192.0.2.{number}")]);
    }
    assert!(effects.stats()[0].dropped >= 47, "{:?}", effects.stats());
    wait_until("it is told", || effects.stats()[0].failed > 0);
    let told = effects.stats()[0].last_failure.clone();
    assert!(told.contains("the connection to the router failed"), "{told}");
    assert!(router.entries().is_empty());
}

#[test]
fn a_connection_that_the_router_closed_is_made_anew() {
    let router = Router::start();
    router.lists.hangs_up.store(true, Ordering::Relaxed);
    let effects = running(RouterSpec { cleanup_on_shutdown: false, ..router.spec() });
    for (count, address) in ["192.0.2.1", "192.0.2.2", "192.0.2.3"].into_iter().enumerate() {
        tell(&effects, "www.test", &[address]);
        wait_until("it is done", || effects.stats()[0].done == count as u64 + 1);
    }
    assert_eq!(router.lists.connections.load(Ordering::Relaxed), 3);
    assert_eq!((router.entries().len(), effects.stats()[0].failed), (3, 0));
}

#[test]
fn what_cannot_be_is_said_with_its_remedy() {
    let said = |spec: RouterSpec| {
        let plan = EffectsPlan {
            effects: vec![dns_effects::EffectSettings {
                name: "r".into(),
                spec: EffectSpec::RosAddressList(spec),
            }],
            jobs: Vec::new(),
        };
        let all = plan.check();
        assert!(all.iter().all(|it| it.remedy.is_some()));
        all.into_iter().map(|it| it.path.replace("effects.0.", "")).collect::<Vec<_>>()
    };
    let nothing = said(RouterSpec::default());
    assert_eq!(nothing, ["address", "username", "password", "address_list4"]);
    let good = || RouterSpec {
        address: "192.0.2.1".into(),
        username: "a".into(),
        password: RouterPassword("b".into()),
        address_list4: "l".into(),
        ..RouterSpec::default()
    };
    assert_eq!(said(good()), Vec::<String>::new());
    assert_eq!(said(RouterSpec { address: "router.lan:8728".into(), ..good() }), ["address"]);
    assert_eq!(said(RouterSpec { comment_prefix: "a;b".into(), ..good() }), ["comment_prefix"]);
    assert_eq!(said(RouterSpec { min_ttl: 9999, ..good() }), ["min_ttl"]);
    assert_eq!(said(RouterSpec { persistent: vec!["x".into()], ..good() }), ["persistent"]);
    assert_eq!(said(RouterSpec { queue_size: 0, ..good() }), ["queue_size"]);
    assert!(!format!("{:?}", good()).contains("\"b\""));
}
