//! Conversations in one JSON file each: PicoClaw's older form, which a start falls back to that
//! cannot use or make the newer one.
//!
//! Each write replaces the whole file of the conversation. What PicoClaw has no field for (scope,
//! aliases, and which newer lines the file goes on from) stands under `forkwood`. A migration that
//! comes through later takes all of it over.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use forkwood::conversation::{
    ConversationMessage, ConversationMeta, ConversationStore, Ensured, Identity, agent_of,
    check_same_scope, is_transient_thought, key,
};
use forkwood::storage::disk::{Meta as Stamp, write_whole};
use forkwood::{EntryId, Error, Json, Result};

use super::folder::{Folder, FolderOptions, Held};
use super::legacy::{self, Legacy, Own};
use super::migrate::{after_hash, keep};
use super::pending::read_file;
use super::read::with_ending;
use super::store::{PicoConversations, cleaned, main_session, promoted_from};
use super::time;

/// Key and aliases of a file.
type Names = Option<(String, Vec<String>)>;

/// A [`ConversationStore`] with one JSON file a conversation.
///
/// Newer files in the same folder are read and never written: a conversation that has them goes on
/// in a file of its own, from what they show. Truncating and replacing drop messages for good, as in
/// PicoClaw. Entries have no ids.
#[derive(Debug)]
pub struct JsonConversations {
    newer: PicoConversations,
    names: Mutex<BTreeMap<OsString, (Stamp, Names)>>,
}

impl JsonConversations {
    /// The conversations of a folder. Nothing is made before the first write.
    pub fn open(path: &Path) -> JsonConversations {
        JsonConversations::open_with(path, FolderOptions::default())
    }

    /// The same, with options.
    pub fn open_with(path: &Path, options: FolderOptions) -> JsonConversations {
        let newer = PicoConversations::open_with(path, options);
        JsonConversations { newer, names: Mutex::default() }
    }

    /// The folder.
    pub fn folder(&self) -> &Folder {
        self.newer.folder()
    }

