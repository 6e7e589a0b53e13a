//! Sealed memory: bytes that two processes hold once, and that neither can change any more.
//!
//! A memfd that was written, sealed (`F_SEAL_WRITE` and its like, `memfd_create(2)`) and mapped for
//! reading. A descriptor that comes from another process is taken only with these seals: they are
//! what makes a mapping of it sound, for nobody can write to it, shorten it, or take a seal off.
//! What the bytes say is for whoever reads them to judge. Made by the program, taken by the signer.

#![allow(unsafe_code, reason = "a mapping is made and ended by its address; see each SAFETY")]

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, fstat, memfd_create};
use rustix::io::{Errno, pwrite};
use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};
use std::ffi::c_void;
use std::fmt;
use std::fs::File;
use std::io;
use std::num::NonZeroUsize;
use std::os::unix::fs::FileExt;
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;

/// Seals without which no descriptor is mapped: the bytes stay, and stay there.
const SEALS: SealFlags = SealFlags::WRITE.union(SealFlags::SHRINK);
/// Bytes of a huge page. A mapping that begins at a multiple of it can be held in such pages.
const HUGE_PAGE_BYTES: usize = 2 << 20;
/// `MADV_COLLAPSE` of Linux 6.1, which musl's headers lack.
const COLLAPSE: libc::c_int = 25;

/// Bytes in a sealed memfd, mapped for reading. A clone is of the same mapping.
#[derive(Clone)]
pub struct SealedMemory(Arc<SealedMapping>);

struct SealedMapping {
    start: NonNull<u8>,
    length: NonZeroUsize,
    /// The memfd, where it was made; the mapping needs none.
    file: Option<OwnedFd>,
}

/// Why a descriptor is not mapped.
#[derive(Debug)]
pub enum NotSealed {
    /// Can be written to or shortened by somebody, or is no memfd at all.
    Open,
    /// Has no bytes.
    Empty,
    /// Cannot be mapped.
    System(io::Error),
}

impl SealedMemory {
    /// A copy of some pieces, one behind the other.
    pub fn copy_of(pieces: &[&[u8]]) -> Result<Self, NotSealed> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = match memfd_create("tidegate tables", flags | MemfdFlags::NOEXEC_SEAL) {
            // Before Linux 6.3.
            Err(Errno::INVAL) => memfd_create("tidegate tables", flags),
            made => made,
        };
        let file = File::from(file.map_err(NotSealed::of)?);
        let length = pieces.iter().map(|piece| piece.len()).sum();
        let length = NonZeroUsize::new(length).ok_or(NotSealed::Empty)?;
        file.set_len(length.get() as u64).map_err(NotSealed::System)?;
        // Nothing is read through it before the seals are there.
        let mut mapping = SealedMapping::of(&file, length)?;
        mapping.hold_in_huge_pages(&file);
        fill(&file, pieces).map_err(NotSealed::System)?;
        let seals = SEALS | SealFlags::GROW | SealFlags::SEAL;
        fcntl_add_seals(&file, seals).map_err(NotSealed::of)?;
        mapping.file = Some(file.into());
        Ok(Self(Arc::new(mapping)))
    }

    /// The bytes of a descriptor that somebody else made, if nobody can change them.
    pub fn take(file: &OwnedFd) -> Result<Self, NotSealed> {
        let seals = fcntl_get_seals(file).map_err(|_| NotSealed::Open)?;
        if !seals.contains(SEALS) {
            return Err(NotSealed::Open);
        }
        // It cannot become less; what it grows by is not mapped.
        let length = fstat(file).map_err(NotSealed::of)?.st_size;
        let length = usize::try_from(length).ok().and_then(NonZeroUsize::new);
        let length = length.ok_or(NotSealed::Empty)?;
        Ok(Self(Arc::new(SealedMapping::of(file, length)?)))
    }

    /// The memfd, to be sent to another process; none of memory that was taken.
    pub(crate) fn file(&self) -> Option<BorrowedFd<'_>> {
        self.0.file.as_ref().map(AsFd::as_fd)
    }
}

impl SealedMapping {
    fn of(file: impl AsFd, length: NonZeroUsize) -> Result<Self, NotSealed> {
        let hint = huge_page_place(length).unwrap_or(null_mut());
        let (read, private) = (ProtFlags::READ, MapFlags::PRIVATE);
        // Private: before Linux 6.7 a shared mapping of a file with a seal against writing was
        // refused, though for reading only. Pages that nobody writes are the file's in both.
        // SAFETY: without MAP_FIXED the kernel takes a place where nothing is mapped, whatever the
        // hint, so no memory of this process changes.
        let start = unsafe { mmap(hint, length.get(), read, private, file, 0) };
        let start = NonNull::new(start.map_err(NotSealed::of)?.cast()).ok_or(NotSealed::Empty)?;
        Ok(Self { start, length, file: None })
    }

    /// Has the kernel hold the file in huge pages, as far as it fills some, while it is empty: what
    /// is written then need not be copied. Where that cannot be had, the pages are small.
    fn hold_in_huge_pages(&self, file: &File) {
        let whole = self.length.get() / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES;
        for start in (0..whole).step_by(HUGE_PAGE_BYTES) {
            // A range of nothing but holes is left as it is.
            let _ = pwrite(file, &[0], start as u64);
        }
        // SAFETY: the range lies within the mapping, of which it says no more than in which pages
        // the kernel is to hold it.
        unsafe { libc::madvise(self.start.as_ptr().cast(), whole, COLLAPSE) };
    }
}

