//! Names of devices, with reverse names by the resolvers of `dns.private_reverse`.
//!
//! Without such a resolver nobody is asked: the names of a network are its own affair. Called for
//! the admin API; the resolver by the thread that looks names up, which may wait.

use config::Plan;
use device_names::{
    AskedDevice, DeviceFacts, DeviceNames, POINTER_TYPE, ReverseLookups, answered_name,
};
use resolver::{QuerySource, Resolution, Resolver, ResolverQuestion};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::sync_channel;
use std::time::Duration;
use vocab::{Name, Now};

/// Time that an answer may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// Names of devices, and the resolver that knows their reverse names.
pub(super) struct NamedDevices {
    names: DeviceNames,
    resolver: Arc<ReverseResolver>,
}

impl NamedDevices {
    /// Nothing is read and nobody asked yet.
    pub(super) fn new(resolver: Resolver) -> Self {
        let resolver = Arc::new(ReverseResolver { resolver, is_there: AtomicBool::new(false) });
        Self { names: DeviceNames::new(Arc::clone(&resolver) as _), resolver }
    }

    /// Returns what is known of devices, as the configuration has it.
    pub(super) fn facts(
        &self,
        plan: &Plan,
        state_dir: &Path,
        devices: &[AskedDevice],
        now: Now,
    ) -> Vec<DeviceFacts> {
        let dns = plan.file.dns.as_ref();
        let is_there = dns.is_some_and(|dns| !dns.private_reverse.is_empty());
        self.resolver.is_there.store(is_there, Relaxed);
        self.names.facts(&plan.file.devices, plan.base(state_dir), devices, now)
    }

    /// Faults that the operator should know of.
    pub(super) fn troubles(&self) -> Vec<String> {
        self.names.troubles()
    }
}

/// The resolver, and whether it has somebody to ask.
struct ReverseResolver {
    resolver: Resolver,
    is_there: AtomicBool,
}

impl ReverseLookups for ReverseResolver {
    fn is_there(&self) -> bool {
        self.is_there.load(Relaxed)
    }

    fn name_of(&self, reverse: Name<'_>) -> Option<String> {
        let question = ResolverQuestion::internal(reverse, POINTER_TYPE)?;
        let (sender, receiver) = sync_channel::<Resolution>(1);
        // Whoever waited may be gone by then.
        let done = Box::new(move |resolution| drop(sender.try_send(resolution)));
        self.resolver.submit(question, QuerySource::INTERNAL, done).ok()?;
        let resolution = receiver.recv_timeout(PATIENCE).ok()?;
        let (answer, _) = resolution.result.ok()?;
        let message = answer.message();
        let id = u16::from_be_bytes(*message.first_chunk()?);
        answered_name(message, reverse, id)
    }
}
