//! Asking for the summary of a plan.

use forkwood_core::{Json, Text};

use super::serialise::Transcript;
use super::{Plan, PromptStyle, Purpose, Summariser, SummaryRequest, extract_summary};
use crate::estimate::add_usage;
use crate::text::{head, units};
use crate::{Error, Result};

/// How summaries are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SummaryOptions {
    /// The words.
    pub style: PromptStyle,
    /// The most tokens of a summary. That of the start of a turn gets five eighths of it, as
    /// with Pi.
    pub max_tokens: u32,
    /// The most characters of conversation in one request. A longer one is summed up piece by
    /// piece, each with the summary so far.
    pub max_chars: usize,
}

impl Default for SummaryOptions {
    fn default() -> SummaryOptions {
        // Pi: 0.8 of a reserve of 16,384.
        SummaryOptions { style: PromptStyle::default(), max_tokens: 13_107, max_chars: 240_000 }
    }
}

/// A summary, and what it took.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// The text, lists of files included.
    pub text: Text,
    /// The sum of what the requests took.
    pub usage: Option<Json>,
    /// The model that wrote it.
    pub model: Option<Text>,
    /// Its provider.
    pub provider: Option<Text>,
}

/// What stands between the summary of the conversation and that of the start of a turn (Pi).
const SPLIT: &str = "\n\n---\n\n**Turn Context (split turn):**\n\n";

/// What stands for the conversation before a turn that is the first (Pi).
const NO_HISTORY: &str = "No prior history.";

/// Asks for what a plan needs: one request, or more where the conversation is long or a turn is
/// split.
///
/// # Errors
/// `summary_failed`, `empty_summary`.
pub async fn summarise(
    plan: &Plan,
    options: &SummaryOptions,
    instructions: Option<&Text>,
    summariser: &dyn Summariser,
) -> Result<Summary> {
    let instructions = instructions.map(|text| text.to_string_lossy().into_owned());
    let previous = plan.previous_summary.as_ref().map(|text| text.to_string_lossy().into_owned());
    let mut asking = Asking { options, summariser, summary: Summary::default() };
    let transcript = options.style.transcript();
    let mut text = previous.clone();
    for chunk in chunks(transcript, &plan.to_summarise, options.max_chars) {
        let prompt = options.style.compaction(&chunk, text.as_deref(), instructions.as_deref());
        text = Some(asking.ask(Purpose::Compaction, prompt, options.max_tokens).await?);
    }
    let mut prefix = None;
    let start = Transcript::Parts { thinking: false };
    for chunk in chunks(start, &plan.turn_prefix, options.max_chars) {
        let prompt = options.style.turn_prefix(&chunk, prefix.as_deref());
        let most = options.max_tokens / 8 * 5;
        prefix = Some(asking.ask(Purpose::TurnPrefix, prompt, most).await?);
    }
    let text = match (text, prefix) {
        (Some(text), None) => text,
        (text, Some(prefix)) => {
            format!("{}{SPLIT}{prefix}", text.as_deref().unwrap_or(NO_HISTORY))
        }
        (None, None) => return Err(Error::NothingToCompact),
    };
    asking.summary.text = format!("{text}{}", plan.files.section()).into();
    Ok(asking.summary)
}

/// Requests for one summary, and what they took so far.
struct Asking<'a> {
    options: &'a SummaryOptions,
    summariser: &'a dyn Summariser,
    summary: Summary,
}

impl Asking<'_> {
    async fn ask(&mut self, purpose: Purpose, prompt: String, max_tokens: u32) -> Result<String> {
        let request = SummaryRequest {
            purpose,
            system: self.options.style.system().into(),
            prompt: prompt.into(),
            max_tokens,
        };
        let reply = self.summariser.summarise(request).await?;
        self.summary.usage = add_usage(self.summary.usage.take(), reply.usage);
        self.summary.model = reply.model.or(self.summary.model.take());
        self.summary.provider = reply.provider.or(self.summary.provider.take());
        let text = extract_summary(&reply.text).to_string_lossy().into_owned();
        if text.is_empty() { Err(Error::EmptySummary) } else { Ok(text) }
    }
}

/// A conversation as texts of at most so many characters, cut between messages where that can
/// be. None where it says nothing.
fn chunks(
    transcript: Transcript,
    messages: &[forkwood_core::Message],
    max_chars: usize,
) -> Vec<String> {
    let max = max_chars.max(1_000);
    let mut out: Vec<String> = Vec::new();
    let mut room = 0;
    for piece in transcript.pieces(messages) {
        let mut rest = piece.as_str();
        while !rest.is_empty() {
            // One message that is longer than a request goes into several.
            let part = head(rest, max);
            rest = &rest[part.len()..];
            let size = units(part.as_bytes()) + transcript.separator().len();
            match out.last_mut() {
                Some(last) if size <= room => {
                    last.push_str(transcript.separator());
                    last.push_str(part);
                    room -= size;
                }
                _ => {
                    out.push(part.to_owned());
                    room = max.saturating_sub(size);
                }
            }
        }
    }
    out
}
