//! Writing the entries of a foreign session into a native one.

use std::collections::{HashMap, HashSet};

use forkwood::core::entry::codec;
use forkwood::storage::{Append, UuidV7};
use forkwood::{
    Body, Diagnostic, DiagnosticKind, Draft, Durability, Entry, EntryId, EntryKind, Error, Expect,
    Head, IdSource, Lane, OnConflict, Result, SessionId, SessionInfo, SessionStorage, Text, blobs,
};

use super::line_up::{LineUp, line_up};
use super::moved::Moved;
use super::{Cut, ForeignSession, Identity, Origin};

/// The lane that follows a source when `main` has gone its own way.
const LANE: &str = "import";

/// What was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Written {
    pub(super) read: u64,
    pub(super) added: u64,
    /// Whether a branch grew, or the lane was moved.
    pub(super) branched: bool,
    /// Fields that nothing here has a place for; they came along.
    pub(super) unknown: Vec<Diagnostic>,
    pub(super) lane: Option<Lane>,
    pub(super) leaf: Option<EntryId>,
}

/// A native session that is being written to.
pub(super) struct Target<'s> {
    storage: &'s dyn SessionStorage,
    id: &'s SessionId,
    heads: Vec<Head>,
    known: HashSet<EntryId>,
    root: EntryId,
    lane: Lane,
    /// Where the lane stands; `None` = it is not there yet.
    stands: Option<EntryId>,
    /// Where it will stand after the drafts.
    at: Option<EntryId>,
    drafts: Vec<Draft>,
    written: Written,
}

