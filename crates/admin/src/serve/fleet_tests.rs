//! The fleet through the API: its database and its revisions, there, away, or none.

use super::house::{Fleet, House};
use fleet_api::{FleetEdges, FleetRevisions, FleetStatistics};

fn with(fleet: Fleet) -> House {
    let house = House::new();
    *house.program.fleet.lock().unwrap() = Some(fleet);
    house
}

#[tokio::test]
async fn edges_and_requests_over_time_are_told() {
    let house = with(Fleet::OneEdge);
    let edges: FleetEdges = house.get("/api/fleet/edges").await.json();
    assert_eq!((edges.own.as_str(), edges.edges[0].edge.as_str()), ("harbour", "harbour"));
    let all: FleetStatistics = house.get("/api/fleet/statistics?range=1h").await.json();
    assert_eq!((all.points.len(), all.step_s, all.edge), (60, 60, None));
    assert_eq!((all.points[0].passed, all.points[0].blocked), (0, 2));
    let one: FleetStatistics = house.get("/api/fleet/statistics?edge=harbour").await.json();
    assert_eq!((one.range.as_str(), one.points.len()), ("24h", 144));
    assert_eq!((one.points[0].passed, one.edge.as_deref()), (1, Some("harbour")));
}

#[tokio::test]
async fn a_database_that_is_away_or_not_set_is_told_with_a_remedy() {
    let house = with(Fleet::Away);
    let answer = house.get("/api/fleet/edges").await;
    assert_eq!(answer.status, 503);
    assert_eq!(answer.problem().error, "the database does not answer");
    for path in ["/api/fleet/edges", "/api/fleet/statistics"] {
        let answer = House::new().get(path).await;
        assert_eq!(answer.status, 404, "{path}");
        assert!(answer.problem().remedy.contains("fleet.rows.url"));
    }
}

#[tokio::test]
async fn revisions_are_told_where_bundles_are_looked_for() {
    let house = with(Fleet::OneEdge);
    let told: FleetRevisions = house.get("/api/fleet/revisions").await.json();
    assert_eq!(told.edges_joined, 2);
    assert!(told.read.parse::<u64>().unwrap() > 0);
    let answer = House::new().get("/api/fleet/revisions").await;
    assert_eq!(answer.status, 404);
    assert!(answer.problem().remedy.contains("fleet.bundles"));
}
