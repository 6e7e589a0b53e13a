//! The doors as the program holds them: made from a plan, joined with those that run.
//!
//! Each is made anew from every plan, which proves the plan before anything changes; one that runs
//! already keeps its place, its connections and its listeners, and takes the new settings. The HTTP
//! doors are a table ([`HTTP_DOORS`]), which everything that concerns all of them walks.

mod entries;

use super::http::Serve;
use super::{RunningApp, blocked_tunnels};
use config::{FileComplaint, Plan};
use door_dns::StartError;
use door_pixel::PixelDoor;
use file_access::private_files::PrivateFiles;
use http_front::HttpDoor;
use policy::{Ask, Policy, Verdict};
use std::any::Any;
use std::fmt;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use transport::{BindError, ConnectionLimits, CoreStuck};
use vocab::{Complaint, Door, Listen, Now};

pub(crate) use self::entries::{HTTP_DOORS, SAMPLE};

/// A door of the plan, if the plan has it.
type MadeDoor = Result<Option<Arc<dyn HttpDoor>>, Vec<Complaint>>;

/// An HTTP door as the program makes and tells of it: a line of the table.
pub(crate) struct DoorEntry {
    /// The door.
    pub(crate) door: Door,
    make: fn(&RunningApp, &Plan) -> MadeDoor,
    take_settings: fn(&OpenHttpDoor, &RunningApp, &Plan) -> Result<(), Vec<Complaint>>,
    /// Reads every file that the plan names for it, and says what is wrong with them.
    pub(crate) check_files: fn(&Plan, &Path, &Arc<PrivateFiles>) -> Vec<Complaint>,
    /// A command to try it with at this address.
    pub(crate) to_try: fn(SocketAddr) -> String,
    /// Tells in a few words what it does with a request that has this verdict.
    pub(crate) outcome: fn(&Policy, &Plan, &Ask<'_>, Verdict, Now) -> String,
}

/// An HTTP door as the program makes it and tells of it, beside what its listeners need.
/// Complaints have paths relative to the door's section.
trait ProgramDoor: HttpDoor + Sized {
    const DOOR: Door;

    /// Makes the door of the plan, if the plan has it; nothing listens yet.
    fn make(app: &RunningApp, plan: &Plan) -> Result<Option<Arc<Self>>, Vec<Complaint>>;

    /// Takes the plan's settings while it runs.
    fn take_settings(&self, app: &RunningApp, plan: &Plan) -> Result<(), Vec<Complaint>>;

    fn check_files(plan: &Plan, base: &Path, private: &Arc<PrivateFiles>) -> Vec<Complaint>;

    fn to_try(address: SocketAddr) -> String;

    fn outcome(policy: &Policy, plan: &Plan, ask: &Ask<'_>, verdict: Verdict, now: Now) -> String;
}

/// The doors that run.
#[derive(Default)]
pub(super) struct OpenDoors {
    pub(super) dns: Option<Arc<door_dns::DnsDoor>>,
    /// In the order of the table.
    http: Vec<OpenHttpDoor>,
}

/// An HTTP door that runs.
#[derive(Clone)]
pub(super) struct OpenHttpDoor {
    entry: &'static DoorEntry,
    door: Arc<dyn HttpDoor>,
}

/// An HTTP door as its listeners need it. A door that does not run listens nowhere.
pub(super) struct HttpOpening {
    pub(super) name: &'static str,
    pub(super) listen: Vec<Listen>,
    pub(super) limits: ConnectionLimits,
    pub(super) serve: Serve,
}

/// Why the doors do not follow a plan.
#[derive(Debug)]
pub(super) enum DoorsNotOpen {
    /// The DNS door cannot be made, or take its settings.
    Dns(StartError),
    /// Settings of a door are wrong, or files that they name.
    Settings(Vec<FileComplaint>),
    /// An address could not be had.
    Bind(BindError),
    /// A core takes no more work.
    Core(CoreStuck),
}

/// Time for which the end of the program waits for what is on its way to disk.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(5);

impl DoorEntry {
    const fn of<D: ProgramDoor>() -> Self {
        Self {
            door: D::DOOR,
            make: |app, plan| Ok(D::make(app, plan)?.map(|door| door as Arc<dyn HttpDoor>)),
            take_settings: |open, app, plan| {
                open.typed::<D>().map_or(Ok(()), |door| door.take_settings(app, plan))
            },
            check_files: D::check_files,
            to_try: D::to_try,
            outcome: D::outcome,
        }
    }

