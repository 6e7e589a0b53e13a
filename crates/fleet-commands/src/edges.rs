//! Edges of a fleet: invited, joined, admitted, drained, revoked; and the fleet's beginning.

use crate::{
    EdgeArgs, FleetHost, InitArgs, InviteArgs, JoinArgs, SignArgs, client, key, publication,
    publisher, wrong,
};
use command_output::CommandFailure;
use durable_file::FileReplacement;
use fleet_bundle::{
    EdgeName, EdgeState, EnrolmentRequest, EnrolmentToken, PublisherKey, check_label,
};
use fleet_edge::{BundlePlace, EdgeIdentity, RevisionStore, objects};
use fleet_publish::{EdgeInvitation, EdgeRecord, FleetFolder, RepublishedFiles};
use serde_json::json;
use std::collections::BTreeMap;

/// Begins a fleet.
pub(crate) fn init(args: &InitArgs) -> Result<(), CommandFailure> {
    let key = if args.key.exists() {
        key(&args.key)?
    } else {
        let made = PublisherKey::generate().map_err(wrong)?;
        let written = FileReplacement::private(&args.key).write(made.to_pem().as_bytes());
        written.map_err(|why| wrong(format!("{}: {why}", args.key.display())))?;
        made
    };
    let public = key.public();
    let place = BundlePlace::parse(&args.bundles)
        .map_err(|why| wrong(format!("--bundles: {why}; {}", why.remedy())))?;
    FleetFolder::create(&args.folder, &args.bundles, &public).map_err(wrong)?;
    if let Err(why) = client(&place, None, None)?.prepare() {
        if place.has_folders() {
            let [status, enrolments] = [objects::STATUS_FOLDER, objects::ENROLMENT_FOLDER];
            println!("{place}: {why}; make the folders {status} and {enrolments} there");
        } else {
            println!("{place}: {why}");
        }
    }
    let folder = args.folder.display();
    println!("{folder}/fleet.yaml is written. Beside it goes the configuration, as tidegate.yaml;");
    println!("then: tidegate fleet publish {folder} --key {}", args.key.display());
    println!("\nEach machine is told in its own tidegate.yaml:\n");
    println!("fleet:\n  bundles: {}\n  keys: [\"{public}\"]", json!(args.bundles));
    tell_credentials(&place);
    Ok(())
}

/// Makes a token.
pub(crate) fn invite(args: &InviteArgs) -> Result<(), CommandFailure> {
    let edge = EdgeName::parse(&args.edge).map_err(|why| wrong(format!("--edge: {why}")))?;
    let mut folder = FleetFolder::open(&args.folder.folder).map_err(wrong)?;
    let mut labels = BTreeMap::new();
    for text in &args.label {
        let label = text.split_once('=');
        let label = label.filter(|(k, v)| check_label(k).is_ok() && check_label(v).is_ok());
        let (key, value) = label.ok_or_else(|| wrong(format!("--label: {text:?} is no label")))?;
        labels.insert(key.to_owned(), value.to_owned());
    }
    let key = PublisherKey::generate().map_err(wrong)?;
    let token = EnrolmentToken {
        edge,
        bundles: folder.file.bundles.clone(),
        trust: folder.trusted().map_err(wrong)?,
        key: key.to_pem(),
    };
    let invitation =
        EdgeInvitation { name: args.edge.clone(), labels, key: key.public().to_string() };
    folder.invite(&invitation).map_err(wrong)?;
    println!("{}", token.to_text());
    Ok(())
}

/// Joins on this machine.
pub(crate) fn join(host: &dyn FleetHost, args: &JoinArgs) -> Result<(), CommandFailure> {
    let text = if args.token == "-" {
        std::io::read_to_string(std::io::stdin()).map_err(wrong)?
    } else {
        args.token.clone()
    };
    let token = EnrolmentToken::from_text(&text).map_err(wrong)?;
    let place = BundlePlace::parse(&token.bundles).map_err(wrong)?;
    let store = RevisionStore::of(&host.state_dir()?);
    let identity =
        store.make().map_err(wrong).and_then(|it| EdgeIdentity::open(it).map_err(wrong))?;
    let request = EnrolmentRequest {
        edge: token.edge.clone(),
        key: identity.signing.public(),
        seal: identity.sealing.public(),
    };
    let request = token.request(&request).map_err(wrong)?;
    let client = client(&place, args.ca.as_deref(), host.s3_credentials())?;
    client.put(&objects::enrolment(&token.edge), &request).map_err(wrong)?;
    let keys: Vec<String> = token.trust.keys.iter().map(ToString::to_string).collect();
    println!("{} has asked to join; whoever publishes admits it: tidegate fleet admit", token.edge);
    println!("\nIts tidegate.yaml says:\n");
    println!("fleet:\n  name: {}\n  bundles: {}", json!(token.edge), json!(token.bundles));
    println!("  keys: {}\n  signatures: {}", json!(keys), token.trust.signatures);
    tell_credentials(&place);
    Ok(())
}

/// Lines that only the machine itself can complete.
fn tell_credentials(place: &BundlePlace) {
    if !place.has_folders() {
        println!(
            "  s3: {{ access_key_id: …, secret_access_key: \"${{file:/etc/tidegate/s3.secret}}\" }}"
        );
    }
}

/// Takes in who has joined.
pub(crate) fn admit(args: &SignArgs) -> Result<(), CommandFailure> {
    let key = key(&args.key)?;
    let mut publisher = publisher(&args.folder)?;
    let requests = publisher.enrolments().map_err(wrong)?;
    if requests.is_empty() {
        println!("nobody has asked to join by an invitation");
        return Ok(());
    }
    for request in &requests {
        let name = request.edge.to_string();
        let invited = publisher.folder.file.invitations.iter().find(|it| it.name == name);
        let record = EdgeRecord {
            state: EdgeState::Active,
            labels: invited.map(|it| it.labels.clone()).unwrap_or_default(),
            key: request.key.to_string(),
            seal: request.seal.to_string(),
            name,
        };
        publisher.folder.admit(&record).map_err(wrong)?;
        println!("{} is part of the fleet", record.name);
    }
    if publisher.latest().map_err(wrong)?.is_none() {
        return Ok(());
    }
    let done = publisher.republish(&publication(args), &key, RepublishedFiles::SameFiles);
    println!("revision {} knows them", done.map_err(wrong)?.revision);
    Ok(())
}

/// Has balancers leave an edge.
pub(crate) fn drain(args: &EdgeArgs) -> Result<(), CommandFailure> {
    set_state(args, EdgeState::Drained)
}

/// Has an edge serve again.
pub(crate) fn undrain(args: &EdgeArgs) -> Result<(), CommandFailure> {
    set_state(args, EdgeState::Active)
}

/// Gives an edge up.
pub(crate) fn revoke(args: &EdgeArgs) -> Result<(), CommandFailure> {
    set_state(args, EdgeState::Revoked)?;
    println!("change what it knew: the secrets in secrets/, and its users of Redis and PostgreSQL");
    Ok(())
}

fn set_state(args: &EdgeArgs, state: EdgeState) -> Result<(), CommandFailure> {
    let key = key(&args.sign.key)?;
    let mut publisher = publisher(&args.sign.folder)?;
    publisher.folder.set_state(&args.edge, state).map_err(wrong)?;
    let done = publisher.republish(&publication(&args.sign), &key, RepublishedFiles::SameFiles);
    println!("revision {} says so", done.map_err(wrong)?.revision);
    Ok(())
}
