//! Session with the server: joins the fleet, catches up, and follows until the server is lost.
//!
//! Joining: what waits here is told, what the others said is heard, purges that were missed are
//! done. Then loops run beside each other until one fails: reading, telling, beating, leasing.
//! Called by the task that keeps the connection, one session after another.

mod entries;
mod leases;
mod purges;
mod questions;
mod shards;
mod stream_page;
mod tickets;
mod values;

use crate::cluster_map::ClusterMap;
use crate::kept_place::KeptPlace;
use crate::live::LiveCore;
use crate::scripts::SEEN_MS;
use crate::server::{ConnectionUse, LiveFailure, STREAM_WAIT, ServerLink};
use crate::server_place::ServerPlace;
use redis::aio::MultiplexedConnection;
use redis::{Value, cmd};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::convert::Infallible;
use std::time::Duration;
pub(crate) use stream_page::{items, pages};

/// Time between two words that this edge is there.
const BEAT: Duration = Duration::from_secs(1);
/// Entries of a stream that are read at once.
const PAGE: usize = 100;
/// Pause after an answer without a word that came before its time.
const EMPTY_PAUSE: Duration = Duration::from_millis(100);

/// Session with the server.
pub(crate) struct LiveSession<'c> {
    core: &'c LiveCore,
    /// Server that has all but the buckets of a cluster's other nodes.
    server: ServerPlace,
    /// Cluster at the begin of the session, where it is one.
    cluster: Option<ClusterMap>,
    commands: ServerLink,
    streams: ServerLink,
    /// Lead of this machine's clock over the server's, in milliseconds.
    ahead_ms: Cell<i64>,
    /// The server's clock when it was asked last, in milliseconds since 1970.
    server_ms: Cell<u64>,
    /// When each entry was made that was heard or told here, by the server's clock.
    made: RefCell<HashMap<String, u64>>,
    place: RefCell<KeptPlace>,
    /// Number of the last purge that was told in this session.
    own_purge: Cell<u64>,
    /// Number of the last purge that was heard since the last of ours was sent; it may be heard
    /// before its number comes back.
    heard_purge: Cell<u64>,
    /// Connections to the nodes of a cluster.
    links: RefCell<shards::NodeLinks>,
    /// Connection for questions and their replies.
    questions: questions::QuestionLink,
}

impl<'c> LiveSession<'c> {
    /// Reaches the server, which counts this edge from then on.
    pub(crate) async fn open(core: &'c LiveCore) -> Result<Self, LiveFailure> {
        let (server, cluster) = Self::find(core).await?;
        let commands = core.address.open(&server, ConnectionUse::Commands).await?;
        let streams = core.address.open(&server, ConnectionUse::Streams).await?;
        core.scripts.lease.load_async(&mut commands.connection.clone()).await?;
        let session = Self {
            core,
            server,
            cluster,
            commands,
            streams,
            ahead_ms: Cell::new(0),
            server_ms: Cell::new(0),
            made: RefCell::default(),
            place: RefCell::new(KeptPlace::read(&core.place_file)),
            own_purge: Cell::new(0),
            heard_purge: Cell::new(0),
            links: RefCell::default(),
            questions: questions::QuestionLink::default(),
        };
        session.beat().await?;
        session.learn_seed().await?;
        Ok(session)
    }

    /// The server to be spoken to, and the cluster that it belongs to.
    async fn find(core: &LiveCore) -> Result<(ServerPlace, Option<ClusterMap>), LiveFailure> {
        if !core.address.is_cluster() {
            return Ok((core.address.server().await?, None));
        }
        let map = core.address.cluster(core.chance()).await?;
        let node = map.node(core.keys.tag()).and_then(|node| map.nodes.get(node));
        let server = node.cloned().ok_or(LiveFailure::NoNode)?;
        Ok((server, Some(map)))
    }

    /// Catches up, and follows until the server is lost.
    pub(crate) async fn follow(&self) -> Result<Infallible, LiveFailure> {
        let changes = self.last_id(&self.core.keys.changes).await?;
        let questions = self.last_id(&self.core.keys.questions).await?;
        self.tell_entries().await?;
        self.hear_all_entries().await?;
        self.catch_up_purges().await?;
        self.tell_purges().await?;
        self.core.reached();
        let loops = tokio::try_join!(
            self.read(changes, questions),
            self.tell(),
            self.keep_beating(),
            self.lease(),
            self.keep_tickets(),
            self.keep_values(),
            self.keep_questions()
        );
        loops.map(|(never, ..)| never)
    }

    async fn lease(&self) -> Result<Infallible, LiveFailure> {
        match &self.cluster {
            None => self.keep_leasing().await,
            Some(map) => self.keep_shards(map.clone()).await,
        }
    }

