//! The words of the API for what is known of a fleet.

use crate::facts::ViewFacts;
use crate::line::{RevisionLine, seconds};
use crate::trouble::{EdgeTrouble, troubles};
use fleet_api::{
    FailedFleetProgram, FleetEdgeStatus, FleetProgram, FleetRevisions, FleetRollout, OwnRevisions,
    RefusedFleetRevision,
};
use fleet_bundle::{EdgeEntry, EdgeState, EdgeStatus, ProgramStatus, SyncState};
use fleet_edge::KeptRevision;
use std::collections::BTreeMap;

/// Everything but the time and the trouble of the reading.
pub(crate) fn shown(facts: &ViewFacts<'_>) -> FleetRevisions {
    let newest = facts.place.newest.as_ref();
    let edges = edges(facts);
    FleetRevisions {
        own: own(facts),
        place: facts.setup.place.to_string(),
        newest: newest.map(RevisionLine::shown),
        before: facts.place.history.values().rev().map(RevisionLine::shown).collect(),
        rollout: newest.map(|newest| rollout(newest, &edges)).unwrap_or_default(),
        edges_joined: facts.place.edges_joined as u64,
        edges,
        ..FleetRevisions::default()
    }
}

/// Revisions and findings of this edge.
fn own(facts: &ViewFacts<'_>) -> OwnRevisions {
    let (record, status) = (facts.record, facts.own.status.as_ref());
    let number = |it: &KeptRevision| it.number;
    let refused = record.refused.as_ref().map(|it| RefusedFleetRevision {
        revision: it.revision.number,
        complaints: it.complaints.clone(),
    });
    OwnRevisions {
        edge: facts.setup.name.to_string(),
        wanted: wanted(facts.own.wanted).into(),
        in_force: record.in_force.as_ref().map(number),
        kept: record.before.iter().map(number).collect(),
        tried: record.tried.map(|it| it.revision.number),
        refused,
        offered: status.and_then(|it| it.offered),
        state: status.map_or("starting", |it| state(it.state)).into(),
        complaints: status.map(|it| it.complaints.clone()).unwrap_or_default(),
        looked: status.map(|it| seconds(it.at)),
    }
}

/// Every edge that has joined, and this one.
fn edges(facts: &ViewFacts<'_>) -> Vec<FleetEdgeStatus> {
    let ours = &facts.setup.name;
    let joined = facts.place.edges.iter().map(|entry| {
        let own = facts.own.status.as_ref().filter(|_| entry.name == *ours);
        let status = own.or_else(|| facts.place.status(&entry.name));
        let is_read = status.is_some() || facts.place.is_read(&entry.name);
        word(facts, entry, status, if is_read { WordKind::Read } else { WordKind::Unread })
    });
    let mut shown: Vec<FleetEdgeStatus> = joined.collect();
    if !shown.iter().any(|it| it.edge == ours.as_str()) {
        shown.extend(alone(facts));
        shown.sort_by(|a, b| a.edge.cmp(&b.edge));
    }
    shown
}

/// Knowledge of what an edge has told.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WordKind {
    Read,
    Unread,
}

fn word(
    facts: &ViewFacts<'_>,
    entry: &EdgeEntry,
    status: Option<&EdgeStatus>,
    kind: WordKind,
) -> FleetEdgeStatus {
    let found = match kind {
        WordKind::Read => troubles(entry.state, status, facts.now, &facts.setup.version),
        WordKind::Unread => Vec::new(),
    };
    let canary =
        facts.place.newest.as_ref().and_then(|it| Some((it.canary.as_ref()?, it.revision)));
    FleetEdgeStatus {
        labels: entry.labels.clone(),
        wanted: wanted(entry.state).into(),
        is_joined: true,
        goes_first: canary
            .is_some_and(|(share, revision)| share.has(&entry.name, &entry.labels, revision)),
        troubles: found.iter().map(|it| EdgeTrouble::word(it).to_owned()).collect(),
        ..said(entry.name.as_str(), status, facts.now)
    }
}

/// This edge, where no manifest knows it: it has not joined.
fn alone(facts: &ViewFacts<'_>) -> Option<FleetEdgeStatus> {
    let status = facts.own.status.as_ref()?;
    let state = facts.own.wanted;
    let found = troubles(state, Some(status), facts.now, &facts.setup.version);
    Some(FleetEdgeStatus {
        labels: facts.setup.labels.clone(),
        wanted: wanted(state).into(),
        troubles: found.iter().map(|it| EdgeTrouble::word(it).to_owned()).collect(),
        ..said(facts.setup.name.as_str(), Some(status), facts.now)
    })
}

/// Words of an edge about itself.
fn said(edge: &str, status: Option<&EdgeStatus>, now: u64) -> FleetEdgeStatus {
    FleetEdgeStatus {
        edge: edge.to_owned(),
        revision: status.and_then(|it| it.applied),
        offered: status.and_then(|it| it.offered),
        state: status.map(|it| state(it.state).to_owned()),
        complaints: status.map(|it| it.complaints.clone()).unwrap_or_default(),
        version: status.map(|it| it.version.clone()),
        program: status.and_then(|it| it.program.as_ref()).map(program),
        clock_ahead_s: status.and_then(|it| it.clock_ahead_s),
        told: status.map(|it| seconds(it.at)),
        told_s: status.map(|it| now.saturating_sub(it.at)),
        requests: status.map(|it| it.requests),
        failures: status.map(|it| it.failures),
        labels: BTreeMap::new(),
        ..FleetEdgeStatus::default()
    }
}

fn program(status: &ProgramStatus) -> FleetProgram {
    let failed = status
        .failed
        .as_ref()
        .map(|it| FailedFleetProgram { digest: it.digest.to_string(), fault: it.fault.clone() });
    FleetProgram {
        runs: status.runs.to_string(),
        in_force: status.in_force.map(|it| it.to_string()),
        failed,
    }
}

/// Progress of the newest revision among the edges that are to have it.
fn rollout(newest: &RevisionLine, edges: &[FleetEdgeStatus]) -> FleetRollout {
    let mut all = FleetRollout::default();
    for edge in edges.iter().filter(|it| it.wanted != "revoked") {
        let has_it = edge.revision == Some(newest.revision);
        let refused = edge.state.as_deref() == Some("refused")
            && edge.offered == Some(newest.revision)
            && !has_it;
        all.edges += 1;
        all.in_force += u64::from(has_it);
        all.refused += u64::from(refused);
        all.first += u64::from(edge.goes_first);
        all.first_in_force += u64::from(edge.goes_first && has_it);
    }
    all
}

fn state(state: SyncState) -> &'static str {
    match state {
        SyncState::InForce => "in_force",
        SyncState::WaitsForCanary => "waits_for_canary",
        SyncState::Refused => "refused",
        SyncState::Unreached => "unreached",
    }
}

fn wanted(state: EdgeState) -> &'static str {
    match state {
        EdgeState::Active => "active",
        EdgeState::Drained => "drained",
        EdgeState::Revoked => "revoked",
    }
}
