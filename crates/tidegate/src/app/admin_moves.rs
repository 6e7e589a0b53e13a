//! Where the admin listens and what it is called, as a reload changes it.
//!
//! A new listener opens beside the old one, which is closed when the change is settled: at once, or
//! when it is confirmed. Everything else of the admin is as it was at the start.

use super::admin_listeners::{plain_entry, secured_entry};
use super::http::BoundListeners;
use super::{RunningApp, RunningDoors};
use config::Plan;
use std::net::SocketAddr;
use std::sync::{Arc, PoisonError};
use transport::{BindError, CoreStuck};
use vocab::Listen;

impl RunningApp {
    /// The admin's settings with a plan in force: its addresses and names, all else of the start.
    pub(super) fn admin_after(&self, plan: &Plan) -> admin::Settings {
        let wanted = &plan.file.admin;
        admin::Settings {
            listen: wanted.listen,
            hosts: wanted.hosts.clone(),
            ..(**self.admin.load()).clone()
        }
    }

    /// True if a plan changes where the dashboard is reached, or by what names.
    pub(super) fn moves_dashboard(&self, plan: &Plan) -> bool {
        self.admin_after(plan) != **self.admin.load()
    }

    /// Binds where the admin is to listen and does not yet; the start opens it elsewhere.
    pub(super) fn bind_admin(
        &self,
        running: &RunningDoors,
        plan: &Plan,
    ) -> Result<Vec<BoundListeners>, BindError> {
        if self.admin_door.get().is_none() {
            return Ok(Vec::new());
        }
        let open: Vec<SocketAddr> = admin_listeners(running).map(|it| it.address).collect();
        running.http.bind("admin", &[plain_entry(&plan.file.admin)], &self.cores, &open)
    }

    /// Serves there, under the old names and the new ones.
    pub(super) fn move_admin(
        &self,
        running: &mut RunningDoors,
        bound: Vec<BoundListeners>,
        plan: &Plan,
    ) -> Result<(), CoreStuck> {
        let Some(admin) = self.admin_door.get() else { return Ok(()) };
        let (before, after) = (self.admin.load_full(), self.admin_after(plan));
        if *before == after {
            return Ok(());
        }
        admin.take_names(&[&before, &after]);
        for listener in bound {
            let door = admin.clone().at_listener(listener.address());
            self.start_admin(running, listener, door)?;
        }
        let place = running.http.bound("admin", &plain_entry(&after));
        self.admin.store(Arc::new(after));
        if let Some(place) = place {
            self.dashboard.store(Some(Arc::new(place)));
            self.publish_address();
        }
        Ok(())
    }

    /// Closes what the admin's settings name no more.
    pub(super) fn settle_admin(&self) {
        let Some(admin) = self.admin_door.get() else { return };
        let settings = self.admin.load_full();
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.http.keep_only("admin", &wanted(&settings));
        admin.take_names(&[&settings]);
    }

    /// Listeners of the admin that will be closed when the change is settled.
    pub(super) fn leaving_admin(&self) -> Vec<SocketAddr> {
        let wanted = wanted(&self.admin.load());
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let stays: Vec<SocketAddr> =
            wanted.iter().filter_map(|entry| running.http.bound("admin", entry)).collect();
        let open = admin_listeners(&running).map(|it| it.address);
        open.filter(|address| !stays.contains(address)).collect()
    }

    /// Address of the dashboard, for a browser.
    pub(super) fn dashboard_url(&self) -> String {
        let place = self.dashboard.load().as_deref().copied();
        let place = place.unwrap_or(self.admin.load().listen.0);
        let ip = first_run::shown_at(place.ip(), &[]).unwrap_or(place.ip());
        format!("http://{}/", SocketAddr::new(ip, place.port()))
    }
}

fn wanted(settings: &admin::Settings) -> Vec<Listen> {
    std::iter::once(plain_entry(settings)).chain(secured_entry(settings)).collect()
}

fn admin_listeners(running: &RunningDoors) -> impl Iterator<Item = &Listen> {
    running.http.list().filter(|(door, _)| *door == "admin").map(|(_, listen)| listen)
}
