//! Talking with a model: lines in, events out, every step in the session before the next.

mod before;
mod cost;
mod events;
mod export;
mod help;
mod input;
mod interrupt;
mod moves;
mod screen;
mod setup;
mod slash;
mod switch;
mod turn;

use forkwood::{ErrorKind, Page, Session, Sort};
use forkwood_agent::{Agent, AgentEvent};
use tokio::sync::mpsc::UnboundedReceiver;

use crate::commands::chat::Args;
use crate::ctx::Ctx;
use crate::error::{CliError, Outcome, Result, code};
use crate::place::{self, Place};
use crate::{output, style, target};

use input::{Line, Reader};
use interrupt::Interrupts;
use screen::Screen;
use setup::Setup;
use slash::Command;

/// What providers run on. The rest of the program needs no such thing.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| {
        CliError::new(ErrorKind::Io, format!("cannot start what asks models: {error}"))
    })
}

/// A conversation that goes on.
struct Chat {
    agent: Agent,
    setup: Setup,
    events: UnboundedReceiver<AgentEvent>,
    interrupts: Interrupts,
    screen: Screen,
    /// Whether the model of the arguments is still to be set in the session.
    to_set: bool,
}

/// Whether the conversation goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    GoOn,
    /// It does, and the last answer was stopped.
    Stopped,
    Quit,
}

pub(crate) async fn run(ctx: &mut Ctx, args: Args) -> Result<Outcome> {
    let existing = existing(ctx, &args).await?;
    if existing.is_none() && (ctx.globals.dir.is_some() || ctx.globals.from.is_some()) {
        return Err(CliError::usage(
            "new sessions are made in a store: name a session, or use --store",
        ));
    }
    let mut setup = Setup::new(ctx, &args, existing.as_ref()).await?;
    let terminal = input::is_terminal(ctx);
    let mut interrupts = Some(Interrupts::new()?);
    let mut chat = match existing {
        Some(session) => {
            let chat = Chat::open(ctx, setup.clone(), session, &mut interrupts).await?;
            chat.greet(ctx, false).await?;
            Some(chat)
        }
        None => None,
    };
    if terminal {
        ctx.out.aside(style::DIM, "/help tells the commands, /quit ends the chat");
    }
    let mut reader = Reader::start(terminal)?;
    let mut stopped = false;
    loop {
        let waiting = match (&mut chat, &mut interrupts) {
            (Some(chat), _) => &mut chat.interrupts,
            (None, Some(own)) => own,
            (None, None) => return Err(stopped_error()),
        };
        let line = tokio::select! {
            line = reader.next() => line,
            () = waiting.next() => return Err(stopped_error()),
        };
        let line = match line {
            Ok(line) => line,
            Err(error) => {
                if ctx.json() {
                    events::error(ctx, &error)?;
                }
                return Err(error);
            }
        };
        let text = match line {
            Line::End => break,
            Line::Interrupted => {
                ctx.out.aside(style::DIM, "/quit or Ctrl-D ends the chat");
                continue;
            }
            Line::Garbled => {
                ctx.out.note("what was typed is not UTF-8; the line was left out");
                continue;
            }
            Line::Text(text) if text.trim().is_empty() => continue,
            Line::Text(text) => text,
        };
        let done = said(ctx, &mut setup, &mut chat, &mut interrupts, &text).await;
        ctx.out.flush()?;
        match done {
            Ok(Next::Quit) => break,
            Ok(next) => stopped = next == Next::Stopped,
            // Somebody is there to try something else.
            Err(error) if terminal && error.kind != "broken_pipe" => {
                output::report(&error, ctx.globals.color, false);
            }
            Err(error) => {
                if ctx.json() && error.kind != "broken_pipe" {
                    events::error(ctx, &error)?;
                }
                return Err(error);
            }
        }
    }
    if terminal && let Some(chat) = &chat {
        let id = chat.agent.session().id().to_string();
        ctx.out.aside(style::DIM, format!("`forkwood chat {id}` goes on with it"));
    }
    if stopped { Err(stopped_error()) } else { Ok(Outcome::Done) }
}

