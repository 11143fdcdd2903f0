//! What a format cannot hold, told entry by entry.

use std::borrow::Cow;
use std::collections::BTreeMap;

use forkwood::EntryId;
use forkwood::core::json::ObjectWriter;

/// What was lost, or stands in another form than it had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum What {
    /// The tools that were offered from an entry on.
    ActiveTools,
    /// A block of a message that the format has no form for.
    Block,
    /// Branches besides the one that was written.
    Branch,
    /// What happened on a branch that was left.
    BranchSummary,
    /// A compaction, or what it hid.
    Compaction,
    /// An edit of what the context shows of an earlier entry.
    ContextEdit,
    /// Data of an extension, or an entry of a type that is not known.
    Custom,
    /// A message of an extension.
    CustomMessage,
    /// A field of a message: a stop reason, whether a tool failed, and so on.
    Field,
    /// The id of a session, an entry or a call.
    Id,
    /// The bytes of an image.
    Image,
    /// A bookmark.
    Label,
    /// The name of a lane, or where it stands.
    Lane,
    /// Data about the session.
    Metadata,
    /// A change of the model, or which one spoke.
    Model,
    /// What was in flight.
    Operation,
    /// Where the session stands.
    Pointer,
    /// A secret, or a home folder, that was to be taken out.
    Redacted,
    /// Who speaks.
    Role,
    /// The bounds of a message: it is several, or several are one.
    Shape,
    /// The session of a sub-agent.
    Subagent,
    /// Characters that the format's owner cannot read.
    Text,
    /// What the model thought.
    Thinking,
    /// A change of how much the model thinks.
    ThinkingLevel,
    /// When something was said.
    Time,
    /// The title of the session.
    Title,
    /// Tokens and cost.
    Usage,
}

impl What {
    /// The stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            What::ActiveTools => "active_tools",
            What::Block => "block",
            What::Branch => "branch",
            What::BranchSummary => "branch_summary",
            What::Compaction => "compaction",
            What::ContextEdit => "context_edit",
            What::Custom => "custom",
            What::CustomMessage => "custom_message",
            What::Field => "field",
            What::Id => "id",
            What::Image => "image",
            What::Label => "label",
            What::Lane => "lane",
            What::Metadata => "metadata",
            What::Model => "model",
            What::Operation => "operation",
            What::Pointer => "pointer",
            What::Redacted => "redacted",
            What::Role => "role",
            What::Shape => "shape",
            What::Subagent => "subagent",
            What::Text => "text",
            What::Thinking => "thinking",
            What::ThinkingLevel => "thinking_level",
            What::Time => "time",
            What::Title => "title",
            What::Usage => "usage",
        }
    }
}

/// One reason, and all entries that it holds for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// What was lost.
    pub what: What,
    /// Why, for people.
    pub why: String,
    /// How often.
    pub count: u64,
    /// The entries, each once, in order. Empty where it is about the session as a whole.
    pub entries: Vec<EntryId>,
}

/// What a format could not hold of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LossReport {
    losses: BTreeMap<(What, Cow<'static, str>), (u64, Vec<EntryId>)>,
}

impl LossReport {
    /// Notes a loss of an entry.
    pub fn entry(&mut self, what: What, entry: &EntryId, why: impl Into<Cow<'static, str>>) {
        let (count, entries) = self.losses.entry((what, why.into())).or_default();
        *count += 1;
        if entries.last() != Some(entry) {
            entries.push(entry.clone());
        }
    }

    /// Notes a loss of the session as a whole.
    pub fn session(&mut self, what: What, count: u64, why: impl Into<Cow<'static, str>>) {
        if count > 0 {
            self.losses.entry((what, why.into())).or_default().0 += count;
        }
    }

    /// Takes in another report.
    pub fn merge(&mut self, other: LossReport) {
        for (key, (count, entries)) in other.losses {
            let known = self.losses.entry(key).or_default();
            known.0 += count;
            known.1.extend(entries);
        }
    }

    /// Everything that was lost, by what and why.
    pub fn losses(&self) -> impl Iterator<Item = Loss> + '_ {
        self.losses.iter().map(|((what, why), (count, entries))| Loss {
            what: *what,
            why: why.clone().into_owned(),
            count: *count,
            entries: entries.clone(),
        })
    }

    /// Whether something of a kind was lost.
    pub fn names(&self, what: What) -> bool {
        self.losses.keys().any(|(known, _)| *known == what)
    }

    /// Whether an entry lost something of a kind.
    pub fn names_entry(&self, what: What, entry: &EntryId) -> bool {
        self.losses
            .iter()
            .any(|((known, _), (_, entries))| *known == what && entries.contains(entry))
    }

    /// Whether nothing was lost.
    pub fn is_empty(&self) -> bool {
        self.losses.is_empty()
    }

    /// How often something of each kind was lost.
    pub fn counts(&self) -> BTreeMap<&'static str, u64> {
        let mut counts = BTreeMap::new();
        for ((what, _), (count, _)) in &self.losses {
            *counts.entry(what.as_str()).or_default() += count;
        }
        counts
    }

    /// The report as JSON: `counts`, and `losses` with `what`, `why`, `count` and `entryIds`.
    pub fn to_json(&self) -> String {
        let mut counts = ObjectWriter::new();
        for (what, count) in self.counts() {
            counts.raw(what, &count.to_string());
        }
        let losses = self.losses().map(|loss| {
            let mut out = ObjectWriter::new();
            let ids = loss.entries.iter().map(|id| forkwood::Text::from(id.as_str()).to_json());
            out.str("what", loss.what.as_str())
                .str("why", &loss.why)
                .raw("count", &loss.count.to_string())
                .array("entryIds", ids);
            out.finish()
        });
        let mut out = ObjectWriter::new();
        out.raw("counts", &counts.finish()).array("losses", losses);
        out.finish()
    }
}