    /// Makes the folder, so that whether it can be written to is known before the first message.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn prepare(&self) -> Result<()> {
        let path = self.folder().path();
        let made = self.folder().disk().create_folders(path);
        made.map_err(|error| Error::write(path, "make", error))
    }

    /// Takes the file of a conversation out of use, once all it holds is elsewhere: it is kept under
    /// another name. `None` where there is none.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn retire(&self, key: &str) -> Result<Option<PathBuf>> {
        let path = self.path(key)?;
        let _held = self.folder().hold(key)?;
        match self.folder().disk().meta(&path) {
            Ok(_) => keep(self.folder(), &path).map(Some),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::io(path, "look at", error)),
        }
    }

    fn path(&self, key: &str) -> Result<PathBuf> {
        // Names that PicoClaw refuses, too.
        if matches!(key.trim(), "." | "..") {
            return Err(Error::invalid(format!("{key:?} is no key of a conversation")));
        }
        Ok(with_ending(&self.folder().base(key)?, ".json"))
    }

    /// What is known of a conversation, in whichever files; `None` where there is none.
    fn load(&self, key: &str) -> Result<Option<Legacy>> {
        let path = self.path(key)?;
        let read = |path: &Path| {
            read_file(self.folder().disk(), path).map_err(|error| Error::io(path, "read", error))
        };
        let newer = || -> Result<Option<Vec<u8>>> {
            read(&with_ending(&self.folder().base(key)?, ".jsonl"))
        };
        if let Some(bytes) = read(&path)? {
            let mut legacy = legacy::parse(&String::from_utf8_lossy(&bytes))
                .map_err(|problem| Error::Damaged { path: path.clone(), problem })?;
            if legacy.key.is_empty() {
                key.clone_into(&mut legacy.key);
            }
            let lines = newer()?;
            let after = after_hash(lines.as_deref());
            legacy.messages.retain(|one| !is_transient_thought(&one.message));
            let goes_on = legacy.own.as_ref().is_some_and(|own| own.after == after);
            if lines.is_none() || goes_on {
                return Ok(Some(legacy));
            }
            return match self.seed(key, lines.as_deref())? {
                // A rename that did not happen: the newer files hold all of it.
                Some(seed) if starts(&seed, &legacy) => Ok(Some(seed)),
                // Gone on with by PicoClaw, which tells nothing of the newer ones.
                Some(seed) if !seed.messages.is_empty() && starts(&legacy, &seed) => {
                    let own = legacy.own.take().unwrap_or_default();
                    legacy.own = Some(Own { used: true, after, ..own });
                    Ok(Some(legacy))
                }
                _ => Err(apart(path)),
            };
        }
        self.seed(key, newer()?.as_deref())
    }

    /// What the newer files of a conversation show.
    fn seed(&self, key: &str, lines: Option<&[u8]>) -> Result<Option<Legacy>> {
        let Some(newer) = self.folder().read(key)? else { return Ok(None) };
        let meta = newer.meta.clone();
        let promoted_from = promoted_from(&meta);
        let own = Own {
            used: lines.is_some() || !meta.summary.trim().is_empty(),
            scope: meta.scope,
            aliases: meta.aliases,
            promoted_from,
            after: after_hash(lines),
        };
        Ok(Some(Legacy {
            key: meta.key,
            messages: newer.history(),
            summary: meta.summary,
            created: meta.created_at,
            updated: meta.updated_at,
            own: Some(own),
            ..Legacy::default()
        }))
    }

    /// What a write to a conversation starts from.
    fn before(&self, key: &str) -> Result<Legacy> {
        let mut legacy = self.load(key)?.unwrap_or_else(|| Legacy {
            key: key.to_owned(),
            own: Some(Own::default()),
            ..Legacy::default()
        });
        // A file that PicoClaw wrote was used: it makes none before.
        legacy.own.get_or_insert_with(|| Own { used: true, ..Own::default() });
        Ok(legacy)
    }

    fn write(&self, _held: &Held<'_>, key: &str, mut legacy: Legacy) -> Result<()> {
        let now = self.folder().now();
        if time::is_zero(&legacy.created) {
            legacy.created.clone_from(&now);
        }
        legacy.updated = now;
        let path = self.path(key)?;
        write_whole(self.folder().disk(), &path, legacy.to_text()?.as_bytes(), true)
            .map_err(|error| Error::write(path, "write", error))
    }

    fn change(&self, key: &str, change: impl FnOnce(&mut Legacy)) -> Result<()> {
        let key = self.resolve(key)?;
        let held = self.folder().hold(&key)?;
        let mut legacy = self.before(&key)?;
        change(&mut legacy);
        if let Some(own) = &mut legacy.own {
            own.used = true;
        }
        self.write(&held, &key, legacy)
    }

    /// Key and aliases of every file, in the order of the names; reads those that changed.
    fn named<T>(
        &self,
        look: impl FnOnce(&mut dyn Iterator<Item = &(String, Vec<String>)>) -> T,
    ) -> Result<T> {
        let path = self.folder().path();
        let disk = self.folder().disk();
        let mut files = match disk.names(path) {
            Ok(names) => names,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(Error::io(path, "read", error)),
        };
        files.retain(|name| {
            let name = name.to_string_lossy();
            name.ends_with(".json") && !name.ends_with(".meta.json")
        });
        let mut known = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        let mut now = BTreeMap::new();
        for name in files {
            let file = path.join(&name);
            let Ok(stamp) = disk.meta(&file) else { continue };
            let same = known.remove(&name).filter(|(before, _)| *before == stamp);
            let names = same.unwrap_or_else(|| {
                let bytes = read_file(disk, &file).ok().flatten().unwrap_or_default();
                // One that cannot be read hides no other.
                let legacy = legacy::parse(&String::from_utf8_lossy(&bytes)).ok();
                let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                let names = legacy.map(|legacy| {
                    let key = if legacy.key.is_empty() { stem } else { legacy.key };
                    (key, legacy.own.map(|own| own.aliases).unwrap_or_default())
                });
                (stamp, names)
            });
            now.insert(name, names);
        }
        *known = now;
        Ok(look(&mut known.values().filter_map(|(_, names)| names.as_ref())))
    }

    fn exists(&self, key: &str) -> Result<bool> {
        Ok(self.folder().disk().meta(&self.path(key)?).is_ok() || self.newer.exists(key)?)
    }

    fn resolve(&self, key: &str) -> Result<String> {
        let key = key.trim();
        if key.is_empty() {
            return self.newer.resolve(key);
        }
        if key::is_main(key) {
            return main_session(key, |main| self.exists(main));
        }
        if !key.contains([':', '/', '\\']) && self.exists(key)? {
            return Ok(key.to_owned());
        }
        let lists = |(own, aliases): &&(String, Vec<String>)| {
            own != key && aliases.iter().any(|alias| alias == key)
        };
        match self
            .named(|mut names| Iterator::find(&mut names, lists).map(|(key, _)| key.clone()))?
        {
            Some(found) => Ok(found),
            None => self.newer.resolve(key),
        }
    }

    /// Takes the history of the first alias that has one.
    fn promote(&self, key: &str, aliases: &[String]) -> Result<Option<String>> {
        let own = self.path(key)?;
        for alias in aliases {
            let Ok(path) = self.path(alias) else { continue };
            if key::is_main(alias) || path == own {
                continue;
            }
            // Both are held, in an order that everybody keeps.
            let (first, second) =
                if path < own { (alias.as_str(), key) } else { (key, alias.as_str()) };
            let (one, _other) = (self.folder().hold(first)?, self.folder().hold(second)?);
            let Some(older) = self.load(alias)? else { continue };
            if older.messages.is_empty() && older.summary.trim().is_empty() {
                continue;
            }
            let mut legacy = self.before(key)?;
            let Some(record) = legacy.own.as_mut().filter(|own| !own.used) else { return Ok(None) };
            record.used = true;
            record.promoted_from = Some(alias.clone());
            legacy.messages = older.messages;
            older.summary.trim().clone_into(&mut legacy.summary);
            self.write(&one, key, legacy)?;
            return Ok(Some(alias.clone()));
        }
        Ok(None)
    }
}