impl<'s> Target<'s> {
    /// Opens a native session for more of its source.
    pub(super) async fn open(
        storage: &'s dyn SessionStorage,
        id: &'s SessionId,
        before: Option<&Origin>,
    ) -> Result<Target<'s>> {
        let facts = storage.facts(id).await?;
        let heads = storage.heads(id).await?;
        let root = heads.first().map(|head| head.id.clone());
        let root = root.ok_or_else(|| Error::invalid(format!("session {id} has no header")))?;
        let lane = before.and_then(|origin| origin.lane.clone()).unwrap_or_default();
        let stands = facts.leaf(&lane).cloned();
        let left = before.and_then(|origin| origin.leaf.clone());
        let gone_on = left.is_some() && left != stands;
        let (lane, stands) = match gone_on {
            false => (lane, stands),
            true => (free_lane(facts.lanes.iter().map(|state| &state.lane))?, None),
        };
        Ok(Target {
            storage,
            id,
            known: heads.iter().map(|head| head.id.clone()).collect(),
            heads,
            at: if gone_on { left } else { stands.clone() },
            root,
            lane,
            stands,
            drafts: Vec::new(),
            written: Written::default(),
        })
    }

    /// Takes what is new, where `start` was read already.
    pub(super) async fn take(
        mut self,
        start: Vec<Entry>,
        source: &mut dyn ForeignSession,
    ) -> Result<Written> {
        match source.about().identity.clone() {
            Identity::Ids => self.take_tree(start, source).await?,
            Identity::Lines(cut) => self.take_lines(start, source, &cut).await?,
        }
        self.written.lane = Some(self.lane);
        self.written.leaf = self.stands;
        Ok(self.written)
    }

    /// Writes the drafts so far.
    async fn flush(&mut self) -> Result<()> {
        if self.drafts.is_empty() {
            return Ok(());
        }
        let mut drafts = std::mem::take(&mut self.drafts);
        if self.stands.is_none()
            && !matches!(drafts[0].body, Body::Leaf { .. })
            && self.at_start() != self.root
        {
            drafts.insert(0, leaf(self.at_start()));
        }
        for draft in &mut drafts {
            blobs::store(self.storage, &mut draft.body).await?;
        }
        let append = Append {
            lane: self.lane.clone(),
            drafts,
            expect: self.stands.clone().map_or(Expect::NoLane, Expect::At),
            on_conflict: OnConflict::Fail,
            // What ends the session is synced, and all before it with it.
            durability: Durability::Os,
        };
        let done = self.storage.append(self.id, append).await?;
        self.stands = done.leaf;
        Ok(())
    }

    /// Where a lane that is not there yet starts.
    fn at_start(&self) -> EntryId {
        self.at.clone().unwrap_or_else(|| self.root.clone())
    }

    /// Puts a path entry below a parent.
    fn push(&mut self, parent: Option<EntryId>, draft: Draft) {
        let parent = parent.unwrap_or_else(|| self.root.clone());
        self.move_to(parent);
        self.known.insert(draft.id.clone());
        self.at = Some(draft.id.clone());
        self.written.added += 1;
        self.drafts.push(draft);
    }

    /// Moves the lane, where it does not stand there.
    fn move_to(&mut self, to: EntryId) {
        let fresh = self.stands.is_none() && self.drafts.is_empty();
        let stands = match fresh {
            // A lane that is made starts with a move, but at the root.
            true => self.root.clone(),
            false => self.at.clone().unwrap_or_else(|| self.root.clone()),
        };
        if stands != to {
            self.written.branched |= !fresh || !self.lane.is_main();
            self.drafts.push(leaf(to.clone()));
        }
        self.at = Some(to);
    }

    async fn take_tree(
        &mut self,
        start: Vec<Entry>,
        source: &mut dyn ForeignSession,
    ) -> Result<()> {
        let mut refs = References::default();
        let mut moved = Moved::of(&self.heads);
        let mut first = true;
        let mut page = start;
        while !page.is_empty() {
            for entry in page {
                self.written.read += 1;
                let header = std::mem::take(&mut first) && entry.kind() == EntryKind::SessionInfo;
                let parent = refs.enter(&entry).map(|id| moved.now(id));
                if header {
                    continue;
                }
                let mut entry = entry;
                if self.known.contains(&entry.id) {
                    let Some(copy) = moved.copy(&entry, parent.as_ref(), &self.root) else {
                        continue;
                    };
                    let of = std::mem::replace(&mut entry.id, copy.clone());
                    moved.note(&mut entry, of);
                    if self.known.contains(&copy) {
                        continue;
                    }
                }
                self.take_entry(entry, parent, &refs);
            }
            self.flush().await?;
            page = source.next().await?;
        }
        let leaf = refs.path_entry(source.about().leaf.as_ref()).map(|id| moved.now(id));
        let to = leaf.unwrap_or_else(|| self.root.clone());
        let follows = self.written.added > 0 || self.stands.is_some();
        if follows && self.at.as_ref().unwrap_or(&self.root) != &to && self.known.contains(&to) {
            self.move_to(to);
            self.flush().await?;
        }
        Ok(())
    }

    fn take_entry(&mut self, entry: Entry, parent: Option<EntryId>, refs: &References) {
        self.tell_unknown(&entry);
        let Entry { id, timestamp, mut body, mut extra, .. } = entry;
        match &mut body {
            // The lane is moved where an entry, or the end, asks for it.
            Body::Leaf { .. } => return,
            Body::SessionInfo(info) => {
                let Some(title) = info.title.take() else { return };
                body = SessionInfo { title: Some(title), ..SessionInfo::default() }.into();
            }
            Body::Label { label, target_id } => {
                let target = match target_id {
                    Some(target) => refs.path_entry(Some(target)),
                    None => parent.clone(),
                };
                let target = target.unwrap_or_else(|| self.root.clone());
                if self.known.contains(&target) {
                    *target_id = Some(target);
                } else {
                    body = unplaced_label(label.as_ref(), target_id.as_ref());
                }
            }
            Body::Compaction(compaction) => {
                if let Some(kept) = &mut compaction.first_kept_entry_id
                    && let Some(next) = refs.next.get(kept)
                {
                    *kept = next.clone();
                }
            }
            _ => {}
        }
        codec::set_apart(&body, &mut extra);
        let draft = Draft { id, timestamp, body, extra };
        if draft.body.is_sidecar() {
            self.known.insert(draft.id.clone());
            self.written.added += 1;
            self.drafts.push(draft);
        } else {
            self.push(parent, draft);
        }
    }

    /// Names the fields of an entry that nothing here has a place for. Those of an entry whose
    /// type is unknown are no news.
    fn tell_unknown(&mut self, entry: &Entry) {
        if matches!(entry.body, Body::Unknown { .. }) {
            return;
        }
        for (field, _) in &entry.extra {
            let message = format!("entry: unknown field {field}");
            let finding = Diagnostic::new(DiagnosticKind::UnknownField, message);
            self.written.unknown.push(finding.of(entry.id.clone()));
        }
    }

    async fn take_lines(
        &mut self,
        start: Vec<Entry>,
        source: &mut dyn ForeignSession,
        cut: &Cut,
    ) -> Result<()> {
        let mut lines = start;
        loop {
            let page = source.next().await?;
            if page.is_empty() {
                break;
            }
            lines.extend(page);
        }
        self.written.read = lines.len() as u64;
        let path = self.path_heads();
        let taken: Vec<EntryId> = path
            .iter()
            .filter(|head| !matches!(head.kind, EntryKind::Compaction | EntryKind::SessionInfo))
            .map(|head| head.id.clone())
            .collect();
        let ids: Vec<EntryId> = lines.iter().map(|line| line.id.clone()).collect();
        let mut place: Vec<EntryId> = Vec::with_capacity(lines.len());
        let mut shown: Vec<Shown> = path.iter().map(Shown::of).collect();
        let from = match line_up(&taken, &ids) {
            LineUp::Continue(count) => {
                place.extend_from_slice(&taken[taken.len() - count.min(taken.len())..]);
                count
            }
            LineUp::Branch(count, end) => {
                place.extend_from_slice(&taken[end - count..end]);
                let to = place.last().cloned().unwrap_or_else(|| self.root.clone());
                let keep = shown.iter().position(|entry| entry.id == to).map_or(0, |at| at + 1);
                shown.truncate(keep);
                self.move_to(to);
                count
            }
        };
        for mut line in lines.drain(..).skip(from) {
            let parent = self.at.clone();
            line.id = self.free_id(&line.id);
            place.push(line.id.clone());
            shown.push(Shown { id: line.id.clone(), compaction: false });
            let Entry { id, timestamp, body, mut extra, .. } = line;
            codec::set_apart(&body, &mut extra);
            self.push(parent, Draft { id, timestamp, body, extra });
            if self.drafts.len() >= 512 {
                self.flush().await?;
            }
        }
        self.flush().await?;
        let visible = &place[cut.hidden.min(place.len())..];
        let now = self.visible(&shown).await?;
        if now.0 != cut.summary || now.1 != visible {
            self.cut(&cut.summary, visible.first())?;
            self.flush().await?;
        }
        Ok(())
    }

    /// The entries on the path to where the lane stands, root first.
    fn path_heads(&self) -> Vec<Head> {
        let by_id: HashMap<&EntryId, &Head> =
            self.heads.iter().map(|head| (&head.id, head)).collect();
        let mut path = Vec::new();
        let mut next = self.at.as_ref();
        while let Some(head) = next.and_then(|id| by_id.get(id)) {
            path.push((*head).clone());
            next = head.parent_id.as_ref();
            if path.len() > self.heads.len() {
                break;
            }
        }
        path.reverse();
        path
    }

    /// An id that says the same of its line and that no entry has.
    fn free_id(&self, id: &EntryId) -> EntryId {
        if !self.known.contains(id) {
            return id.clone();
        }
        let key = super::line_up::key(id);
        // The log is not longer than its ids: one of so many is free.
        (0..=self.known.len())
            .map(|nth| EntryId::from(format!("{key}{nth:08x}")))
            .find(|id| !self.known.contains(id))
            .unwrap_or_else(|| UuidV7.next_id())
    }

    /// The summary and the entries that a path shows.
    async fn visible(&self, path: &[Shown]) -> Result<(Text, Vec<EntryId>)> {
        let compactions = path.iter().rposition(|entry| entry.compaction);
        let mut summary = Text::default();
        let mut from = 0;
        if let Some(at) = compactions {
            let found = self.storage.get(self.id, std::slice::from_ref(&path[at].id)).await?;
            let body = found.into_iter().flatten().next().map(|stored| stored.entry.body);
            if let Some(Body::Compaction(compaction)) = body {
                let kept = compaction.first_kept_entry_id;
                from = path.iter().position(|entry| Some(&entry.id) == kept.as_ref()).unwrap_or(at);
                summary = compaction.summary;
            }
        }
        let visible =
            path[from..].iter().filter(|entry| !entry.compaction && entry.id != self.root);
        Ok((summary, visible.map(|entry| entry.id.clone()).collect()))
    }

    /// Hides what stands before an entry, or all, behind a summary, which is that of the conversation
    /// as well.
    fn cut(&mut self, summary: &Text, first_kept: Option<&EntryId>) -> Result<()> {
        let id = UuidV7.next_id();
        let body = forkwood::Compaction {
            summary: summary.clone(),
            first_kept_entry_id: Some(first_kept.unwrap_or(&id).clone()),
            details: Some(forkwood::conversation::native::summary_details(summary)?),
            ..forkwood::Compaction::default()
        };
        let parent = self.at.clone();
        self.push(parent, Draft::new(id, body));
        Ok(())
    }
}

