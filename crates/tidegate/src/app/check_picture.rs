//! Where the picture is that shows whether a device trusts the authority.
//!
//! Asked for after each reload, when the listeners are what they will be.

use super::RunningDoors;
use config::Plan;
use std::net::SocketAddr;
use vocab::Scheme;

/// Picture at the pixel door that shows whether a device trusts the authority.
pub(super) fn check_address(running: &RunningDoors, plan: &Plan) -> Option<String> {
    let mut open = running.http.list();
    let (_, listen) = open.find(|(door, it)| *door == "pixel" && it.scheme == Scheme::Https)?;
    let given = plan.file.pixel.iter().flat_map(|pixel| &pixel.addresses);
    let given: Vec<_> = given.map(|address| address.0).collect();
    let place =
        SocketAddr::new(first_run::shown_at(listen.address.ip(), &given)?, listen.address.port());
    let place = place.to_string();
    // A browser leaves the usual port out, and holds an address against the policy so.
    let place = place.strip_suffix(":443").unwrap_or(&place);
    Some(format!("https://{place}{}", door_pixel::CHECK_PATH))
}
