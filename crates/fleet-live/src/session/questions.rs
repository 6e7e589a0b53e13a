//! Questions that machines ask each other: puts ours, hears all, takes and tells replies.
//!
//! Replies may be long: they have a connection of their own, opened by the first of them, so that
//! leases do not wait behind them. Whatever fails here is told to the asker; the session goes on.

use super::LiveSession;
use super::stream_page::StreamItem;
use crate::live_questions::{
    AskedQuestion, MACHINES_MAX, REPLY_BYTES_MAX, ReplyEvent, SeenMachine, ToldReply,
};
use crate::question_frame::{QuestionId, ReplyFrame, WireFrame};
use crate::server::{ConnectionUse, LiveFailure, ServerLink};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use redis::aio::MultiplexedConnection;
use redis::{Value, cmd};
use std::collections::HashSet;
use std::convert::Infallible;
use std::sync::mpsc::TrySendError;
use std::time::{Duration, Instant};
use tokio::sync::Mutex;

/// Questions that the server keeps; it keeps some more.
const QUESTIONS_KEPT: usize = 64;
/// Time for which it keeps them, in milliseconds.
const QUESTIONS_MS: u64 = 60_000;
/// Time for which it keeps replies after the last, in milliseconds.
const REPLIES_MS: u64 = 30_000;
/// Replies that are taken at once, and bytes beyond which no more are.
const TAKEN_MAX: usize = 32;
const TAKEN_BYTES_MAX: usize = 512 << 10;
/// Pause between two looks for replies.
const LOOK_PAUSE: Duration = Duration::from_millis(20);
/// Most questions of ours that are looked after at once.
const ASKED_MAX: usize = 4;

/// Connection for questions, when there is one.
pub(super) type QuestionLink = Mutex<Option<ServerLink>>;

