//! The owner's block page, as the configuration names it.
//!
//! Read when a policy is compiled, and by `check`. Called by `compiling`.

use config::{FileComplaint, Plan};
use policy::BlockPage;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;
use vocab::Complaint;

/// Bytes of a page at most.
const BYTES_MAX: u64 = 256 << 10;

/// The page of a plan, or everything that is wrong with it.
pub(crate) fn read(plan: &Plan, state_dir: &Path) -> Result<Option<BlockPage>, Vec<FileComplaint>> {
    let Some(named) = &plan.file.policy.block_page else { return Ok(None) };
    let wrong = |complaint: Complaint| plan.locate(complaint.under("policy.block_page"));
    let page = if named.starts_with("http://") || named.starts_with("https://") {
        BlockPage::Redirect(named.as_str().into())
    } else {
        let path = plan.base(state_dir).join(named);
        let text = text_of(&path).map_err(|why| {
            let message = format!("{}: {why}", path.display());
            let complaint = Complaint::new("", message);
            vec![wrong(complaint.remedy("name a file of HTML, or a URL with https://"))]
        })?;
        BlockPage::Html(text.into())
    };
    let complaints: Vec<_> = door_pixel::check_block_page(&page).into_iter().map(wrong).collect();
    if complaints.is_empty() { Ok(Some(page)) } else { Err(complaints) }
}

fn text_of(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(BYTES_MAX + 1).read_to_string(&mut text)?;
    if text.len() as u64 > BYTES_MAX {
        return Err(io::Error::other(format!("it is longer than {} KiB", BYTES_MAX >> 10)));
    }
    Ok(text)
}
