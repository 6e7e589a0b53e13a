//! Questions on their way to whichever program has room.

use crate::protocol::{HelperAnswer, HelperQuestion};
use std::sync::Arc;
use tokio::sync::{Mutex, mpsc, oneshot};

/// Takes a line for the administrator.
pub type RedirectorLog = Arc<dyn Fn(&str) + Send + Sync>;

/// Questions that all programs share.
pub(crate) type HelperQueue = Arc<Mutex<mpsc::Receiver<AskedQuestion>>>;

/// A question with where its answer goes.
pub(crate) struct AskedQuestion {
    pub(crate) question: HelperQuestion,
    pub(crate) answer: oneshot::Sender<HelperAnswer>,
}