impl LiveSession<'_> {
    /// Asks and replies, as there is something.
    pub(super) async fn keep_questions(&self) -> Result<Infallible, LiveFailure> {
        tokio::join!(self.ask_questions(), self.tell_replies()).0
    }

    /// Hears a question that came in the stream.
    pub(super) fn hear_question(&self, item: &StreamItem) {
        if let Some(frame) = WireFrame::read(&item.fields) {
            let second = (self.core.clock)().mono_ms / 1000;
            self.core.questions.hear(frame, second);
        }
    }

    async fn ask_questions(&self) -> Result<Infallible, LiveFailure> {
        let mut asks = self.core.questions.asks.lock().await;
        let mut under_way = FuturesUnordered::new();
        loop {
            tokio::select! {
                asked = asks.recv(), if under_way.len() < ASKED_MAX => {
                    match asked {
                        Some(asked) => under_way.push(self.ask(asked)),
                        None => return std::future::pending().await,
                    }
                }
                Some(()) = under_way.next() => {}
            }
        }
    }

    async fn ask(&self, asked: AskedQuestion) {
        let event = match self.gather(&asked).await {
            Ok(seen) => ReplyEvent::Ended(seen),
            Err(why) => {
                *self.questions.lock().await = None;
                ReplyEvent::Failed(why.to_string())
            }
        };
        hand_over(&asked, event).await;
    }

    /// Puts a question, and hands replies over until all machines have replied, or its time is
    /// over. Returns the machines that were seen.
    async fn gather(&self, asked: &AskedQuestion) -> Result<Vec<SeenMachine>, LiveFailure> {
        let keys = &self.core.keys;
        let mut link = self.question_link().await?;
        let seen = self.machines(&mut link).await?;
        let mut open: HashSet<String> = seen.iter().map(|it| it.edge.clone()).collect();
        let mut put = redis::pipe();
        put.cmd("XADD").arg(&keys.questions).arg("MAXLEN").arg("~").arg(QUESTIONS_KEPT);
        put.arg("*").arg("i").arg(asked.id.to_string()).arg("q");
        put.arg(WireFrame::text(&asked.sealed));
        put.cmd("PEXPIRE").arg(&keys.questions).arg(QUESTIONS_MS);
        let _: Value = put.query_async(&mut link).await?;
        self.core.health.count_exchange(1);
        let mut heard = HashSet::new();
        while !open.is_empty() && Instant::now() < asked.ends {
            tokio::time::sleep(LOOK_PAUSE).await;
            for frame in self.take_replies(&mut link, asked.id).await? {
                open.remove(&frame.edge);
                // One reply of each machine, and of no more machines than are listed.
                if heard.len() < MACHINES_MAX && heard.insert(frame.edge.clone()) {
                    hand_over(asked, ReplyEvent::Reply(frame)).await;
                }
            }
        }
        if open.is_empty() { Ok(seen) } else { self.machines(&mut link).await }
    }

    async fn take_replies(
        &self,
        link: &mut MultiplexedConnection,
        id: QuestionId,
    ) -> Result<Vec<ReplyFrame>, LiveFailure> {
        let mut take = self.core.scripts.take_replies.key(self.core.keys.replies(id));
        take.arg(TAKEN_MAX).arg(TAKEN_BYTES_MAX).arg(REPLY_BYTES_MAX);
        let taken: Vec<Vec<u8>> = take.invoke_async(link).await?;
        Ok(taken.iter().filter_map(|it| ReplyFrame::parse(it)).collect())
    }

    /// Machines that were seen lately.
    async fn machines(
        &self,
        link: &mut MultiplexedConnection,
    ) -> Result<Vec<SeenMachine>, LiveFailure> {
        let mut ask = cmd("ZRANGE");
        ask.arg(&self.core.keys.edges).arg(0).arg(MACHINES_MAX - 1).arg("WITHSCORES");
        let seen: Vec<(String, f64)> = ask.query_async(link).await?;
        let now = self.core.questions.server_ms((self.core.clock)().unix_ms);
        let machine = |(edge, score): (String, f64)| SeenMachine {
            edge,
            silent_ms: now.saturating_sub((score as i64).max(0).cast_unsigned()),
        };
        Ok(seen.into_iter().map(machine).collect())
    }

    async fn tell_replies(&self) {
        let mut tells = self.core.questions.tells.lock().await;
        while let Some(told) = tells.recv().await {
            if let Err(why) = self.tell_reply(&told).await {
                *self.questions.lock().await = None;
                let told = format!("no reply to a question of the fleet: {why}");
                if self.core.health.note_trouble(&told) {
                    log::warn!(target: "fleet", "{told}");
                }
            }
        }
    }

    async fn tell_reply(&self, told: &ToldReply) -> Result<(), LiveFailure> {
        let core = self.core;
        let Some(reply) = ReplyFrame::written(&core.edge, &told.kind) else { return Ok(()) };
        let mut put = core.scripts.put_reply.key(core.keys.replies(told.id));
        put.arg(reply).arg(MACHINES_MAX).arg(REPLIES_MS);
        let mut link = self.question_link().await?;
        let _: i64 = put.invoke_async(&mut link).await?;
        core.health.count_exchange(1);
        Ok(())
    }

    /// A handle of the connection for questions, which is opened where there is none.
    async fn question_link(&self) -> Result<MultiplexedConnection, LiveFailure> {
        let mut held = self.questions.lock().await;
        let link = match held.take() {
            Some(link) => link,
            None => self.core.address.open(&self.server, ConnectionUse::Commands).await?,
        };
        Ok(held.insert(link).connection.clone())
    }
}

/// Hands news to the asker, who may be slow, or have gone on meanwhile.
async fn hand_over(asked: &AskedQuestion, mut event: ReplyEvent) {
    while let Err(TrySendError::Full(unsent)) = asked.events.try_send(event) {
        if Instant::now() > asked.ends {
            return;
        }
        event = unsent;
        tokio::time::sleep(LOOK_PAUSE).await;
    }
}
