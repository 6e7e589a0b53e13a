//! What is told of the connections to an origin.

use super::support::{DEADLINE, echo, get, plain, text};
use http::{Request, Version};
use http_engine::{Incoming, Limits};
use origins::{AnyDestination, Dialer, KnownOrigin, Origin, OriginLimits, Origins};
use resolver::{Resolver, ResolverSettings};
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::Barrier;
use tokio::task::spawn_local;
use tokio::time::{Instant, sleep};
use transport::ClientTls;

fn origins() -> Rc<Origins> {
    let resolver = Resolver::start(&ResolverSettings::default(), ClientTls::new()).unwrap();
    let dialer = Dialer::new(resolver, ClientTls::new());
    Rc::new(Origins::new(dialer, OriginLimits::default()))
}

/// The figures of the only origin: open, idle, of use at once.
fn figures(origins: &Origins) -> [usize; 3] {
    let known = KnownOrigin::joined(origins.known_origins(), 9);
    assert_eq!(known.len(), 1, "{known:?}");
    [known[0].open, known[0].idle, known[0].at_once]
}

#[test]
fn three_requests_at_once_are_three_connections_that_idle_afterwards() {
    super::support::run(async {
        // The fourth is the test.
        let together = Rc::new(Barrier::new(4));
        let waiting = Rc::clone(&together);
        let server = plain(Limits::default(), move |request: Request<Incoming>| {
            let waiting = Rc::clone(&waiting);
            async move {
                waiting.wait().await;
                echo(request).await
            }
        })
        .await;
        let (origins, others) = (origins(), origins());
        assert!(origins.known_origins().is_empty());
        let origin: Origin = format!("http://{}", server.at).parse().unwrap();
        let asked: Vec<_> = (0..3)
            .map(|_| {
                let (origins, origin) = (Rc::clone(&origins), origin.clone());
                spawn_local(async move {
                    text(origins.send(&origin, Box::new(get("/")), &AnyDestination).await.unwrap())
                        .await
                })
            })
            .collect();
        let begun = Instant::now();
        while server.connections() < 3 {
            assert!(begun.elapsed() < DEADLINE, "{} connections", server.connections());
            sleep(Duration::from_millis(1)).await;
        }
        assert_eq!(figures(&origins), [3, 0, 0]);
        assert_eq!(origins.known_origins()[0].unused, Duration::ZERO, "requests are under way");
        together.wait().await;
        for request in asked {
            request.await.unwrap();
        }
        assert_eq!(figures(&origins), [3, 3, 3]);
        let known = origins.known_origins().remove(0);
        assert_eq!(known.server.to_string(), origin.to_string());
        assert_eq!(known.version, Version::HTTP_11);
        assert!(known.unused <= begun.elapsed());
        assert!(
            others.known_origins().is_empty(),
            "they share no connection, and know none of ours"
        );
    });
}
