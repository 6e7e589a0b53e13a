//! The Tidegate that runs on a state folder, as a command finds it: by the address and the token
//! there.
//!
//! Whoever may read that folder may control what runs on it. Everything is asked through the admin
//! API.

use crate::state_folder::{ADDRESS_FILE, is_in_use};
use admin_api::ProgramStatus;
use bytes::Bytes;
use command_output::{CommandFailure, ExitReason};
use http::{Method, Request, StatusCode};
use http_body_util::BodyExt;
use http_engine::Body;
use http_engine::client::{RequestSender, connect_http1};
use serde_json::Value as Json;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use tokio::runtime::{LocalOptions, LocalRuntime};

const TOKEN_FILE: &str = admin::TOKEN_FILE;

/// A running Tidegate, with a connection that is opened again where it closes.
pub struct RunningTidegate {
    state: PathBuf,
    address: SocketAddr,
    token: String,
    runtime: LocalRuntime,
    sender: Option<RequestSender>,
}

/// Reason why no running Tidegate can be asked.
#[derive(Debug)]
pub enum AbsentReason {
    /// Nothing says that one runs.
    NotStarted(PathBuf),
    /// Nobody answers at the address that the last one left.
    Silent(PathBuf, SocketAddr),
    /// Folder is another user's.
    Forbidden(PathBuf),
    /// Files cannot be read, or make no sense.
    Unreadable(PathBuf, String),
}

impl RunningTidegate {
    /// The one that runs on this state folder. Makes nothing there.
    pub fn find(state: &Path) -> Result<Self, AbsentReason> {
        let text = |name: &str| {
            let path = state.join(name);
            std::fs::read_to_string(&path).map_err(|error| match error.kind() {
                io::ErrorKind::NotFound => AbsentReason::NotStarted(state.into()),
                io::ErrorKind::PermissionDenied => AbsentReason::Forbidden(state.into()),
                _ => AbsentReason::Unreadable(path, error.to_string()),
            })
        };
        let unreadable = |name: &str, why: &dyn fmt::Display| {
            AbsentReason::Unreadable(state.join(name), why.to_string())
        };
        let address = text(ADDRESS_FILE)?;
        // Killed, it could not take its address back: somebody else may listen there by now, and is
        // not to have the token.
        match is_in_use(state) {
            Ok(true) => {}
            Ok(false) => return Err(AbsentReason::NotStarted(state.into())),
            Err(why) if why.kind() == io::ErrorKind::PermissionDenied => {
                return Err(AbsentReason::Forbidden(state.into()));
            }
            Err(why) => return Err(AbsentReason::Unreadable(state.into(), why.to_string())),
        }
        let address = address.trim().parse().map_err(|why| unreadable(ADDRESS_FILE, &why))?;
        let token = text(TOKEN_FILE)?.trim().to_owned();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build_local(LocalOptions::default())
            .map_err(|why| unreadable(ADDRESS_FILE, &why))?;
        let mut found = Self { state: state.into(), address, token, runtime, sender: None };
        found.connect().map_err(|_| AbsentReason::Silent(state.into(), address))?;
        Ok(found)
    }

    fn connect(&mut self) -> io::Result<()> {
        let stream = self.runtime.block_on(tokio::net::TcpStream::connect(self.address))?;
        self.sender = Some(connect_http1(stream));
        Ok(())
    }

