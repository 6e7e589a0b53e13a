//! The folder as dav-server's file system: every path is held against the request's rules, and
//! nothing leaves the folder.
//!
//! Looks at one file are taken at once, as the door's own are; whatever may wait for the disk goes
//! to a thread that may. Called by dav-server.

use crate::asked::{DavAsked, DavPurpose};
use crate::entries::{FileEntry, FolderEntry, file_bytes};
use crate::fault::{DavFault, fs_error};
use crate::limits::DavLimits;
use crate::quota::{FolderQuota, QuotaShare};
use crate::rules::{PathStanding, may_become};
use crate::trees;
use crate::upload::{UploadFile, UploadStart, WriteBegin};
use dav_server::davpath::DavPath;
use dav_server::fs::{
    DavDirEntry, DavFile, DavMetaData, DavProp, FsError, FsFuture, FsResult, FsStream,
    GuardedFileSystem, OpenOptions, ReadDirMeta,
};
use file_access::beneath::FolderRoot;
use file_access::writable::{ExistingFile, UnfinishedFile, WritablePlace};
use futures_util::stream;
use http::StatusCode;
use rustix::fd::AsFd;
use rustix::fs::{FileType, OFlags, Stat};
use rustix::io::Errno;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::task::spawn_blocking;

/// A folder that is written.
#[derive(Clone)]
pub(crate) struct WrittenFolder {
    pub(crate) root: Arc<FolderRoot>,
    pub(crate) limits: DavLimits,
    pub(crate) quota: Option<Arc<FolderQuota>>,
    pub(crate) tag: fn(&Stat) -> String,
}

/// Does work that may wait for the disk.
async fn on_disk<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Errno> + Send + 'static,
) -> FsResult<T> {
    match spawn_blocking(work).await {
        Ok(done) => done.map_err(fs_error),
        Err(_) => Err(FsError::GeneralFailure),
    }
}

impl WrittenFolder {
    fn place(&self, below: &Path, asked: &DavAsked) -> Result<WritablePlace, Errno> {
        self.root.writable_place(below, asked.now)
    }

    /// The place of a new file; folders on the way are made where the settings say so.
    fn place_made(&self, below: &Path, asked: &DavAsked) -> Result<WritablePlace, Errno> {
        let place = self.place(below, asked);
        let (Err(Errno::NOENT), Some(deep)) = (&place, self.limits.min_put_directory) else {
            return place;
        };
        let above: Vec<_> = below.ancestors().skip(1).filter(|it| *it != Path::new("")).collect();
        let made = above.into_iter().rev().enumerate();
        for (_, folder) in made.filter(|(depth, _)| *depth >= deep as usize) {
            if asked.rules.standing(folder) != PathStanding::Open {
                return Err(Errno::ACCESS);
            }
            match self.place(folder, asked)?.make_folder() {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(why) => return Err(why),
            }
        }
        self.place(below, asked)
    }

    async fn begin(
        &self,
        path: &DavPath,
        options: OpenOptions,
        asked: &DavAsked,
    ) -> FsResult<UploadFile> {
        let below = asked.changed(path)?;
        if let Some(quota) = &self.quota {
            quota.count(&self.root, asked.now).await;
        }
        if options.size.is_some_and(|size| size > self.limits.file_max) {
            asked.fault.write(DavFault::TooLarge);
            return Err(FsError::TooLarge);
        }
        let place = self.place_made(below, asked).map_err(fs_error)?;
        let before = place.stat().ok();
        match before.as_ref().map(|it| FileType::from_raw_mode(it.st_mode)) {
            None if !options.create && !options.create_new => return Err(FsError::NotFound),
            None | Some(FileType::RegularFile | FileType::Symlink) => {}
            Some(_) => {
                asked.fault.write(DavFault::NoFile);
                return Err(FsError::GeneralFailure);
            }
        }
        let mut share = QuotaShare::none(self.quota.as_ref());
        let file = on_disk(move || place.begin_file()).await?;
        if !options.truncate
            && let Ok(open) = self.root.open_beneath(below, READING, asked.now)
        {
            if FileType::from_raw_mode(open.stat.st_mode) != FileType::RegularFile {
                asked.fault.write(DavFault::NoFile);
                return Err(FsError::GeneralFailure);
            }
            let len = file_bytes(&open.stat);
            share.grow_to(len).map_err(|fault| {
                asked.fault.write(fault);
                FsError::InsufficientStorage
            })?;
            // The rest of the file stays as it is: a new one begins as its copy.
            let copied = on_disk(move || {
                file.copy_from(open.file.as_fd())?;
                Ok(file)
            });
            let file = copied.await?;
            return Ok(self.upload(file, &options, before.as_ref(), len, share, asked));
        }
        Ok(self.upload(file, &options, before.as_ref(), 0, share, asked))
    }

