//! A whole fleet that loses everything at once: five machines killed, the place of the bundles and
//! the shared Redis away. What they had in force is served again, and they say what they lack.

use crate::fleet::{Fleet, in_force, record, until_in_force};
use crate::fleet_programs::kept_address;
use std::net::{SocketAddr, TcpListener};
use test_support::RedisServer;
use tidegate_tests::Scratch;
use tidegate_tests::clients::{curl, dig};
use tidegate_tests::tidegate::Tidegate;
use tidegate_tests::wait::until;

const NAMES: [&str; 5] = ["harbour", "pier", "quay", "reef", "buoy"];

/// The bundle's configuration: a list, a route and the shared state. Its listeners make it whole
/// for machines without an overlay too, as publishers check it.
fn bundle(blocked: &str, body: &str, redis: &RedisServer, more: &str) -> String {
    format!(
        "policy: {{ lists: [{{ name: ads, rules: [\"||{blocked}^\"] }}] }}\n\
         dns: {{ listen: [\"udp://127.0.0.1:0\"], upstreams: [\"udp://127.0.0.1:9\"], timeout: 100ms }}\n\
         gateway:\n  listen: [\"http://127.0.0.1:0\"]\n  \
         routes: [{{ path: \"/*\", answer: {{ body: \"{body}\" }} }}]\n\
         fleet: {{ live: {{ url: \"{}\" }} }}\n{more}",
        redis.url()
    )
}

/// Five machines by one fleet, each with a door for DNS and one for HTTP in its overlay.
struct WholeFleet {
    fleet: Fleet,
    redis: RedisServer,
    doors: Vec<(SocketAddr, SocketAddr)>,
    machines: Vec<Tidegate>,
}

impl WholeFleet {
    /// All five have the first revision in force and see each other.
    fn start() -> Self {
        let (fleet, redis) = (Fleet::new(), RedisServer::start(&[]));
        let doors: Vec<_> = NAMES.iter().map(|_| (kept_address(), kept_address())).collect();
        for (name, (dns, http)) in NAMES.iter().zip(&doors) {
            fleet.write(
                &format!("overlays/edge={name}.yaml"),
                &format!(
                    "dns: {{ listen: [\"udp://{dns}\"] }}\ngateway: {{ listen: [\"http://{http}\"] }}\n"
                ),
            );
        }
        fleet.write("tidegate.yaml", &bundle("first.example", "the first", &redis, ""));
        fleet.publish(&[]);
        let machines = NAMES.iter().map(|name| Tidegate::start(&fleet.own_file(name, "")));
        let machines = machines.collect();
        let all = Self { fleet, redis, doors, machines };
        all.until_all("the first revision", |edge| (in_force(edge) == Some(1)).then_some(()));
        all.until_all("the others", |edge| {
            edge.figures().lines().any(|it| it == "tidegate_fleet_edges_seen 5").then_some(())
        });
        all
    }

    fn until_all(&self, what: &str, is_so: impl Fn(&Tidegate) -> Option<()>) {
        for edge in &self.machines {
            until(what, || is_so(edge));
        }
    }

    /// Kills all of them, does `between`, and starts them again.
    fn killed_and_started(mut self, between: impl FnOnce(&mut Self)) -> Self {
        let killed: Vec<Scratch> =
            self.machines.drain(..).map(|edge| edge.stop_by("KILL").1).collect();
        between(&mut self);
        for (scratch, name) in killed.into_iter().zip(NAMES) {
            let own = self.fleet.own_file(name, "");
            self.machines.push(Tidegate::start_in(scratch, &own));
        }
        self
    }

    /// Answers of all of them: this name is blocked, that one is not, and the route says this.
    fn serve(&self, blocked: &str, free: &str, body: &str) {
        for (edge, (dns, http)) in self.machines.iter().zip(&self.doors) {
            assert_eq!(edge.address("dns", "udp"), *dns);
            assert!(dig(*dns, &["+tries=1", blocked]).contains("EDE: 15"), "{blocked}");
            assert!(!dig(*dns, &["+tries=1", free]).contains("EDE: 15"), "{free}");
            assert_eq!(curl(&[&format!("http://{http}/any")]), (200, body.to_owned()));
        }
    }