/// An entry of a path without its body.
struct Shown {
    id: EntryId,
    compaction: bool,
}

impl Shown {
    fn of(head: &Head) -> Shown {
        Shown { id: head.id.clone(), compaction: head.kind == EntryKind::Compaction }
    }
}

/// What stands beside the path here and may stand on it in the source.
#[derive(Default)]
struct References {
    /// For an entry beside the path: the path entry above it.
    anchors: HashMap<EntryId, Option<EntryId>>,
    /// Its parent in the source.
    parents: HashMap<EntryId, Option<EntryId>>,
    /// The path entry that follows it.
    next: HashMap<EntryId, EntryId>,
}

impl References {
    /// Takes note of an entry; gives the path entry that it hangs from.
    fn enter(&mut self, entry: &Entry) -> Option<EntryId> {
        let parent = self.path_entry(entry.parent_id.as_ref());
        if entry.body.is_sidecar() {
            self.anchors.insert(entry.id.clone(), parent.clone());
            self.parents.insert(entry.id.clone(), entry.parent_id.clone());
            return parent;
        }
        let mut beside = entry.parent_id.clone();
        while let Some(id) = beside.take().filter(|id| !self.next.contains_key(id)) {
            if let Some(above) = self.parents.get(&id) {
                beside.clone_from(above);
                self.next.insert(id, entry.id.clone());
            }
        }
        parent
    }