    fn upload(
        &self,
        file: UnfinishedFile,
        options: &OpenOptions,
        before: Option<&Stat>,
        len: u64,
        share: QuotaShare,
        asked: &DavAsked,
    ) -> UploadFile {
        let existing = if options.create_new { ExistingFile::Kept } else { ExistingFile::Replaced };
        let replaced = before.map_or(0, file_bytes);
        let begin = if options.append { WriteBegin::End } else { WriteBegin::Asked };
        let file_max = self.limits.file_max;
        let start = UploadStart { file, existing, replaced, len, begin, file_max, share };
        UploadFile::new(start, asked, self.tag)
    }

    async fn open_file(
        &self,
        path: &DavPath,
        options: OpenOptions,
        asked: &DavAsked,
    ) -> FsResult<Box<dyn DavFile>> {
        if path.is_collection() || !options.write {
            return Err(FsError::NotFound);
        }
        let mut file: Box<dyn DavFile> = Box::new(self.begin(path, options, asked).await?);
        if asked.purpose == DavPurpose::Lock {
            file.flush().await?;
        }
        Ok(file)
    }

    fn look(&self, path: &DavPath, asked: &DavAsked) -> FsResult<Box<dyn DavMetaData>> {
        let below = asked.seen(path)?;
        let open = self.root.open_beneath(below, OFlags::PATH, asked.now).map_err(fs_error)?;
        Ok(Box::new(FileEntry::new(open.stat, self.tag)))
    }

    fn look_at_link(&self, path: &DavPath, asked: &DavAsked) -> FsResult<Box<dyn DavMetaData>> {
        let below = asked.seen(path)?;
        match self.place(below, asked) {
            Ok(place) => {
                let stat = place.stat().map_err(fs_error)?;
                Ok(Box::new(FileEntry::new(stat, self.tag)))
            }
            // The folder itself.
            Err(Errno::PERM) => self.look(path, asked),
            Err(why) => Err(fs_error(why)),
        }
    }

    async fn remove(&self, path: &DavPath, asked: &DavAsked) -> FsResult<()> {
        let below = asked.changed(path)?;
        if asked.replaced.as_deref() == Some(below) {
            return Ok(());
        }
        let place = self.place(below, asked).map_err(fs_error)?;
        let bytes = place.stat().as_ref().map_or(0, file_bytes);
        on_disk(move || place.remove_file()).await?;
        if let Some(quota) = &self.quota {
            quota.release(bytes);
        }
        Ok(())
    }

    async fn move_to(&self, from: &DavPath, to: &DavPath, asked: &DavAsked) -> FsResult<()> {
        let (from, to) = (asked.changed(from)?.to_owned(), asked.changed(to)?.to_owned());
        let old = self.place(&from, asked).map_err(fs_error)?;
        let new = self.place(&to, asked).map_err(fs_error)?;
        let (root, asked) = (Arc::clone(&self.root), asked.clone());
        let moved = on_disk(move || {
            if old.is_folder() && !may_move_folder(&root, &old, &from, &to, &asked)? {
                return Err(Errno::ACCESS);
            }
            old.rename_to(&new)
        });
        moved.await
    }

    async fn copy_file(&self, from: &DavPath, to: &DavPath, asked: &DavAsked) -> FsResult<()> {
        let (from, to) = (asked.seen(from)?, asked.changed(to)?);
        if !may_become(&*asked.rules, from, to) {
            return Err(FsError::Forbidden);
        }
        if let Some(quota) = &self.quota {
            quota.count(&self.root, asked.now).await;
        }
        let source = self.root.open_beneath(from, READING, asked.now).map_err(fs_error)?;
        if FileType::from_raw_mode(source.stat.st_mode) != FileType::RegularFile {
            return Err(FsError::Forbidden);
        }
        let place = self.place(to, asked).map_err(fs_error)?;
        let replaced = place.stat().as_ref().map_or(0, file_bytes);
        let mut share = QuotaShare::none(self.quota.as_ref());
        share.grow_to(file_bytes(&source.stat)).map_err(|_| FsError::InsufficientStorage)?;
        let copied = on_disk(move || {
            let file = place.begin_file()?;
            file.copy_from(source.file.as_fd())?;
            file.publish(ExistingFile::Replaced)
        });
        copied.await?;
        share.settle(replaced);
        Ok(())
    }
}

