//! A provider that answers by rules: for tests, and for trying things out without a key.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use forkwood::{Json, Message, Role};
use futures_util::stream;

use super::{
    Event, EventStream, Provider, ProviderError, ProviderErrorKind, Request, StopReason, ToolCall,
    Usage,
};

type Predicate = Arc<dyn Fn(&Request) -> bool + Send + Sync>;
type Action = Arc<dyn Fn() + Send + Sync>;

/// One step of an answer.
#[derive(Clone)]
pub enum Step {
    /// Something comes in.
    Event(Event),
    /// The provider fails.
    Fail(ProviderError),
    /// Nothing comes in any more, and the connection stays.
    Stall,
    /// The connection ends, and the answer has no end.
    BreakOff,
    /// Something happens, such as a person cancelling.
    Do(Action),
}

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Event(event) => event.fmt(f),
            Step::Fail(error) => write!(f, "Fail({error})"),
            Step::Stall => f.write_str("Stall"),
            Step::BreakOff => f.write_str("BreakOff"),
            Step::Do(_) => f.write_str("Do(..)"),
        }
    }
}

/// When to answer, and what. The first rule that fits and is not used up counts.
#[derive(Clone)]
pub struct Rule {
    when: Predicate,
    turn: Option<usize>,
    steps: Vec<Step>,
    left: Option<usize>,
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rule").field("steps", &self.steps).finish_non_exhaustive()
    }
}

impl Rule {
    /// For requests of which something holds.
    pub fn when(predicate: impl Fn(&Request) -> bool + Send + Sync + 'static) -> Rule {
        Rule { when: Arc::new(predicate), turn: None, steps: Vec::new(), left: None }
    }

    /// For every request.
    pub fn always() -> Rule {
        Rule::when(|_| true)
    }

    /// For the n-th request to the provider, from 0 on.
    pub fn on_turn(turn: usize) -> Rule {
        Rule { turn: Some(turn), ..Rule::always() }
    }

    /// Where the last thing said is this, by the user.
    pub fn on_text(text: &str) -> Rule {
        let text = text.to_owned();
        Rule::when(move |request| {
            let last = request.input.view.messages.last();
            last.is_some_and(|message| {
                message.role == Role::User && message.content.text() == *text.as_str()
            })
        })
    }

    /// Where the last messages are results of tools, and this call is the last of them.
    pub fn on_result(call: &str) -> Rule {
        let call = call.to_owned();
        Rule::when(move |request| {
            let last = request.input.view.messages.last();
            last.and_then(|message| message.tool_call_id.as_ref())
                .is_some_and(|id| *id == *call.as_str())
        })
    }

    /// Only so many times.
    #[must_use]
    pub fn times(mut self, times: usize) -> Rule {
        self.left = Some(times);
        self
    }

    /// Adds a step.
    #[must_use]
    pub fn step(mut self, step: Step) -> Rule {
        self.steps.push(step);
        self
    }

    /// Says something.
    #[must_use]
    pub fn says(self, text: impl Into<String>) -> Rule {
        self.step(Step::Event(Event::Text(text.into())))
    }

    /// Thinks something.
    #[must_use]
    pub fn thinks(self, text: impl Into<String>) -> Rule {
        self.step(Step::Event(Event::Thinking(text.into())))
    }

    /// Calls a tool.
    #[must_use]
    pub fn calls(self, id: &str, tool: &str, arguments: &serde_json::Value) -> Rule {
        let arguments = Json::from_value(arguments).unwrap_or_else(|_| Json::empty_object());
        self.step(Step::Event(Event::ToolCall(ToolCall::new(id, tool, arguments))))
    }

    /// Reports what it cost.
    #[must_use]
    pub fn costs(self, usage: Usage) -> Rule {
        self.step(Step::Event(Event::Usage(usage)))
    }

    /// Stops for a reason. Without this an answer ends as its content says.
    #[must_use]
    pub fn stops(self, reason: StopReason) -> Rule {
        self.step(Step::Event(Event::Stop(reason)))
    }

    /// Fails.
    #[must_use]
    pub fn fails(self, kind: ProviderErrorKind, message: &str) -> Rule {
        self.step(Step::Fail(ProviderError::new(kind, message)))
    }

    /// Lets something happen.
    #[must_use]
    pub fn does(self, action: impl Fn() + Send + Sync + 'static) -> Rule {
        self.step(Step::Do(Arc::new(action)))
    }
}

/// A provider that answers by rules.
#[derive(Debug)]
pub struct ScriptedProvider {
    name: String,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    rules: Vec<Rule>,
    requests: Vec<Request>,
    turn: usize,
    keep: bool,
}

