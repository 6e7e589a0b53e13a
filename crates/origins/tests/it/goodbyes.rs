//! HTTP/2 servers that refuse a request, or go away.

use super::support::{Client, Serving, post, run, start};
use bytes::Bytes;
use h2::server::{Connection, SendResponse, handshake};
use h2::{Reason, RecvStream};
use http::{Request, Response};
use http_engine::body::Body;
use origins::{OriginServer, SendError};
use std::cell::Cell;
use std::rc::Rc;
use transport::Stream;

type Asked = (Request<RecvStream>, SendResponse<Bytes>);

/// Serves each connection with `behave`, which is given its number from 0.
async fn server<F>(behave: impl Fn(usize, Connection<Stream, Bytes>) -> F + 'static) -> Serving
where
    F: Future<Output = ()> + 'static,
{
    let (count, behave) = (Cell::new(0), Rc::new(behave));
    start(move |stream| {
        let (number, behave) = (count.replace(count.get() + 1), Rc::clone(&behave));
        async move {
            if let Ok(connection) = handshake(stream).await {
                behave(number, connection).await;
            }
        }
    })
    .await
}

fn answer((_, mut respond): Asked) {
    let mut body = respond.send_response(Response::new(()), false).unwrap();
    body.send_data(Bytes::from_static(b"here"), true).unwrap();
}

#[test]
fn a_request_that_is_refused_goes_out_again_whatever_its_method() {
    run(async {
        let server = server(|_, mut connection| async move {
            let (_, mut respond) = connection.accept().await.unwrap().unwrap();
            respond.send_reset(Reason::REFUSED_STREAM);
            while let Some(Ok(asked)) = connection.accept().await {
                answer(asked);
            }
        })
        .await;
        let (client, to) = (Client::new(|_| {}), format!("h2c://{}", server.at));
        let sent = client.send(&to, post(Body::empty())).await.unwrap();
        assert_eq!(super::support::text(sent).await, "here");
        assert_eq!(server.connections(), 1, "the connection is none the worse for it");
    });
}

#[test]
fn a_request_that_is_reset_does_not() {
    run(async {
        let server = server(|_, mut connection| async move {
            while let Some(Ok((_, mut respond))) = connection.accept().await {
                respond.send_reset(Reason::INTERNAL_ERROR);
            }
        })
        .await;
        let (client, to) = (Client::new(|_| {}), format!("h2c://{}", server.at));
        for _ in 0..2 {
            assert_eq!(client.get(&to).await, Err(SendError::Closed));
        }
        assert_eq!(server.connections(), 1);
    });
}

#[test]
fn what_a_server_has_not_looked_at_when_it_goes_away_goes_elsewhere() {
    run(async {
        let server = server(|number, mut connection| async move {
            if number == 0 {
                answer(connection.accept().await.unwrap().unwrap());
                // What comes from now on is above the last that was looked at.
                connection.graceful_shutdown();
            }
            while let Some(Ok(asked)) = connection.accept().await {
                answer(asked);
            }
        })
        .await;
        let (client, to) = (Client::new(|_| {}), format!("h2c://{}", server.at));
        for _ in 0..5 {
            let sent = client.send(&to, post(Body::empty())).await.unwrap();
            assert_eq!(super::support::text(sent).await, "here");
        }
        assert_eq!(server.connections(), 2);
    });
}

#[test]
fn an_idle_connection_that_breaks_costs_no_request() {
    run(async {
        let server = server(|_, mut connection| async move {
            answer(connection.accept().await.unwrap().unwrap());
            // The second is read and never answered: the connection ends.
            if connection.accept().await.is_some() {
                connection.abrupt_shutdown(Reason::INTERNAL_ERROR);
                let _ = connection.accept().await;
            }
        })
        .await;
        let (client, to) = (Client::new(|_| {}), format!("h2c://{}", server.at));
        for _ in 0..3 {
            assert_eq!(client.get(&to).await.unwrap(), "here");
        }
        assert_eq!(server.connections(), 3);
    });
}

#[test]
fn what_nobody_answers_is_handed_back_if_it_may_go_elsewhere() {
    run(async {
        let server = server(|_, mut connection| async move {
            while let Some(Ok((_, mut respond))) = connection.accept().await {
                respond.send_reset(Reason::REFUSED_STREAM);
            }
        })
        .await;
        let client = Client::new(|_| {});
        let to: OriginServer = format!("h2c://{}", server.at).parse().unwrap();
        let request = post(Body::empty());
        let failed =
            client.origins.send_to(&to, &client.terms, Box::new(request), None).await.unwrap_err();
        let unsent = failed.unsent_request.unwrap();
        // As it was for HTTP/1.1: the next server may speak that.
        assert_eq!((unsent.uri().path(), unsent.uri().host()), ("/", None));
        assert_eq!(unsent.headers()["host"], "app.example");
        let (feed, body) = Body::channel(1);
        let begun = client.origins.send_to(&to, &client.terms, Box::new(post(body)), None).await;
        assert!(begun.unwrap_err().unsent_request.is_none(), "its body has gone");
        drop(feed);
        assert_eq!(client.get(&to.to_string()).await, Err(SendError::Closed));
    });
}