/// Writes the pieces to the file, not to memory: with a mapping for writing there is no seal.
fn fill(file: &File, pieces: &[&[u8]]) -> io::Result<()> {
    let mut at = 0;
    for piece in pieces {
        file.write_all_at(piece, at)?;
        at += piece.len() as u64;
    }
    Ok(())
}

/// An address where so many bytes have room now and a huge page may begin: no promise, a hint.
fn huge_page_place(length: NonZeroUsize) -> Option<*mut c_void> {
    let length = length.get().checked_add(HUGE_PAGE_BYTES)?;
    // SAFETY: a new mapping of its own, which may not be touched and is not; it is gone again
    // before anybody could learn of it.
    let room = unsafe {
        let room =
            mmap_anonymous(null_mut(), length, ProtFlags::empty(), MapFlags::PRIVATE).ok()?;
        munmap(room, length).ok()?;
        room
    };
    Some(room.map_addr(|address| address.next_multiple_of(HUGE_PAGE_BYTES)))
}

// SAFETY: the mapping belongs to this value alone, and nobody writes to it.
unsafe impl Send for SealedMapping {}
// SAFETY: as above; it is only ever read.
unsafe impl Sync for SealedMapping {}

impl AsRef<[u8]> for SealedMemory {
    fn as_ref(&self) -> &[u8] {
        let SealedMapping { start, length, .. } = &*self.0;
        // SAFETY: the mapping has `length` bytes and lives as long as `self`. The seals, which no
        // process can take off, keep every byte as it is and keep the file from getting shorter, so
        // no read faults and nothing changes behind the reference.
        unsafe { std::slice::from_raw_parts(start.as_ptr(), length.get()) }
    }
}

impl Drop for SealedMapping {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `of` with this length, and all references into it
        // borrow from the value that ends here. Nothing is left to be done if it fails.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.length.get()) };
    }
}

impl NotSealed {
    fn of(why: Errno) -> Self {
        Self::System(why.into())
    }
}

impl fmt::Debug for SealedMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SealedMemory").field("length", &self.0.length).finish_non_exhaustive()
    }
}

impl fmt::Display for NotSealed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open => f.write_str("the memory is not sealed"),
            Self::Empty => f.write_str("the memory has no bytes"),
            Self::System(why) => why.fmt(f),
        }
    }
}

impl std::error::Error for NotSealed {}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use rustix::fs::{FallocateFlags, fallocate, ftruncate};

    fn memfd(seals: SealFlags) -> OwnedFd {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = File::from(memfd_create("test", flags).unwrap());
        file.write_all_at(b"bytes", 0).unwrap();
        fcntl_add_seals(&file, seals).unwrap();
        file.into()
    }

    #[test]
    fn what_was_sealed_is_the_same_in_both_mappings_and_nobody_can_change_it() {
        let large = vec![7; 5 << 20];
        let memory = SealedMemory::copy_of(&[b"abc", b"", &large]).unwrap();
        assert!(memory.as_ref().starts_with(b"abc\x07") && memory.as_ref()[3..] == large);
        assert_eq!(memory.as_ref().as_ptr().addr() % HUGE_PAGE_BYTES, 0);
        let file = File::from(memory.file().unwrap().try_clone_to_owned().unwrap());
        assert!(file.write_all_at(b"x", 0).is_err());
        assert!(ftruncate(&file, 1).is_err());
        assert!(ftruncate(&file, 6 << 20).is_err());
        let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        assert!(fallocate(&file, hole, 0, 4096).is_err());
        assert!(fcntl_add_seals(&file, SealFlags::FUTURE_WRITE).is_err());
        // SAFETY: a mapping that is refused.
        let writable =
            unsafe { mmap(null_mut(), 4096, ProtFlags::WRITE, MapFlags::SHARED, &file, 0) };
        assert_eq!(writable.unwrap_err(), Errno::PERM);
        let other = SealedMemory::take(&file.into()).unwrap();
        drop(memory.clone());
        assert!(other.as_ref() == memory.as_ref() && other.file().is_none());
    }

    #[test]
    fn a_descriptor_that_somebody_could_change_is_refused() {
        for seals in [SealFlags::empty(), SealFlags::WRITE, SealFlags::SHRINK | SealFlags::GROW] {
            let outcome = SealedMemory::take(&memfd(seals));
            assert!(matches!(outcome, Err(NotSealed::Open)), "{seals:?}: {outcome:?}");
        }
        let sealed = SealedMemory::take(&memfd(SealFlags::WRITE | SealFlags::SHRINK)).unwrap();
        assert_eq!(sealed.as_ref(), b"bytes");
        let file = File::open("/proc/self/exe").unwrap();
        assert!(matches!(SealedMemory::take(&file.into()), Err(NotSealed::Open)));
        let (socket, _other) = crate::program::socket_pair().unwrap();
        assert!(matches!(SealedMemory::take(&socket), Err(NotSealed::Open)));
        assert!(matches!(SealedMemory::copy_of(&[b""]), Err(NotSealed::Empty)));
    }
}