    /// The entry of a door; none of the DNS door, which is no HTTP door.
    pub(crate) fn at(door: Door) -> Option<&'static Self> {
        HTTP_DOORS.iter().find(|entry| entry.door == door)
    }
}

impl OpenHttpDoor {
    fn typed<D: HttpDoor>(&self) -> Option<Arc<D>> {
        let door: Arc<dyn Any + Send + Sync> = Arc::clone(&self.door) as _;
        door.downcast().ok()
    }
}

impl RunningApp {
    /// Waits until the disk tiers of the caches have what was handed to them.
    pub(super) fn flush_caches(&self) {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let doors = running.doors.http.clone();
        drop(running);
        let (done, settled) = sync_channel(1);
        // A thread of its own: a disk that hangs holds up nobody's end.
        std::thread::spawn(move || {
            for open in doors {
                open.door.flush();
            }
            // Whoever waited may have lost patience.
            let _ = done.send(());
        });
        if settled.recv_timeout(FLUSH_TIMEOUT).is_err() {
            log::warn!(target: "cache", "the disk is slow; answers that it was to keep are lost");
        }
    }
}

impl OpenDoors {
    /// Makes every door of the plan; nothing listens yet.
    pub(super) fn make(app: &RunningApp, plan: &Plan) -> Result<Self, DoorsNotOpen> {
        let dns = entries::make_dns(app, plan).map_err(DoorsNotOpen::Dns)?;
        let mut http = Vec::new();
        for entry in &HTTP_DOORS {
            let made = (entry.make)(app, plan);
            let made = made.map_err(|wrong| located(plan, entry.door.as_str(), wrong))?;
            http.extend(made.map(|door| OpenHttpDoor { entry, door }));
        }
        Ok(Self { dns, http })
    }

    /// The doors of `fresh`, each replaced by the one that runs already.
    pub(super) fn joined(&self, fresh: Self) -> Self {
        let dns = fresh.dns.map(|fresh| self.dns.clone().unwrap_or(fresh));
        let runs = |fresh: OpenHttpDoor| self.at(fresh.entry).cloned().unwrap_or(fresh);
        Self { dns, http: fresh.http.into_iter().map(runs).collect() }
    }

    /// Gives the HTTP doors the plan's settings.
    pub(super) fn apply_settings(&self, app: &RunningApp, plan: &Plan) -> Result<(), DoorsNotOpen> {
        let at_pixel = self.get::<PixelDoor>().filter(|_| blocked_tunnels::are_taken(plan));
        app.at_pixel.door.store(at_pixel);
        for open in &self.http {
            let taken = (open.entry.take_settings)(open, app, plan);
            taken.map_err(|wrong| located(plan, open.entry.door.as_str(), wrong))?;
        }
        Ok(())
    }

    /// Every HTTP door, those that do not run with no listener.
    pub(super) fn openings(&self) -> Vec<HttpOpening> {
        HTTP_DOORS.iter().map(|entry| opening(entry, self.at(entry))).collect()
    }

    /// The HTTP doors that run.
    pub(super) fn http(&self) -> impl Iterator<Item = (Door, &dyn HttpDoor)> {
        self.http.iter().map(|open| (open.entry.door, &*open.door))
    }

    /// The HTTP door of this type, if it runs.
    pub(super) fn get<D: HttpDoor>(&self) -> Option<Arc<D>> {
        self.http.iter().find_map(OpenHttpDoor::typed)
    }

    fn at(&self, entry: &DoorEntry) -> Option<&OpenHttpDoor> {
        self.http.iter().find(|open| open.entry.door == entry.door)
    }
}

fn opening(entry: &DoorEntry, open: Option<&OpenHttpDoor>) -> HttpOpening {
    let name = entry.door.as_str();
    let Some(open) = open else {
        let serve: Serve = Arc::new(|_, _, _| Box::pin(async {}));
        return HttpOpening {
            name,
            listen: Vec::new(),
            limits: ConnectionLimits::new(0, 0),
            serve,
        };
    };
    let door = Arc::clone(&open.door);
    let (listen, limits) = (door.listeners(), door.connection_limits());
    let serve: Serve =
        Arc::new(move |scheme, stream, drain| Arc::clone(&door).serve(scheme, stream, drain));
    HttpOpening { name, listen, limits, serve }
}

/// Complaints of a section with their places.
pub(super) fn located(plan: &Plan, section: &str, complaints: Vec<Complaint>) -> DoorsNotOpen {
    let placed = complaints.into_iter().map(|complaint| plan.locate(complaint.under(section)));
    DoorsNotOpen::Settings(placed.collect())
}

impl fmt::Display for DoorsNotOpen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dns(why) => why.fmt(f),
            Self::Settings(complaints) => {
                for (index, complaint) in complaints.iter().enumerate() {
                    write!(f, "{}{complaint}", if index > 0 { "\n" } else { "" })?;
                }
                Ok(())
            }
            Self::Bind(why) => why.fmt(f),
            Self::Core(why) => why.fmt(f),
        }
    }
}

impl std::error::Error for DoorsNotOpen {}