/// A FIFO without a writer would have us wait.
const READING: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

/// True if the folder may be moved with everything in it.
fn may_move_folder(
    root: &FolderRoot,
    folder: &WritablePlace,
    from: &Path,
    to: &Path,
    asked: &DavAsked,
) -> Result<bool, Errno> {
    if root.private().lie_in(&folder.real_path()?) {
        return Ok(false);
    }
    trees::may_move(root, from, to, &*asked.rules, asked.now)
}

impl GuardedFileSystem<DavAsked> for WrittenFolder {
    fn open<'a>(
        &'a self,
        path: &'a DavPath,
        options: OpenOptions,
        asked: &'a DavAsked,
    ) -> FsFuture<'a, Box<dyn DavFile>> {
        Box::pin(self.open_file(path, options, asked))
    }

    fn read_dir<'a>(
        &'a self,
        path: &'a DavPath,
        _: ReadDirMeta,
        asked: &'a DavAsked,
    ) -> FsFuture<'a, FsStream<Box<dyn DavDirEntry>>> {
        Box::pin(async move {
            let below: PathBuf = asked.seen(path)?.to_owned();
            if asked.purpose == DavPurpose::RemoveFile {
                asked.fault.write(DavFault::NoFile);
                return Err(FsError::Exists);
            }
            let (root, asked, tag) = (Arc::clone(&self.root), asked.clone(), self.tag);
            let names = on_disk(move || trees::names(&root, &below, &asked, tag)).await?;
            let boxed = |it: FolderEntry| Ok(Box::new(it) as Box<dyn DavDirEntry>);
            let names: FsStream<_> = Box::pin(stream::iter(names.into_iter().map(boxed)));
            Ok(names)
        })
    }

    fn metadata<'a>(
        &'a self,
        path: &'a DavPath,
        asked: &'a DavAsked,
    ) -> FsFuture<'a, Box<dyn DavMetaData>> {
        Box::pin(std::future::ready(self.look(path, asked)))
    }

    fn symlink_metadata<'a>(
        &'a self,
        path: &'a DavPath,
        asked: &'a DavAsked,
    ) -> FsFuture<'a, Box<dyn DavMetaData>> {
        Box::pin(std::future::ready(self.look_at_link(path, asked)))
    }

    fn create_dir<'a>(&'a self, path: &'a DavPath, asked: &'a DavAsked) -> FsFuture<'a, ()> {
        Box::pin(async move {
            let place = self.place(asked.changed(path)?, asked).map_err(fs_error)?;
            on_disk(move || place.make_folder()).await
        })
    }

    fn remove_dir<'a>(&'a self, path: &'a DavPath, asked: &'a DavAsked) -> FsFuture<'a, ()> {
        Box::pin(async move {
            let place = self.place(asked.changed(path)?, asked).map_err(fs_error)?;
            on_disk(move || place.remove_folder()).await
        })
    }

    fn remove_file<'a>(&'a self, path: &'a DavPath, asked: &'a DavAsked) -> FsFuture<'a, ()> {
        Box::pin(self.remove(path, asked))
    }

    fn rename<'a>(
        &'a self,
        from: &'a DavPath,
        to: &'a DavPath,
        asked: &'a DavAsked,
    ) -> FsFuture<'a, ()> {
        Box::pin(self.move_to(from, to, asked))
    }

    fn copy<'a>(
        &'a self,
        from: &'a DavPath,
        to: &'a DavPath,
        asked: &'a DavAsked,
    ) -> FsFuture<'a, ()> {
        Box::pin(self.copy_file(from, to, asked))
    }

    /// Properties of a client's own are not kept, and each is told so.
    fn patch_props<'a>(
        &'a self,
        _: &'a DavPath,
        patch: Vec<(bool, DavProp)>,
        _: &'a DavAsked,
    ) -> FsFuture<'a, Vec<(StatusCode, DavProp)>> {
        let refused = patch.into_iter().map(|(_, property)| (StatusCode::FORBIDDEN, property));
        Box::pin(std::future::ready(Ok(refused.collect())))
    }

    fn get_quota<'a>(&'a self, asked: &'a DavAsked) -> FsFuture<'a, (u64, Option<u64>)> {
        Box::pin(async move {
            let Some(quota) = &self.quota else { return Err(FsError::NotImplemented) };
            quota.count(&self.root, asked.now).await;
            let (used, left) = quota.usage();
            Ok((used, Some(left)))
        })
    }
}