    /// An entry itself, or the path entry above it.
    fn path_entry(&self, id: Option<&EntryId>) -> Option<EntryId> {
        let id = id?;
        self.anchors.get(id).cloned().unwrap_or_else(|| Some(id.clone()))
    }
}

fn leaf(to: EntryId) -> Draft {
    Draft::new(UuidV7.next_id(), Body::Leaf { leaf_id: Some(to) })
}

/// A label of an entry that is not there, kept as data.
pub(crate) fn unplaced_label(label: Option<&Text>, target: Option<&EntryId>) -> Body {
    let mut data = crate::fields::Out::default();
    if let Some(label) = label {
        data.text("label", label);
    }
    if let Some(target) = target {
        data.str("targetId", target.as_str());
    }
    Body::Custom { namespace: "forkwood.label".into(), data: data.into_json(), aside: true }
}

/// A lane that is not there yet.
fn free_lane<'l>(lanes: impl Iterator<Item = &'l Lane>) -> Result<Lane> {
    let taken: HashSet<&str> = lanes.map(Lane::as_str).collect();
    let name = std::iter::once(LANE.to_owned())
        .chain((2..).map(|n| format!("{LANE}-{n}")))
        .find(|name| !taken.contains(name.as_str()));
    Ok(Lane::new(&name.unwrap_or_default())?)
}
