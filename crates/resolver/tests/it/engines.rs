//! Engines on several threads: who asks, who is told where, and what all of them share.

use super::fake::{ADDRESS, DEADLINE, Deed, Fake};
use super::{addresses, ask, error, question, settings, start, udp};
use resolver::{QuerySource, Resolution, ResolveError, Resolver};
use std::thread::ThreadId;
use tokio::runtime::{Builder, LocalOptions};
use tokio::sync::{mpsc, oneshot};

/// A thread with an engine of its own.
struct EngineThread {
    questions: mpsc::UnboundedSender<String>,
    told: mpsc::UnboundedReceiver<(Resolution, ThreadId)>,
    thread: std::thread::JoinHandle<()>,
}

impl EngineThread {
    fn start(resolver: &Resolver) -> Self {
        let (questions, mut asked) = mpsc::unbounded_channel::<String>();
        let (tell, told) = mpsc::unbounded_channel();
        let resolver = resolver.clone();
        let thread = std::thread::spawn(move || {
            let runtime = Builder::new_current_thread()
                .enable_all()
                .build_local(LocalOptions::default())
                .unwrap();
            runtime.block_on(async move {
                let engine = resolver.start_local_engine();
                while let Some(name) = asked.recv().await {
                    let tell = tell.clone();
                    let done = Box::new(move |resolution| {
                        tell.send((resolution, std::thread::current().id())).unwrap();
                    });
                    resolver.submit(question(&name), QuerySource::INTERNAL, done).unwrap();
                }
                engine.finish().await;
            });
        });
        Self { questions, told, thread }
    }

    fn ask(&self, name: &str) {
        self.questions.send(name.to_owned()).unwrap();
    }

    async fn told(&mut self) -> (Resolution, ThreadId) {
        tokio::time::timeout(DEADLINE, self.told.recv()).await.unwrap().unwrap()
    }

    /// Takes no more questions; ends when those that wait are answered.
    fn finish(self) -> std::thread::JoinHandle<()> {
        self.thread
    }
}

#[tokio::test]
async fn plain_questions_are_told_on_their_own_thread_and_others_elsewhere() {
    let fake = Fake::start(Deed::Answer(300));
    for (url, is_own) in [(udp(&fake), true), (format!("tcp://{}", fake.plain), false)] {
        let resolver = start(&settings(&[url]));
        let mut own = EngineThread::start(&resolver);
        own.ask("www.example");
        let (resolution, thread) = own.told().await;
        assert_eq!(addresses(&resolution), [ADDRESS]);
        assert_eq!(thread == own.thread.thread().id(), is_own);
        assert_eq!(resolver.stats().upstreams[0].answered, 1);
    }
}

#[tokio::test]
async fn equal_questions_of_several_threads_share_one_exchange() {
    let fake = Fake::start(Deed::WaitForGate);
    let resolver = start(&settings(&[udp(&fake)]));
    let (mut one, mut two) = (EngineThread::start(&resolver), EngineThread::start(&resolver));
    one.ask("www.example");
    fake.asked_times(1).await;
    two.ask("www.example");
    let (sender, general) = oneshot::channel();
    let tell = Box::new(move |resolution| drop(sender.send(resolution)));
    resolver.submit(question("www.example"), QuerySource::INTERNAL, tell).unwrap();
    // Another name, asked afterwards by the same thread, shows that the equal one was taken up.
    two.ask("other.example");
    fake.asked_times(2).await;
    fake.deed(Deed::Answer(300));
    fake.open_gate();
    let first = one.told().await.0;
    assert_eq!(addresses(&first), [ADDRESS]);
    for _ in 0..2 {
        assert_eq!(addresses(&two.told().await.0), [ADDRESS]);
    }
    let general = tokio::time::timeout(DEADLINE, general).await.unwrap().unwrap();
    assert_eq!(addresses(&general), [ADDRESS]);
    let asked: Vec<_> = fake.asked().into_iter().map(|it| it.name).collect();
    assert_eq!(asked, ["www.example", "other.example"]);
    assert_eq!(resolver.stats().waiting, 0);
}

#[tokio::test]
async fn an_engine_that_ends_answers_whoever_waits_and_others_go_on() {
    let fake = Fake::start(Deed::WaitForGate);
    let resolver = start(&settings(&[udp(&fake)]));
    let mut own = EngineThread::start(&resolver);
    own.ask("www.example");
    fake.asked_times(1).await;
    let EngineThread { questions, told, thread } = own;
    drop(questions);
    own = EngineThread { questions: mpsc::unbounded_channel().0, told, thread };
    assert!(!own.thread.is_finished());
    fake.deed(Deed::Answer(300));
    fake.open_gate();
    assert_eq!(addresses(&own.told().await.0), [ADDRESS]);
    own.finish().join().unwrap();
    // Its claims are nobody's any more.
    assert_eq!(addresses(&ask(&resolver, "next.example").await), [ADDRESS]);
}

#[tokio::test]
async fn a_failure_is_known_to_every_engine() {
    let fake = Fake::start(Deed::Nothing);
    let resolver = start(&settings(&[udp(&fake)]));
    // Its engine is there before: a failure is remembered for a second at first.
    let mut own = EngineThread::start(&resolver);
    own.ask("other.example");
    assert_eq!(error(&own.told().await.0), ResolveError::Timeout);
    assert_eq!(error(&ask(&resolver, "www.example").await), ResolveError::Timeout);
    let before = fake.asked().len();
    own.ask("www.example");
    assert_eq!(error(&own.told().await.0), ResolveError::Timeout);
    assert_eq!(fake.asked().len(), before, "it is told, not tried");
}

#[tokio::test]
async fn a_reload_reaches_every_engine_and_keeps_the_records() {
    let fake = Fake::start(Deed::Answer(300));
    let plain = settings(&[udp(&fake)]);
    let resolver = start(&plain);
    let mut own = EngineThread::start(&resolver);
    own.ask("one.example");
    own.told().await;
    resolver.reload(&plain).unwrap();
    own.ask("two.example");
    assert_eq!(own.told().await.1, own.thread.thread().id());
    assert_eq!(resolver.stats().upstreams[0].answered, 2);
    // An engine that comes later writes into the same record.
    let mut late = EngineThread::start(&resolver);
    late.ask("three.example");
    late.told().await;
    assert_eq!(resolver.stats().upstreams[0].answered, 3);

    resolver.reload(&settings(&[format!("tcp://{}", fake.plain)])).unwrap();
    // The reload and the question come by different ways; whichever is first, it is answered.
    own.ask("four.example");
    assert_eq!(addresses(&own.told().await.0), [ADDRESS]);
}