    /// Says that this edge ends.
    pub(crate) async fn leave(&self) -> Result<(), LiveFailure> {
        self.tell_entries().await?;
        self.tell_purges().await?;
        let mut leaving = cmd("ZREM");
        leaving.arg(&self.core.keys.edges).arg(&self.core.edge);
        Ok(leaving.query_async(&mut self.commands()).await?)
    }

    async fn keep_beating(&self) -> Result<Infallible, LiveFailure> {
        loop {
            tokio::time::sleep(BEAT).await;
            self.beat().await?;
        }
    }

    /// Says that this edge is there, counts the others, and reads the server's clock.
    async fn beat(&self) -> Result<(), LiveFailure> {
        let core = self.core;
        let mut beat = core.scripts.beat.key(&core.keys.edges);
        beat.arg(&core.edge).arg(SEEN_MS);
        let (server_ms, edges): (i64, u32) = beat.invoke_async(&mut self.commands()).await?;
        let now = (core.clock)().unix_ms;
        self.server_ms.set(server_ms.max(0).cast_unsigned());
        self.ahead_ms.set(now.cast_signed().saturating_sub(server_ms));
        core.questions.open(self.ahead_ms.get());
        core.saw_edges(edges);
        let before = std::mem::replace(&mut self.place.borrow_mut().edges, edges);
        if before != edges {
            let place = self.place.borrow().clone();
            core.keep(place).await;
        }
        Ok(())
    }

    /// Learns what the names of buckets are made with; the first edge gives it.
    async fn learn_seed(&self) -> Result<(), LiveFailure> {
        let commands = &mut self.commands();
        let (one, two) = (self.core.chance(), self.core.chance());
        let key = &self.core.keys.seed;
        let mut give = cmd("SET");
        give.arg(key).arg(format!("{one:016x}{two:016x}")).arg("NX");
        let _: Value = give.query_async(commands).await?;
        let held: String = cmd("GET").arg(key).query_async(commands).await?;
        let half = |range| u64::from_str_radix(held.get(range).unwrap_or_default(), 16);
        let (Ok(one), Ok(two)) = (half(0..16), half(16..32)) else {
            return Err(LiveFailure::Answer("GET of the seed"));
        };
        self.core.leases.set_seed([one, two]);
        Ok(())
    }

    /// Tells whatever is to be told, as it comes.
    async fn tell(&self) -> Result<Infallible, LiveFailure> {
        loop {
            let told = self.core.told.notified();
            self.tell_entries().await?;
            self.tell_purges().await?;
            told.await;
        }
    }

    /// Hears what comes in the streams.
    async fn read(
        &self,
        mut changes: String,
        mut questions: String,
    ) -> Result<Infallible, LiveFailure> {
        let keys = &self.core.keys;
        loop {
            let purges = self.purge_id();
            let mut read = cmd("XREAD");
            read.arg("COUNT").arg(PAGE).arg("BLOCK").arg(STREAM_WAIT.as_millis() as u64);
            read.arg("STREAMS").arg(&keys.changes).arg(&keys.purges).arg(&keys.questions);
            read.arg(&changes).arg(&purges).arg(&questions);
            let begun = tokio::time::Instant::now();
            let value: Value = read.query_async(&mut self.streams.connection.clone()).await?;
            if value == Value::Nil && begun.elapsed() < STREAM_WAIT / 2 {
                tokio::time::sleep(EMPTY_PAUSE).await;
            }
            for (key, items) in pages(value).ok_or(LiveFailure::Answer("XREAD"))? {
                if key == keys.changes {
                    for item in items {
                        self.hear_change(&item).await;
                        changes = item.id;
                    }
                } else if key == keys.questions {
                    for item in items {
                        self.hear_question(&item);
                        questions = item.id;
                    }
                } else {
                    self.hear_purges(items).await?;
                }
            }
        }
    }

    /// The id of the last item of a stream.
    async fn last_id(&self, key: &str) -> Result<String, LiveFailure> {
        let mut read = cmd("XREVRANGE");
        read.arg(key).arg("+").arg("-").arg("COUNT").arg(1);
        let value: Value = read.query_async(&mut self.commands()).await?;
        let items = items(value).ok_or(LiveFailure::Answer("XREVRANGE"))?;
        Ok(items.into_iter().next().map_or_else(|| "0-0".into(), |item| item.id))
    }

    /// A handle for commands that are answered at once.
    fn commands(&self) -> MultiplexedConnection {
        self.commands.connection.clone()
    }

    /// Does something of the caller's that may take a while, where nothing waits for it but what
    /// comes after it.
    async fn with_receiver(&self, what: impl FnOnce(&dyn crate::LiveReceiver) + Send + 'static) {
        let receiver = std::sync::Arc::clone(&self.core.receiver);
        // A fault of the receiver's is told by the panic itself; the session goes on.
        let _ = tokio::task::spawn_blocking(move || what(&*receiver)).await;
    }
}
