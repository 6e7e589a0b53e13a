//! Values that machines keep for each other: asked for and told many in one round, beside leases.
//!
//! A server that takes too long for them is not asked for a while; that is no loss of the session.

use super::LiveSession;
use crate::live_cache::{AskedValue, ToldValue, VALUE_BYTES_MAX};
use crate::server::LiveFailure;
use back_off::BackOff;
use futures_util::future::join_all;
use redis::aio::MultiplexedConnection;
use redis::{FromRedisValue, Pipeline, cmd};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::time::Duration;

/// Values of one round.
const ROUND: usize = 32;
/// Time that a round may take: beyond it nothing is asked for a while.
const ROUND_MAX: Duration = Duration::from_millis(100);
/// First while, and the longest.
const CLOSED_FIRST: Duration = Duration::from_millis(100);
const CLOSED_MAX: Duration = Duration::from_secs(5);

impl LiveSession<'_> {
    /// Asks for values and tells them, as they come.
    pub(super) async fn keep_values(&self) -> Result<Infallible, LiveFailure> {
        let breaker = RefCell::new(BackOff::new(CLOSED_FIRST, CLOSED_MAX));
        self.core.cache.open();
        tokio::join!(self.ask_values(&breaker), self.tell_values(&breaker)).0
    }

    async fn ask_values(&self, breaker: &RefCell<BackOff>) -> Result<Infallible, LiveFailure> {
        let mut asks = self.core.cache.asks.lock().await;
        loop {
            let mut round = Vec::with_capacity(ROUND);
            asks.recv_many(&mut round, ROUND).await;
            // Whoever asked may have gone on meanwhile.
            round.retain(|ask| !ask.answer.is_closed());
            let by_node = self.by_node(round, |ask| ask.name);
            let asked = by_node.into_iter().map(|(node, asks)| self.ask_round(node, asks, breaker));
            join_all(asked).await;
        }
    }

    async fn tell_values(&self, breaker: &RefCell<BackOff>) {
        let mut tells = self.core.cache.tells.lock().await;
        loop {
            let mut round = Vec::with_capacity(ROUND);
            tells.recv_many(&mut round, ROUND).await;
            let by_node = self.by_node(round, |told| told.name);
            let told = by_node.into_iter().map(|(node, told)| self.tell_round(node, told, breaker));
            join_all(told).await;
        }
    }

    async fn ask_round(&self, node: usize, asks: Vec<AskedValue>, breaker: &RefCell<BackOff>) {
        let mut round = redis::pipe();
        for ask in &asks {
            let mut get = cmd("GETRANGE");
            get.arg(self.core.keys.value(ask.name)).arg(0).arg(VALUE_BYTES_MAX);
            round.add_command(get);
        }
        let Some(values) = self.round::<Vec<Vec<u8>>>(node, round, breaker).await else { return };
        for (ask, value) in asks.into_iter().zip(values) {
            let is_there = (1..=VALUE_BYTES_MAX).contains(&value.len());
            // Whoever asked may have gone on meanwhile.
            let _ = ask.answer.send(is_there.then_some(value));
        }
    }

    async fn tell_round(&self, node: usize, told: Vec<ToldValue>, breaker: &RefCell<BackOff>) {
        let mut round = redis::pipe();
        for told in told {
            let mut set = cmd("SET");
            set.arg(self.core.keys.value(told.name)).arg(told.value);
            set.arg("PXAT").arg(told.ends_unix_ms);
            round.add_command(set);
        }
        self.round::<redis::Value>(node, round, breaker).await;
    }

    /// Does a round at one node; none where it fails, and it is not asked for a while.
    async fn round<T: FromRedisValue>(
        &self,
        node: usize,
        round: Pipeline,
        breaker: &RefCell<BackOff>,
    ) -> Option<T> {
        let mut connection = self.connection_of(node)?;
        let answers = round.query_async::<T>(&mut connection);
        let core = self.core;
        let why = match tokio::time::timeout(ROUND_MAX, answers).await {
            Ok(Ok(answers)) => {
                breaker.borrow_mut().reset();
                return Some(answers);
            }
            Ok(Err(why)) => LiveFailure::Server(why),
            Err(_) => LiveFailure::Slow,
        };
        let pause = breaker.borrow_mut().pause(core.chance());
        let until = (core.clock)().mono_ms + u64::try_from(pause.as_millis()).unwrap_or(0);
        core.cache.close_until(until);
        if core.health.note_trouble(&format!("the fleet's cache is left out for a while: {why}")) {
            log::warn!(target: "fleet", "the fleet's cache is left out for a while: {why}");
        }
        None
    }

    /// Parts of a round by the node that has them; what no node has is left out.
    fn by_node<T>(&self, round: Vec<T>, name: fn(&T) -> u128) -> BTreeMap<usize, Vec<T>> {
        let mut parts = BTreeMap::<usize, Vec<T>>::new();
        for one in round {
            let part = (name(&one) >> 120) as usize;
            let node = match &self.cluster {
                None => Some(0),
                Some(_) => self.links.borrow().parts.get(part).copied().flatten(),
            };
            if let Some(node) = node {
                parts.entry(node).or_default().push(one);
            }
        }
        parts
    }

    fn connection_of(&self, node: usize) -> Option<MultiplexedConnection> {
        match &self.cluster {
            None => Some(self.commands()),
            Some(_) => self.links.borrow().nodes.get(node)?.clone(),
        }
    }
}
