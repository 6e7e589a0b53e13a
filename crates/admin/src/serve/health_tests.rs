//! Health, and who may read the metrics page.

use super::house::House;
use crate::METRICS_TOKEN_FILE;
use http::header::CONTENT_TYPE;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full};
use std::sync::atomic::Ordering::Relaxed;

async fn scraped(house: &House, path: &str, fields: &[(&str, &str)]) -> (StatusCode, String) {
    let mut request = Request::builder().uri(path).header("host", "prometheus.example");
    for (name, value) in fields {
        request = request.header(*name, *value);
    }
    let request = request.body(Full::<bytes::Bytes>::default()).unwrap();
    let answer = house.admin.for_scrapers().answer(request, "192.0.2.9".parse().unwrap()).await;
    let (parts, body) = answer.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    (parts.status, String::from_utf8_lossy(&body).into_owned())
}

#[tokio::test]
async fn health_needs_no_token_and_names_nothing() {
    let house = House::new();
    for (path, text) in [("/healthz", "ok\n"), ("/readyz", "ready\n")] {
        let answer = house.ask("GET", path, &[], "").await;
        assert_eq!((answer.status, &*answer.body), (StatusCode::OK, text.as_bytes()), "{path}");
        assert!(answer.header(CONTENT_TYPE).starts_with("text/plain"));
    }
    house.program.broken.store(true, Relaxed);
    let answer = house.ask("GET", "/readyz", &[], "").await;
    assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(&*answer.body, b"lists\n");
    assert_eq!(house.ask("GET", "/healthz", &[], "").await.status, StatusCode::OK);
}

#[tokio::test]
async fn the_metrics_token_opens_the_metrics_page_alone() {
    let house = House::new();
    let token = std::fs::read_to_string(house.folder().join(METRICS_TOKEN_FILE)).unwrap();
    let bearer = format!("Bearer {}", token.trim());
    let fields = [("authorization", bearer.as_str())];
    assert_eq!(house.ask("GET", "/metrics", &fields, "").await.status, StatusCode::OK);
    for path in ["/api/status", "/api/requests", "/api/config"] {
        let answer = house.ask("GET", path, &fields, "").await;
        assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{path}");
    }
    let reload = house.ask("POST", "/api/reload", &fields, "{}").await;
    assert_eq!(reload.status, StatusCode::UNAUTHORIZED);
    assert_eq!(house.ask("GET", "/metrics", &[], "").await.status, StatusCode::UNAUTHORIZED);
    assert_eq!(house.get("/metrics").await.status, StatusCode::OK);
}

#[tokio::test]
async fn the_listener_for_scrapers_has_metrics_and_health_and_nothing_else() {
    let house = House::new();
    let (status, page) = scraped(&house, "/metrics", &[]).await;
    assert_eq!(status, StatusCode::OK);
    assert!(page.ends_with("# EOF\n"));
    assert_eq!(scraped(&house, "/healthz", &[]).await.0, StatusCode::OK);
    for path in ["/", "/api/status", "/login", "/allow"] {
        assert_eq!(scraped(&house, path, &[]).await.0, StatusCode::NOT_FOUND, "{path}");
    }
    // A page whose name leads here by DNS rebinding.
    for field in [("sec-fetch-site", "same-origin"), ("origin", "http://prometheus.example")] {
        assert_eq!(scraped(&house, "/metrics", &[field]).await.0, StatusCode::FORBIDDEN);
    }
    let typed = [("sec-fetch-site", "none")];
    assert_eq!(scraped(&house, "/metrics", &typed).await.0, StatusCode::OK);
}
