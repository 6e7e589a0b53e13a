//! Leases: asks for tokens of shared limits ahead of their need, many in one round.

use super::LiveSession;
use crate::live::LiveCore;
use crate::server::LiveFailure;
use rate_limit::{LeaseAsk, LeaseGrant};
use redis::aio::MultiplexedConnection;
use redis::{Cmd, ErrorKind, Pipeline, RedisResult, ServerErrorKind};
use std::convert::Infallible;
use std::time::Duration;

/// Leases that are asked for in one round.
pub(super) const ROUND: usize = 256;
/// Time that a round may take: beyond it the server counts as away.
const LEASE_MAX: Duration = Duration::from_millis(100);

/// Answer to one ask: tokens granted, tokens left, microseconds until there is one.
type LeaseAnswer = (u32, u32, u64);

/// Asks that were not answered, because their buckets are at another node.
#[derive(Default)]
pub(super) struct MisplacedAsks {
    /// Asks whose slot another node has from now on.
    pub(super) moved: Vec<LeaseAsk>,
    /// Asks whose slot is on its way to another node, which is told.
    pub(super) asked_of: Vec<(String, LeaseAsk)>,
}

impl LiveSession<'_> {
    /// Asks the one server for whatever leases are wanted, as they are.
    pub(super) async fn keep_leasing(&self) -> Result<Infallible, LiveFailure> {
        let core = self.core;
        loop {
            let wanted = core.lease_wanted.notified();
            let asks = core.leases.asks(ROUND);
            if asks.is_empty() {
                wanted.await;
                continue;
            }
            lease_round(core, self.commands(), &asks).await?;
        }
    }
}

/// Asks for leases in one round; with those that have another node.
pub(super) async fn lease_round(
    core: &LiveCore,
    connection: MultiplexedConnection,
    asks: &[LeaseAsk],
) -> Result<MisplacedAsks, LiveFailure> {
    let mut round = redis::pipe();
    for ask in asks {
        let mut one = redis::cmd("EVALSHA");
        one.arg(core.scripts.lease.get_hash());
        add_ask(core, one, ask, &mut round);
    }
    let mut misplaced = MisplacedAsks::default();
    for (ask, answer) in asks.iter().zip(answers(connection, round, asks.len()).await?) {
        let why = match answer {
            Ok(answer) => {
                take_answer(core, ask, answer);
                continue;
            }
            Err(why) => why,
        };
        match (why.kind(), why.redirect_node()) {
            (ErrorKind::Server(ServerErrorKind::Moved), _) => misplaced.moved.push(*ask),
            (_, Some((node, _))) => misplaced.asked_of.push((node.to_owned(), *ask)),
            _ => return Err(why.into()),
        }
    }
    Ok(misplaced)
}

/// Asks a node to which slots are on their way. It may not know the script yet.
pub(super) async fn lease_underway(
    core: &LiveCore,
    connection: MultiplexedConnection,
    asks: &[LeaseAsk],
) -> Result<(), LiveFailure> {
    let mut round = redis::pipe();
    for ask in asks {
        round.cmd("ASKING").ignore();
        let mut one = redis::cmd("EVAL");
        one.arg(include_str!("../../scripts/lease.lua"));
        add_ask(core, one, ask, &mut round);
    }
    for (ask, answer) in asks.iter().zip(answers(connection, round, asks.len()).await?) {
        take_answer(core, ask, answer?);
    }
    Ok(())
}

fn add_ask(core: &LiveCore, mut one: Cmd, ask: &LeaseAsk, round: &mut Pipeline) {
    one.arg(1).arg(core.keys.bucket(ask.bucket)).arg(ask.rate.interval_us());
    one.arg(ask.rate.burst()).arg(ask.spent).arg(ask.wanted);
    round.add_command(one);
}

fn take_answer(core: &LiveCore, ask: &LeaseAsk, answer: LeaseAnswer) {
    let (granted, left, wait_us) = answer;
    core.health.count_exchange(1);
    let grant = LeaseGrant { granted, left, wait_us };
    core.leases.grant(ask, grant, (core.clock)().mono_ms);
}

/// Answers to a round, each its own.
async fn answers(
    mut connection: MultiplexedConnection,
    mut round: Pipeline,
    count: usize,
) -> Result<Vec<RedisResult<LeaseAnswer>>, LiveFailure> {
    let answers = round.ignore_errors().query_async(&mut connection);
    let answers: Vec<_> =
        tokio::time::timeout(LEASE_MAX, answers).await.map_err(|_| LiveFailure::Slow)??;
    if answers.len() == count { Ok(answers) } else { Err(LiveFailure::Answer("leases")) }
}
