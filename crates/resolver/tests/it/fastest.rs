//! The strategy that asks everybody and gives the address that lets us connect soonest. Addresses
//! are those of this machine: at one somebody listens, at the others nobody does.

use crate::fake::{Deed, Fake};
use crate::{addresses, ask, settings, start, udp};
use resolver::{ProbeAddresses, ProbeSettings, Resolver, SelectionStrategy};
use settings::Text;
use std::net::{IpAddr, Ipv4Addr, TcpListener};
use std::time::Duration;
use vocab::{Source, TimeSpan};

const OPEN: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));
const CLOSED: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 3));
const CLOSED_TOO: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 4));

/// Somebody who listens at [`OPEN`], on a port of its own.
fn listener() -> TcpListener {
    let listener = TcpListener::bind((OPEN, 0)).unwrap();
    listener.set_nonblocking(true).unwrap();
    listener
}

/// How many have connected since the last look.
fn connected(listener: &TcpListener) -> usize {
    std::iter::from_fn(|| listener.accept().ok()).count()
}

fn resolver(fakes: &[&Fake], at: &TcpListener, tried: ProbeAddresses) -> Resolver {
    let upstreams: Vec<_> = fakes.iter().map(|it| udp(it)).collect();
    let mut settings = settings(&upstreams);
    settings.groups[0].strategy = SelectionStrategy::FastestAddress;
    settings.groups[0].probe = ProbeSettings {
        ports: vec![at.local_addr().unwrap().port()],
        // So long that a busy machine cannot make the open one look closed.
        within: Text(TimeSpan(Duration::from_secs(2))),
        addresses: tried,
    };
    settings.groups[0].timeout = Text(TimeSpan(Duration::from_secs(8)));
    start(&settings)
}

#[tokio::test]
async fn of_what_all_upstreams_answer_the_address_that_connects_is_given() {
    for [first, second] in [[OPEN, CLOSED], [CLOSED, OPEN]] {
        let open = listener();
        let fakes = [first, second].map(|it| Fake::start(Deed::AnswerWith(it)));
        let resolver = resolver(&[&fakes[0], &fakes[1]], &open, ProbeAddresses::Any);
        let resolution = ask(&resolver, "www.example").await;
        assert_eq!((addresses(&resolution), resolution.source), (vec![OPEN], Source::Upstream));
        assert!(fakes.iter().all(|it| it.asked().len() == 1), "all are asked");
        assert_eq!(connected(&open), 1);
    }
}

#[tokio::test]
async fn within_one_answer_the_fastest_comes_first_and_none_is_lost() {
    let open = listener();
    let fake = Fake::start(Deed::AnswerWithAll([CLOSED, OPEN, CLOSED_TOO]));
    let resolver = resolver(&[&fake], &open, ProbeAddresses::Any);
    let given = addresses(&ask(&resolver, "www.example").await);
    assert_eq!(given, [OPEN, CLOSED, CLOSED_TOO]);
    // The cache has it in this order.
    let again = ask(&resolver, "www.example").await;
    assert_eq!((addresses(&again), again.source), (given, Source::Cache));
    assert_eq!(connected(&open), 1);
    // What was measured is remembered.
    ask(&resolver, "other.example").await;
    assert_eq!((connected(&open), fake.asked().len()), (0, 2));
}

#[tokio::test]
async fn where_nobody_listens_the_first_answer_is_given_as_it_came() {
    let open = listener();
    let given = [CLOSED_TOO, CLOSED, IpAddr::V4(Ipv4Addr::new(127, 0, 0, 5))];
    let fake = Fake::start(Deed::AnswerWithAll(given));
    let resolver = resolver(&[&fake], &open, ProbeAddresses::Any);
    assert_eq!(addresses(&ask(&resolver, "www.example").await), given);
}

#[tokio::test]
async fn private_addresses_are_not_tried_unless_it_is_said() {
    let open = listener();
    let fake = Fake::start(Deed::AnswerWithAll([CLOSED, OPEN, CLOSED_TOO]));
    let resolver = resolver(&[&fake], &open, ProbeAddresses::Public);
    let given = addresses(&ask(&resolver, "www.example").await);
    assert_eq!((given, connected(&open)), (vec![CLOSED, OPEN, CLOSED_TOO], 0));
}

#[tokio::test]
async fn one_upstream_that_is_silent_or_fails_holds_nobody_up() {
    let open = listener();
    for deed in [Deed::Nothing, Deed::ServFail] {
        let (good, bad) = (Fake::start(Deed::AnswerWithAll([CLOSED, OPEN, CLOSED])), deed);
        let bad = Fake::start(bad);
        let resolver = resolver(&[&bad, &good], &open, ProbeAddresses::Any);
        // Within the group's time, though the silent one takes all of it.
        assert_eq!(addresses(&ask(&resolver, "www.example").await)[0], OPEN);
    }
    // Nothing that has addresses: as with any other strategy.
    let fake = Fake::start(Deed::NxDomain);
    let resolution = ask(&resolver(&[&fake], &open, ProbeAddresses::Any), "www.example").await;
    assert_eq!(resolution.result.unwrap().0.rcode(), 3);
}