/// Whether the messages of one are the first of the other.
fn starts(longer: &Legacy, shorter: &Legacy) -> bool {
    let said = |legacy: &Legacy| -> Vec<_> {
        legacy.messages.iter().map(|one| one.message.content.clone()).collect()
    };
    said(longer).starts_with(&said(shorter))
}

fn apart(path: PathBuf) -> Error {
    let problem =
        "holds other messages than the newer files of its conversation; look at both, and \
                   move one away"
            .to_owned();
    Error::Damaged { path, problem }
}

#[async_trait]
impl ConversationStore for JsonConversations {
    async fn resolve_key(&self, key: &str) -> Result<String> {
        self.resolve(key)
    }

    async fn ensure_metadata(&self, key: &str, identity: &Identity) -> Result<Ensured> {
        let key = self.resolve(key)?;
        let aliases = cleaned(&key, &identity.aliases);
        let unused = {
            let held = self.folder().hold(&key)?;
            let there = self.exists(&key)?;
            let mut legacy = self.before(&key)?;
            let own = legacy.own.get_or_insert_default();
            let stored = own.scope.as_ref().and_then(|scope| scope.to().ok());
            if let (Some(stored), Some(new)) = (&stored, &identity.scope) {
                check_same_scope(stored, new)?;
            }
            let unused = !own.used;
            if !there || stored != identity.scope || own.aliases != aliases {
                own.scope =
                    identity.scope.as_ref().and_then(|scope| Json::parse(&scope.to_json()).ok());
                own.aliases.clone_from(&aliases);
                self.write(&held, &key, legacy)?;
            }
            unused
        };
        let promoted_from = if unused { self.promote(&key, &aliases)? } else { None };
        Ok(Ensured { key, promoted_from })
    }

    async fn metadata(&self, key: &str) -> Result<Option<ConversationMeta>> {
        let Some(legacy) = self.load(&self.resolve(key)?)? else { return Ok(None) };
        let own = legacy.own.unwrap_or_default();
        let scope = own.scope.as_ref().and_then(|scope| scope.to().ok());
        let created = Some(legacy.created.as_str()).filter(|at| !time::is_zero(at));
        Ok(Some(ConversationMeta {
            agent: agent_of(scope.as_ref(), &legacy.key, &own.aliases),
            scope,
            aliases: own.aliases,
            created_at: created.and_then(time::parse),
            promoted_from: own.promoted_from,
            key: legacy.key,
        }))
    }

    async fn get_history(&self, key: &str) -> Result<Vec<ConversationMessage>> {
        Ok(self.load(&self.resolve(key)?)?.map(|legacy| legacy.messages).unwrap_or_default())
    }

    async fn add_full_message(
        &self,
        key: &str,
        mut message: ConversationMessage,
    ) -> Result<Option<EntryId>> {
        if is_transient_thought(&message.message) {
            return self.resolve(key).map(|_| None);
        }
        message.created_at = message.created_at.or_else(|| time::parse(&self.folder().now()));
        self.change(key, |legacy| legacy.messages.push(message)).map(|()| None)
    }

    async fn get_summary(&self, key: &str) -> Result<String> {
        Ok(self.load(&self.resolve(key)?)?.map(|legacy| legacy.summary).unwrap_or_default())
    }

    async fn set_summary(&self, key: &str, summary: &str) -> Result<()> {
        self.change(key, |legacy| summary.clone_into(&mut legacy.summary))
    }

    async fn truncate_history(&self, key: &str, keep: usize) -> Result<()> {
        if !self.exists(&self.resolve(key)?)? {
            return Ok(());
        }
        self.change(key, |legacy| {
            let extra = legacy.messages.len().saturating_sub(keep);
            legacy.messages.drain(..extra);
        })
    }

    async fn set_history(&self, key: &str, messages: Vec<ConversationMessage>) -> Result<()> {
        let now = time::parse(&self.folder().now());
        let mut messages = messages;
        messages.retain(|one| !is_transient_thought(&one.message));
        for one in &mut messages {
            one.created_at = one.created_at.or(now);
        }
        self.change(key, |legacy| legacy.messages = messages)
    }

    /// Every write is on disk when it is acknowledged.
    async fn save(&self, key: &str) -> Result<()> {
        self.resolve(key).map(|_| ())
    }

    async fn list_sessions(&self) -> Result<Vec<String>> {
        let mut keys = self.named(|names| names.map(|(key, _)| key.clone()).collect::<Vec<_>>())?;
        keys.extend(self.newer.list_sessions().await?);
        keys.sort_by(|a, b| (key::file_base(a), a).cmp(&(key::file_base(b), b)));
        keys.dedup();
        Ok(keys)
    }

    async fn close(&self) -> Result<()> {
        Ok(())
    }
}
