//! Choosers among addresses (`ip_selector`) of a foreign pipeline: made of its words, and put to
//! answers.
//!
//! Measuring is a task on a core, so that no thread that answers waits for it. Called by
//! `foreign`, `resources`, `request_env` and `branches`.

use address_selection::{
    AddressSelector, ProbeMethod, ProbeScope, ScoreMemory, SelectionMode, SelectionState,
    SelectorSettings, SignedAnswer, SignedPolicy,
};
use dns_wire::{DnsQuery, record_type, reply};
use mosdns_compat::compile::SelectorSpec;
use mosdns_compat::language::{AddressChoice, AddressProbe, PrivateAddresses, SignedChoice};
use pipeline::env::AddressOrder;
use std::sync::Arc;
use transport::Cores;
use vocab::{Complaint, Now};

/// The settings of `spec`; a complaint and its usual ones where its proxy cannot be.
pub(crate) fn selector_settings(
    spec: &SelectorSpec,
    complaints: &mut Vec<Complaint>,
) -> SelectorSettings {
    let plugin = &spec.plugin;
    let socks5 = plugin.socks5.as_deref().and_then(|text| match text.parse() {
        Ok(proxy) => Some(proxy),
        Err(why) => {
            let complaint = spec.position.below("args").below("socks5").complaint(why);
            complaints
                .push(complaint.remedy("as in 127.0.0.1:1080 or user:password@10.0.0.1:1080"));
            None
        }
    });
    SelectorSettings {
        mode: match plugin.choice {
            AddressChoice::FirstSuccess => SelectionMode::FirstSuccess,
            AddressChoice::BestWithinBudget => SelectionMode::BestWithinBudget,
            AddressChoice::Background => SelectionMode::Background,
        },
        methods: plugin.methods.iter().map(|it| method(*it)).collect(),
        socks5,
        stagger: plugin.stagger,
        timeout: plugin.timeout,
        max_wait: plugin.max_wait,
        keep: plugin.keep,
        signed: match plugin.signed {
            SignedChoice::OrderOnly => SignedPolicy::OrderOnly,
            SignedChoice::Leave => SignedPolicy::Leave,
        },
        parallel: plugin.parallel,
        scope: match plugin.private {
            PrivateAddresses::Tried => ProbeScope::Any,
            PrivateAddresses::Left => ProbeScope::Public,
        },
        memory: ScoreMemory {
            entries: plugin.entries,
            success: plugin.success,
            failure: plugin.failure,
        },
    }
}

fn method(written: AddressProbe) -> ProbeMethod {
    match written {
        AddressProbe::Tcp(port) => ProbeMethod::Tcp(port),
        AddressProbe::Ping => ProbeMethod::Ping,
    }
}

/// The selectors of `wanted`; those that are among `before` go on with what they know.
pub(crate) fn selectors(
    wanted: &[SelectorSettings],
    before: &[Arc<AddressSelector>],
) -> Arc<[Arc<AddressSelector>]> {
    let made = wanted.iter().enumerate().map(|(at, settings)| {
        let same = before.get(at).filter(|it| it.settings() == settings);
        same.map_or_else(|| Arc::new(AddressSelector::new(settings.clone())), Arc::clone)
    });
    made.collect()
}

/// Puts `message` in the order that `selector` has, or says what is to be measured first.
pub(crate) fn order(
    cores: &Cores,
    selector: &Arc<AddressSelector>,
    query: &DnsQuery<'_>,
    message: &mut Vec<u8>,
    now: Now,
) -> AddressOrder {
    match selector.settle(message, signed(query, message), now) {
        SelectionState::Settled => AddressOrder::Settled,
        SelectionState::Wait(unknown) => AddressOrder::Unknown(unknown),
        SelectionState::Later(unknown) => {
            let core = crate::chance::number() as usize % cores.count();
            let selector = Arc::clone(selector);
            let task = move || async move { selector.measure(&unknown).await };
            // A core that takes no more work leaves the answer as it came.
            let _ = cores.spawn(core, task);
            AddressOrder::Settled
        }
    }
}

/// Tells whether `query` or its answer has to do with signatures.
pub(crate) fn signed(query: &DnsQuery<'_>, message: &[u8]) -> SignedAnswer {
    if query.wants_dnssec() || reply::has_type(message, record_type::RRSIG) {
        SignedAnswer::Yes
    } else {
        SignedAnswer::No
    }
}
