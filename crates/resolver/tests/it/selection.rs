//! Which answer counts where upstreams that are asked at once disagree (`response_selection`).

use crate::fake::{ADDRESS, Deed, Fake};
use crate::{addresses, ask, settings, start, udp};
use resolver::{Resolution, Resolver, ResponseSelection, SelectionStrategy};

/// A race of all `fakes`.
fn racing(fakes: &[&Fake], rule: ResponseSelection) -> Resolver {
    let upstreams: Vec<_> = fakes.iter().map(|it| udp(it)).collect();
    let mut settings = settings(&upstreams);
    settings.groups[0].strategy = SelectionStrategy::Race;
    settings.groups[0].concurrent = 32;
    settings.groups[0].response_selection = rule;
    start(&settings)
}

fn code(resolution: &Resolution) -> u8 {
    resolution.result.as_ref().unwrap().0.rcode()
}

const EMPTY_LAST: [ResponseSelection; 3] =
    [ResponseSelection::Balanced, ResponseSelection::PreferPositive, ResponseSelection::Consensus];

#[tokio::test]
async fn without_a_rule_the_first_answer_wins_though_it_is_empty() {
    let (empty, full) = (Fake::start(Deed::NxDomain), Fake::start(Deed::WaitForGate));
    let resolver = racing(&[&empty, &full], ResponseSelection::First);
    assert_eq!(code(&ask(&resolver, "www.example").await), 3);
}

#[tokio::test]
async fn the_fastest_answer_wins_though_it_is_a_failure() {
    let (failing, full) = (Fake::start(Deed::ServFail), Fake::start(Deed::WaitForGate));
    let resolver = racing(&[&failing, &full], ResponseSelection::Fastest);
    assert_eq!(code(&ask(&resolver, "www.example").await), 2);
}

#[tokio::test]
async fn records_win_at_once_whoever_else_is_silent() {
    for rule in EMPTY_LAST {
        let (full, silent) = (Fake::start(Deed::Answer(300)), Fake::start(Deed::Nothing));
        let resolver = racing(&[&silent, &full], rule);
        assert_eq!(addresses(&ask(&resolver, "www.example").await), [ADDRESS], "{rule:?}");
    }
}

#[tokio::test]
async fn an_empty_answer_waits_for_one_with_records() {
    for rule in [ResponseSelection::PreferPositive, ResponseSelection::Consensus] {
        let (empty, full) = (Fake::start(Deed::NxDomain), Fake::start(Deed::WaitForGate));
        let resolver = racing(&[&empty, &full], rule);
        let open_later = async {
            empty.asked_times(1).await;
            full.asked_times(1).await;
            // What the first said is in by then: its answer was sent before.
            full.open_gate();
        };
        let (answer, ()) = tokio::join!(ask(&resolver, "www.example"), open_later);
        assert_eq!(addresses(&answer), [ADDRESS], "{rule:?}");
    }
}

#[tokio::test]
async fn an_empty_answer_counts_when_nobody_else_is_left_or_has_time() {
    for rule in EMPTY_LAST {
        // One that fails is not waited for; one that is silent is, for the rule's time.
        for other in [Deed::ServFail, Deed::NxDomain, Deed::Nothing] {
            let (empty, other) = (Fake::start(Deed::NxDomain), Fake::start(other));
            let resolver = racing(&[&empty, &other], rule);
            assert_eq!(code(&ask(&resolver, "www.example").await), 3, "{rule:?}");
        }
    }
}

#[tokio::test]
async fn two_that_agree_on_an_empty_answer_are_enough_for_a_consensus() {
    let fakes = [Deed::NxDomain, Deed::WaitForGate, Deed::NxDomain].map(Fake::start);
    let resolver = racing(&[&fakes[0], &fakes[1], &fakes[2]], ResponseSelection::Consensus);
    assert_eq!(code(&ask(&resolver, "www.example").await), 3);
    fakes[1].open_gate();
}

#[tokio::test]
async fn a_rule_goes_with_every_strategy_but_the_one_that_chooses_itself() {
    let fake = Fake::start(Deed::Answer(300));
    let mut settings = settings(&[udp(&fake)]);
    settings.groups[0].response_selection = ResponseSelection::Consensus;
    assert_eq!(addresses(&ask(&start(&settings), "www.example").await), [ADDRESS]);
    settings.groups[0].strategy = SelectionStrategy::FastestAddress;
    let complaints = settings.check();
    assert_eq!(complaints[0].path, "response_selection");
}