impl ScriptedProvider {
    /// A provider called `scripted`.
    pub fn new(rules: impl IntoIterator<Item = Rule>) -> ScriptedProvider {
        ScriptedProvider::named("scripted", rules)
    }

    /// One of another name.
    pub fn named(name: &str, rules: impl IntoIterator<Item = Rule>) -> ScriptedProvider {
        let state = State { rules: rules.into_iter().collect(), keep: true, ..State::default() };
        ScriptedProvider { name: name.to_owned(), state: Mutex::new(state) }
    }

    /// One that answers these texts, one after the other.
    pub fn saying(texts: &[&str]) -> ScriptedProvider {
        let rules = texts.iter().enumerate().map(|(turn, text)| Rule::on_turn(turn).says(*text));
        ScriptedProvider::new(rules.collect::<Vec<_>>())
    }

    /// One to try things out with: it says what it was told, and calls a tool where it is told
    /// `call TOOL {"its": "arguments"}`.
    pub fn demo() -> ScriptedProvider {
        let provider = ScriptedProvider::new([]);
        provider.state().keep = false;
        provider
    }

    /// The same, but requests are not kept for [`ScriptedProvider::requests`].
    #[must_use]
    pub fn forgetful(self) -> ScriptedProvider {
        self.state().keep = false;
        self
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The requests so far.
    pub fn requests(&self) -> Vec<Request> {
        self.state().requests.clone()
    }

    fn steps(&self, request: &Request) -> Vec<Step> {
        let mut state = self.state();
        let turn = state.turn;
        state.turn += 1;
        if state.keep {
            state.requests.push(request.clone());
        }
        let rule = state.rules.iter_mut().find(|rule| {
            rule.left != Some(0)
                && rule.turn.is_none_or(|wanted| wanted == turn)
                && (rule.when)(request)
        });
        let Some(rule) = rule else { return demo_steps(request, turn) };
        if let Some(left) = &mut rule.left {
            *left -= 1;
        }
        rule.steps.clone()
    }
}

/// What is said where no rule fits.
fn demo_steps(request: &Request, turn: usize) -> Vec<Step> {
    let said = request.input.view.messages.last();
    let text = said.map(|message| message.content.text().to_string()).unwrap_or_default();
    let by_tool = said.is_some_and(|message: &Message| message.role == Role::Tool);
    let call = text.trim().strip_prefix("call ").filter(|_| !by_tool).map(|rest| {
        let (tool, arguments) = rest.trim().split_once(' ').unwrap_or((rest.trim(), "{}"));
        (tool.to_owned(), arguments.trim().to_owned())
    });
    if let Some((tool, arguments)) = call
        && let Ok(arguments) = Json::parse(&arguments)
    {
        let id = format!("scripted_{}_{turn}", request.input.view.messages.len());
        return vec![Step::Event(Event::ToolCall(ToolCall::new(id, tool, arguments)))];
    }
    let answer = match by_tool {
        true => format!("The tool says: {text}"),
        false => format!("You said: {text}"),
    };
    let words = answer.split_inclusive(' ').map(|word| Step::Event(Event::Text(word.to_owned())));
    let mut steps: Vec<Step> = words.collect();
    steps.push(Step::Event(Event::Usage(Usage::new(
        request.input.view.messages.iter().map(|m| m.content.text().len() as u64 / 4).sum(),
        answer.len() as u64 / 4,
    ))));
    steps
}

#[async_trait]
impl Provider for ScriptedProvider {
    fn name(&self) -> &str {
        &self.name
    }

    async fn stream(&self, request: Request) -> Result<EventStream, ProviderError> {
        let mut steps: VecDeque<Step> = self.steps(&request).into();
        let is_call = |step: &Step| matches!(step, Step::Event(Event::ToolCall(_)));
        let calls = steps.iter().any(is_call);
        let ends = steps.iter().any(|step| {
            matches!(
                step,
                Step::Event(Event::Stop(_)) | Step::Fail(_) | Step::Stall | Step::BreakOff
            )
        });
        if !ends {
            let reason = if calls { StopReason::ToolUse } else { StopReason::Stop };
            steps.push_back(Step::Event(Event::Stop(reason)));
        }
        Ok(Box::pin(stream::unfold(steps, |mut steps| async move {
            loop {
                // Others may do something meanwhile, as with a real one.
                tokio::task::yield_now().await;
                match steps.pop_front()? {
                    Step::Event(event) => return Some((Ok(event), steps)),
                    Step::Fail(error) => return Some((Err(error), steps)),
                    Step::Stall => std::future::pending::<()>().await,
                    Step::BreakOff => return None,
                    Step::Do(action) => action(),
                }
            }
        })))
    }
}
