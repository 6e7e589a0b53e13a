//! Connections that are opened before a request needs them.

use super::support::{DEADLINE, echo, get, plain, text};
use http::Request;
use http_engine::{Incoming, Limits};
use origins::{AnyDestination, Dialer, Origin, OriginLimits, Origins};
use resolver::{Resolver, ResolverSettings};
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::Barrier;
use tokio::task::spawn_local;
use tokio::time::{Instant, sleep};
use transport::ClientTls;

/// They use no connection again, as if a client came back only after those were closed.
fn origins() -> Rc<Origins> {
    let resolver = Resolver::start(&ResolverSettings::default(), ClientTls::new()).unwrap();
    let dialer = Dialer::new(resolver, ClientTls::new());
    let limits = OriginLimits { idle_timeout: Duration::ZERO, ..OriginLimits::default() };
    Rc::new(Origins::new(dialer, limits))
}

async fn ask(origins: &Origins, at: &str, path: &str) {
    let origin: Origin = format!("http://{at}").parse().unwrap();
    text(origins.send(&origin, Box::new(get(path)), &AnyDestination).await.unwrap()).await;
}

#[test]
fn what_was_of_use_at_once_is_opened_again_with_the_first_and_not_if_it_was_not_used() {
    super::support::run(async {
        let together = Rc::new(Barrier::new(3));
        let server = plain(Limits::default(), move |request: Request<Incoming>| {
            let together = Rc::clone(&together);
            async move {
                if request.uri().path() == "/together" {
                    together.wait().await;
                }
                echo(request).await
            }
        })
        .await;
        let origins = origins();
        let page: Vec<_> = (0..3)
            .map(|_| {
                let (origins, at) = (Rc::clone(&origins), server.at.clone());
                spawn_local(async move { ask(&origins, &at, "/together").await })
            })
            .collect();
        for request in page {
            request.await.unwrap();
        }
        assert_eq!(server.connections(), 3);

        ask(&origins, &server.at, "/").await;
        let begun = Instant::now();
        while server.connections() < 6 {
            assert!(begun.elapsed() < DEADLINE, "{} connections", server.connections());
            sleep(Duration::from_millis(1)).await;
        }
        // The two that were opened ahead served nobody: from now on one at a time is enough.
        for expected in 7..12 {
            ask(&origins, &server.at, "/").await;
            assert_eq!(server.connections(), expected);
        }
    });
}
