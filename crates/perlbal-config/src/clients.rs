//! Routes for some clients: the plug-in `AccessControl`.

use crate::command::AccessAction;
use crate::model::AccessRules;
use serde_json::{Value, json};

/// The routes under the rules: the first that fits a client decides, and those without one stay
/// as they are. `key` is the setting of a route that has the networks.
pub(crate) fn under(
    access: &AccessRules,
    key: &str,
    place: &Value,
    routes: Vec<Value>,
) -> Vec<Value> {
    let mut all = Vec::new();
    let refused = |mut route: Value| {
        route["answer"] = json!({ "status": 403, "body": "Access denied.\n" });
        route
    };
    for (action, network) in &access.rules {
        let clients = json!([network.to_string()]);
        if *action == AccessAction::Deny {
            let mut route = place.clone();
            route[key] = clients;
            all.push(refused(route));
            continue;
        }
        for mut route in routes.clone() {
            route[key] = clients.clone();
            if *action == AccessAction::QueueLow && route.get("pool").is_some() {
                route["priority"] = json!("low");
            }
            all.push(route);
        }
    }
    if access.denies_others {
        all.push(refused(place.clone()));
    } else {
        all.extend(routes);
    }
    all
}