    /// Words of each about itself: the revision that it has, and what it does not reach.
    fn say_that_they_are_degraded(&self) {
        self.until_all("the place is missed", |edge| {
            let own = &edge.api("/api/fleet/revisions")["own"];
            let complaints = own["complaints"].as_array().unwrap();
            let is_told = own["state"] == "unreached" && !complaints.is_empty();
            (is_told && own["in_force"] == 2).then_some(())
        });
        self.until_all("the server is missed", |edge| {
            let figures = edge.figures();
            figures.lines().any(|it| it == "tidegate_fleet_live_degraded 1").then_some(())
        });
        for edge in &self.machines {
            let said = edge.told(&["fleet", "status"]);
            assert!(said.contains("revision 2 is in force"), "{said}");
            assert!(said.contains("revision 3 was refused:"), "{said}");
            let said = edge.told(&["ctl", "status"]);
            assert!(said.contains("fleet.live: the server is away since"), "{said}");
        }
    }
}

#[test]
fn five_killed_machines_that_reach_nothing_serve_the_last_good_revision_and_say_so() {
    let all = WholeFleet::start();
    let second = bundle("second.example", "the second", &all.redis, "");
    all.fleet.write("tidegate.yaml", &second);
    all.fleet.publish(&[]);
    all.until_all("the second revision", |edge| (in_force(edge) == Some(2)).then_some(()));
    // One that none of them can take over: its port is somebody else's.
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let site =
        format!("web: [{{ listen: [\"http://{}\"], root: site }}]\n", taken.local_addr().unwrap());
    all.fleet.write("site/index.html", "never seen");
    all.fleet.write("tidegate.yaml", &bundle("third.example", "the third", &all.redis, &site));
    all.fleet.publish(&[]);
    all.until_all("its refusal", |edge| {
        (record(edge)["refused"]["revision"]["number"] == 3).then_some(())
    });
    all.machines[0].told(&["ctl", "block", "by-hand.example", "--always"]);
    for (dns, _) in &all.doors {
        until("the block by hand", || {
            dig(*dns, &["+tries=1", "by-hand.example"]).contains("EDE: 15").then_some(())
        });
    }

    let bundles = all.fleet.place.clone();
    let gone = all.fleet.scratch.path().join("gone");
    let all = all.killed_and_started(|all| {
        std::fs::rename(&bundles, &gone).unwrap();
        all.redis.kill();
    });
    all.serve("second.example", "third.example", "the second");
    all.serve("by-hand.example", "first.example", "the second");
    all.say_that_they_are_degraded();
    // Once more, with a server that takes connections and says nothing.
    let all = all.killed_and_started(|all| {
        all.redis.start_again();
        all.redis.signal("STOP");
    });
    all.serve("second.example", "third.example", "the second");
    all.serve("by-hand.example", "first.example", "the second");
    all.say_that_they_are_degraded();

    // Everything is there again, and so are they, without a word from anybody.
    all.redis.signal("CONT");
    std::fs::rename(&gone, &bundles).unwrap();
    all.fleet.write("tidegate.yaml", &bundle("fourth.example", "the fourth", &all.redis, ""));
    all.fleet.publish(&[]);
    for edge in &all.machines {
        until_in_force(edge, 4);
    }
    all.until_all("the shared state", |edge| {
        let figures = edge.figures();
        let is_there = |line: &str| figures.lines().any(|it| it == line);
        let is_whole =
            is_there("tidegate_fleet_live_degraded 0") && is_there("tidegate_fleet_edges_seen 5");
        is_whole.then_some(())
    });
    all.serve("fourth.example", "second.example", "the fourth");
}
