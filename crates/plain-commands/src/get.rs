//! `tidegate get`: downloads over HTTP and HTTPS.
//!
//! Several at once. Nothing that exists is overwritten unasked. The `download` crate does the work.

use clap::Args;
use command_output::{CommandFailure, ExitReason};
use download::{DownloadJob, DownloadStop, ExistingFile, ExpectedChecksum, TransferContext};
use std::fmt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use terminal_text::ProgressBars;
use tokio::runtime::{Builder, LocalOptions};
use tokio::sync::Semaphore;
use transport::ClientTls;
use url::Url;

/// Holds what is downloaded, and how.
#[derive(Debug, Args)]
pub struct GetArgs {
    /// What to download: http:// or https://
    #[arg(value_name = "URL", required = true, value_parser = parse_url)]
    urls: Vec<Url>,
    /// The file to write, `-` for standard output; for one URL only [default: the name in the URL]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The folder to write to
    #[arg(long, short, value_name = "DIR", default_value = ".", conflicts_with = "output")]
    dir: PathBuf,
    /// Go through this proxy: http://HOST:PORT [default: `http_proxy`, `https_proxy`, but for
    /// `no_proxy`]
    #[arg(long, value_name = "URL", value_parser = parse_url)]
    proxy: Option<Url>,
    /// What the file must hash to: sha256:HEX or sha512:HEX; for one URL only
    #[arg(long, value_name = "ALGORITHM:HEX")]
    checksum: Option<ExpectedChecksum>,
    /// Downloads at once
    #[arg(long, short = 'j', value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=64))]
    jobs: u16,
    /// How often a download that broke off is taken up again
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(0..=100))]
    retries: u16,
    /// Trust the authorities in this PEM file too, such as Tidegate's own
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// Replace files that exist
    #[arg(long)]
    overwrite: bool,
    /// Show no bars
    #[arg(long, short)]
    quiet: bool,
}

/// A URL that cannot be downloaded from.
#[derive(Debug)]
enum UnusableUrl {
    Unreadable(url::ParseError),
    /// The scheme is another than http and https.
    Scheme,
}

impl fmt::Display for UnusableUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(why) => write!(f, "{why}; write http://HOST/PATH"),
            Self::Scheme => f.write_str("only http:// and https:// are spoken"),
        }
    }
}

impl std::error::Error for UnusableUrl {}

fn parse_url(text: &str) -> Result<Url, UnusableUrl> {
    let url = Url::parse(text).map_err(UnusableUrl::Unreadable)?;
    if download::is_supported(&url) { Ok(url) } else { Err(UnusableUrl::Scheme) }
}

/// Downloads everything; fails if anything failed, once all are done.
///
/// # Errors
/// [`CommandFailure`] says how many failed.
pub fn get(args: GetArgs) -> Result<(), CommandFailure> {
    if args.urls.len() > 1 && (args.output.is_some() || args.checksum.is_some()) {
        return Err(CommandFailure::new(
            ExitReason::Wrong,
            "--output and --checksum are for one URL",
        ));
    }
    let tls = trusted(args.ca.as_deref())?;
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build_local(LocalOptions::default())
        .map_err(|error| CommandFailure::new(ExitReason::Fault, error))?;
    let progress = if args.quiet { ProgressBars::quiet() } else { ProgressBars::shown() };
    let failed = runtime.block_on(all(args, tls, &progress));
    match failed {
        0 => Ok(()),
        1 => Err(CommandFailure::new(ExitReason::Wrong, "one download failed")),
        failed => Err(CommandFailure::new(ExitReason::Wrong, format!("{failed} downloads failed"))),
    }
}

fn trusted(ca: Option<&std::path::Path>) -> Result<ClientTls, CommandFailure> {
    let Some(file) = ca else { return Ok(ClientTls::new()) };
    ClientTls::new()
        .trusting_file(file)
        .map_err(|why| CommandFailure::new(ExitReason::Wrong, format!("{}: {why}", file.display())))
}

/// Returns how many failed.
async fn all(args: GetArgs, tls: ClientTls, progress: &ProgressBars) -> usize {
    let places = Arc::new(Semaphore::new(args.jobs.into()));
    let common = Rc::new(TransferContext {
        tls,
        proxy: args.proxy,
        dir: args.dir,
        retries: args.retries,
        existing: if args.overwrite { ExistingFile::Replaced } else { ExistingFile::Kept },
    });
    let tasks: Vec<_> = args
        .urls
        .into_iter()
        .map(|url| {
            let (places, common) = (Arc::clone(&places), Rc::clone(&common));
            let (output, checksum) = (args.output.clone(), args.checksum.clone());
            let bar = progress.bar(&url);
            tokio::task::spawn_local(async move {
                // The semaphore is never closed; a failure would only lift the cap.
                let _place = places.acquire().await;
                let outcome =
                    download::run(&common, DownloadJob { url, output, checksum }, &bar).await;
                if let Err(DownloadStop::Disk(place, why)) = &outcome
                    && place == Path::new("standard output")
                {
                    // As with all that is printed: quietly, where nobody reads any more.
                    command_output::output::failed(why);
                }
                bar.ended(&outcome);
                outcome.is_ok()
            })
        })
        .collect();
    let mut failed = 0;
    for task in tasks {
        failed += usize::from(!task.await.unwrap_or(false));
    }
    failed
}