/// Does what a line says. The session is made when something is said.
async fn said(
    ctx: &mut Ctx,
    setup: &mut Setup,
    chat: &mut Option<Chat>,
    interrupts: &mut Option<Interrupts>,
    text: &str,
) -> Result<Next> {
    let command = slash::parse(text)?;
    match &command {
        Command::Quit => return Ok(Next::Quit),
        Command::Help => return help::show(ctx).map(|()| Next::GoOn),
        _ => {}
    }
    let chat = match chat {
        Some(chat) => chat,
        None => {
            let (session, new) = match &command {
                Command::Say(_) => {
                    let options = forkwood::CreateOptions::default();
                    (place::own_store(ctx)?.create(options).await?, true)
                }
                Command::Resume(Some(query)) => (target::open(ctx, query).await?, false),
                _ => return before::run(ctx, setup, &command).await.map(|()| Next::GoOn),
            };
            let opened = Chat::open(ctx, setup.clone(), session, interrupts).await?;
            opened.greet(ctx, new).await?;
            let opened = chat.insert(opened);
            if !new {
                return Ok(Next::GoOn);
            }
            opened
        }
    };
    chat.run(ctx, command).await
}

/// The session that the arguments name.
async fn existing(ctx: &Ctx, args: &Args) -> Result<Option<Session>> {
    if let Some(query) = &args.session {
        return target::open(ctx, query).await.map(Some);
    }
    if !args.newest {
        return Ok(None);
    }
    let place = Place::of(ctx)?;
    let store = place.open(ctx, true, true)?;
    let page = Page { limit: 1, sort: Sort::Activity, ..Page::default() };
    let newest = store.list(page).await?.rows.into_iter().next();
    let Some(newest) = newest else {
        let message = format!("there is no session in {} to continue", place.shown());
        return Err(CliError::new(ErrorKind::NotFound, message)
            .hint("without --continue a new one is made"));
    };
    Ok(Some(store.open(newest.id.as_str()).await?))
}

impl Chat {
    async fn open(
        ctx: &Ctx,
        setup: Setup,
        session: Session,
        interrupts: &mut Option<Interrupts>,
    ) -> Result<Chat> {
        let (agent, events) = setup.agent(ctx, session).await?;
        let interrupts = match interrupts.take() {
            Some(interrupts) => interrupts,
            None => Interrupts::new()?,
        };
        let screen = Screen::default();
        Ok(Chat { agent, setup, events, interrupts, screen, to_set: true })
    }

    /// Works in another session from now on.
    async fn change(&mut self, ctx: &mut Ctx, session: Session, new: bool) -> Result {
        let (agent, events) = self.setup.agent(ctx, session).await?;
        self.agent = agent;
        self.events = events;
        self.greet(ctx, new).await
    }

    /// Tells which session this is, and what waits in it.
    async fn greet(&self, ctx: &mut Ctx, new: bool) -> Result {
        events::session(ctx, self.agent.session(), new)?;
        if self.agent.is_at_work().await? {
            ctx.out.note(
                "an agent is at work in this session, in another process: until it has ended \
                 nothing can be said here; /fork goes on elsewhere",
            );
            return Ok(());
        }
        let open = self.agent.open_operations().await?;
        if open.iter().any(|open| open.on_path && open.kind == "run") {
            ctx.out.note("the last run was interrupted; /resume goes on with it");
        } else if open.iter().any(|open| open.on_path && open.kind != "tool") {
            ctx.out.note("a summary was interrupted, and nothing of it is kept; ask for it again");
        }
        Ok(())
    }
}

/// The person stopped what went on.
fn stopped_error() -> CliError {
    CliError {
        kind: "interrupted",
        code: code::INTERRUPTED,
        ..CliError::new(ErrorKind::Io, "stopped; what was done is kept")
    }
}
