//! What differs between systems. The portable twin uses the standard library alone, so that a
//! system without Unix calls still works: without file modes, and with reads under a lock.

#[cfg(all(unix, not(forkwood_portable)))]
pub(super) use unix::{
    identity, is_named, make_private, mode, open_options, private_folder, read_at, sync_folder,
};

#[cfg(any(not(unix), forkwood_portable))]
pub(super) use portable::{
    identity, is_named, make_private, mode, open_options, private_folder, read_at, sync_folder,
};

#[cfg(all(unix, not(forkwood_portable)))]
mod unix {
    use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
    use std::io;
    use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
    use std::path::Path;

    pub(in crate::disk) fn read_at(
        file: &File,
        buffer: &mut [u8],
        offset: u64,
    ) -> io::Result<usize> {
        loop {
            match file.read_at(buffer, offset) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => return other,
            }
        }
    }

    pub(in crate::disk) fn identity(meta: &Metadata) -> u128 {
        (u128::from(meta.dev()) << 64) | u128::from(meta.ino())
    }

    /// Whether an open file is still the one under its name.
    pub(in crate::disk) fn is_named(file: &File, path: &Path) -> bool {
        let here = file.metadata().map(|meta| identity(&meta));
        let there = fs::symlink_metadata(path).map(|meta| identity(&meta));
        matches!((here, there), (Ok(here), Ok(there)) if here == there)
    }

    pub(in crate::disk) fn mode(meta: &Metadata) -> Option<u32> {
        Some(meta.permissions().mode() & 0o777)
    }

    /// Files are for their owner only, whatever the umask.
    pub(in crate::disk) fn open_options() -> OpenOptions {
        let mut options = OpenOptions::new();
        options.mode(0o600);
        options
    }

    pub(in crate::disk) fn make_private(path: &Path) -> io::Result<()> {
        fs::set_permissions(path, fs::Permissions::from_mode(0o600))
    }

    pub(in crate::disk) fn private_folder(path: &Path) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(path)
    }

    pub(in crate::disk) fn sync_folder(folder: &Path) -> io::Result<()> {
        fs::File::open(folder)?.sync_all()
    }
}

#[cfg(any(not(unix), forkwood_portable))]
mod portable {
    use std::fs::{self, File, Metadata, OpenOptions};
    use std::io::{self, Read, Seek, SeekFrom};
    use std::path::Path;
    use std::sync::Mutex;

    /// Reading moves the position of the file, which threads share.
    static POSITION: Mutex<()> = Mutex::new(());

    pub(in crate::disk) fn read_at(
        file: &File,
        buffer: &mut [u8],
        offset: u64,
    ) -> io::Result<usize> {
        let _guard = POSITION.lock().map_err(|_| io::Error::other("a reader panicked"))?;
        let mut file = file;
        file.seek(SeekFrom::Start(offset))?;
        let mut filled = 0;
        while filled < buffer.len() {
            match file.read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }

    /// The time of creation stands in for an inode: another file under the name has another.
    pub(in crate::disk) fn identity(meta: &Metadata) -> u128 {
        meta.created()
            .ok()
            .and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok())
            .map_or(0, |age| age.as_nanos())
    }

    /// An open file keeps its name on systems that cannot remove it meanwhile.
    pub(in crate::disk) fn is_named(_file: &File, _path: &Path) -> bool {
        true
    }

    pub(in crate::disk) fn mode(_meta: &Metadata) -> Option<u32> {
        None
    }

    pub(in crate::disk) fn open_options() -> OpenOptions {
        OpenOptions::new()
    }

    pub(in crate::disk) fn make_private(_path: &Path) -> io::Result<()> {
        Ok(())
    }

    pub(in crate::disk) fn private_folder(path: &Path) -> io::Result<()> {
        fs::create_dir_all(path)
    }

    /// Folders cannot be opened as files everywhere; their names are synced with the files.
    pub(in crate::disk) fn sync_folder(_folder: &Path) -> io::Result<()> {
        Ok(())
    }
}