    /// Asks it.
    pub fn ask(
        &mut self,
        method: &Method,
        path: &str,
        body: Option<&Json>,
    ) -> Result<(StatusCode, Json), CommandFailure> {
        let failed = |why: &dyn fmt::Display| {
            let address = self.address;
            CommandFailure::new(
                ExitReason::Fault,
                format!("the Tidegate at {address} broke off: {why}"),
            )
        };
        let wrong = |why: http::Error| CommandFailure::new(ExitReason::Fault, why);
        let request = || {
            let body = body.map_or_else(Body::empty, |json| Body::full(json.to_string()));
            Request::builder()
                .method(method)
                .uri(path)
                .header("host", self.address.to_string())
                .header("authorization", format!("Bearer {}", self.token))
                .header("content-type", "application/json")
                .body(body)
                .map_err(wrong)
        };
        let first = request()?;
        // An idle connection may have been closed meanwhile; what changes something is sent once.
        let second = if *method == Method::GET { Some(request()?) } else { None };
        let (state, address) = (&self.state, self.address);
        let sender = &mut self.sender;
        self.runtime.block_on(async {
            let answer = match sender {
                Some(sender) => sender.send(first).await.map_err(|why| failed(&why)),
                None => Err(failed(&"it is closed")),
            };
            let answer = match (answer, second) {
                (Err(_), Some(again)) => {
                    let stream = tokio::net::TcpStream::connect(address).await.map_err(|_| {
                        CommandFailure::new(
                            ExitReason::NotStarted,
                            AbsentReason::Silent(state.clone(), address),
                        )
                    })?;
                    let sender = sender.insert(connect_http1(stream));
                    sender.send(again).await.map_err(|why| failed(&why))?
                }
                (answer, _) => answer?,
            };
            let status = answer.status();
            let bytes: Bytes =
                answer.into_body().collect().await.map_err(|why| failed(&why))?.to_bytes();
            Ok((status, serde_json::from_slice(&bytes).unwrap_or(Json::Null)))
        })
    }

    /// Asks for what is to be read, and takes a refusal as a failure.
    pub fn get<T: serde::de::DeserializeOwned>(&mut self, path: &str) -> Result<T, CommandFailure> {
        let (status, answer) = self.ask(&Method::GET, path, None)?;
        if !status.is_success() {
            return Err(refused(&answer));
        }
        serde_json::from_value(answer).map_err(|why| {
            let message = format!("the Tidegate that runs is of another version: {why}");
            CommandFailure::new(ExitReason::Fault, message)
        })
    }

    /// Returns its own account of itself.
    pub fn status(&mut self) -> Result<ProgramStatus, CommandFailure> {
        self.get("/api/status")
    }
}

/// A refusal of the API in its words, with its remedy.
pub fn refused(answer: &Json) -> CommandFailure {
    let complaints: Vec<&str> =
        answer["complaints"].as_array().into_iter().flatten().filter_map(Json::as_str).collect();
    if complaints.is_empty() {
        let error = answer["error"].as_str().unwrap_or("it was refused, and no reason given");
        let remedy = answer["remedy"].as_str().map_or_else(String::new, |it| format!("; {it}"));
        return CommandFailure::new(ExitReason::Wrong, format!("{error}{remedy}"));
    }
    CommandFailure {
        exit: ExitReason::Wrong,
        message: format!("{}\nnothing was changed\n", complaints.join("\n")),
    }
}

impl AbsentReason {
    /// A few words that stand behind a configuration.
    pub fn in_short(&self) -> String {
        match self {
            Self::NotStarted(_) => "nothing is running here".into(),
            Self::Silent(_, address) => format!("nothing is running here: {address} is silent"),
            Self::Forbidden(state) => {
                format!("the state folder {} is another user's", state.display())
            }
            Self::Unreadable(path, why) => format!("{} cannot be read: {why}", path.display()),
        }
    }
}

impl fmt::Display for AbsentReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotStarted(state) => write!(
                f,
                "no Tidegate is running on the state folder {}; start it with tidegate run, or name \
                 the folder of the one that runs with --state DIR",
                state.display()
            ),
            Self::Silent(state, address) => write!(
                f,
                "no Tidegate is running on the state folder {}: nothing answers at {address}, where \
                 the last one listened; start it with tidegate run",
                state.display()
            ),
            Self::Forbidden(state) => write!(
                f,
                "this user may not read the state folder {}; ask as the user that Tidegate runs as, \
                 or with sudo",
                state.display()
            ),
            Self::Unreadable(path, why) => write!(
                f,
                "{}: {why}; name the state folder of the Tidegate that runs with --state DIR",
                path.display()
            ),
        }
    }
}
