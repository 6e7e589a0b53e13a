//! Settings of one part that depend on those of another, as they work out for a plan.
//!
//! It opens nothing. Called at the start, at a reload, and by commands that tell what would happen.

use ::signer::VouchMode;
use config::Plan;
use door_dns::AliasesAtPixel;
use origins::DestinationScope;
use policy::BlockStyle;
use std::net::IpAddr;
use vocab::Scheme;

/// The block style as it works out. Browsers ask at ports 80 and 443, so for `auto` a pixel door
/// elsewhere is worth no connection; whoever writes `pixel` knows of a redirect.
pub(super) fn effective_style(plan: &Plan) -> BlockStyle {
    match plan.file.dns.as_ref().map_or(BlockStyle::Nodata, |dns| dns.blocked) {
        BlockStyle::Auto if is_pixel_reached(plan) => BlockStyle::Pixel,
        BlockStyle::Auto => BlockStyle::Nodata,
        style => style,
    }
}

/// The settings of the DNS door, with the block style as it works out.
pub(super) fn dns_settings(plan: &Plan) -> Option<door_dns::Settings> {
    let settings = plan.file.dns.clone()?;
    let aliases_at_pixel = match plan.file.signer.aliases {
        VouchMode::Limited => AliasesAtPixel::Answers,
        VouchMode::Never => AliasesAtPixel::Nothing,
    };
    Some(door_dns::Settings { blocked: effective_style(plan), aliases_at_pixel, ..settings })
}

/// The addresses that blocked names get in the style `pixel`.
pub(super) fn pixel_addresses(plan: &Plan) -> Vec<IpAddr> {
    let addresses = plan.file.pixel.iter().flat_map(|pixel| &pixel.addresses);
    addresses.map(|address| address.0).collect()
}

fn is_pixel_reached(plan: &Plan) -> bool {
    let Some(pixel) = &plan.file.pixel else { return false };
    let listens = |scheme, port| {
        pixel.listen.iter().any(|listen| listen.scheme == scheme && listen.address.port() == port)
    };
    !pixel.addresses.is_empty() && listens(Scheme::Http, 80) && listens(Scheme::Https, 443)
}

/// Where the pixel door may carry connections to names that were let through: to where the DNS door
/// would send their clients, and never back to a door of ours.
pub(super) fn splice_bounds(plan: &Plan) -> door_pixel::SpliceBounds {
    let protects = plan.file.dns.as_ref().is_none_or(door_dns::Settings::keeps_outside);
    let destinations = if protects { DestinationScope::Public } else { DestinationScope::Guarded };
    let listening = plan.listeners().into_iter().map(|listen| listen.address);
    // What clients get for blocked names leads here, whatever stands in between.
    let given = plan.file.pixel.iter().flat_map(|pixel| &pixel.addresses);
    let given = given.flat_map(|address| [80, 443].map(|port| (address.0, port).into()));
    door_pixel::SpliceBounds { destinations, doors: listening.chain(given).collect() }
}

/// Returns what is worth saying of the addresses that clients get for blocked names, where they get
/// any: from our DNS door, or from another resolver if there is none.
pub(crate) fn pixel_warnings(plan: &Plan) -> Vec<config::FileComplaint> {
    let own = plan.file.policy.clients.iter().any(|it| it.blocked == Some(BlockStyle::Pixel));
    let given = plan.file.dns.is_none() || effective_style(plan) == BlockStyle::Pixel || own;
    let pixel = plan.file.pixel.as_ref().filter(|_| given && !plan.is_built_in());
    let warnings = pixel.map_or_else(Vec::new, door_pixel::Settings::warnings);
    warnings.into_iter().map(|told| plan.locate(told.under("pixel"))).collect()
}
