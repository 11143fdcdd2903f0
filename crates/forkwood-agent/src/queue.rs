//! What people say while an agent works, and how they stop it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use forkwood::Message;
use tokio_util::sync::CancellationToken;

/// How many waiting messages are delivered at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Delivery {
    /// One before each turn.
    #[default]
    One,
    /// All.
    All,
}

#[derive(Debug, Default)]
struct State {
    steering: VecDeque<Message>,
    follow_up: VecDeque<Message>,
    cancel: CancellationToken,
}

/// A handle on an agent at work. It can be cloned and sent to other tasks.
#[derive(Clone, Debug, Default)]
pub struct Handle(Arc<Mutex<State>>);

impl Handle {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says something that the model is to see before its next turn, after the tools that run.
    pub fn steer(&self, message: impl Into<UserInput>) {
        self.state().steering.push_back(message.into().0);
    }

    /// Says something for when the agent would otherwise be done.
    pub fn follow_up(&self, message: impl Into<UserInput>) {
        self.state().follow_up.push_back(message.into().0);
    }

    /// Stops the run that goes on, and keeps what is done. Where none goes on, nothing happens.
    pub fn cancel(&self) {
        let cancel = self.state().cancel.clone();
        cancel.cancel();
    }

    /// How many messages wait.
    pub fn waiting(&self) -> usize {
        let state = self.state();
        state.steering.len() + state.follow_up.len()
    }

    /// Takes all that waits, steering first.
    pub fn take_waiting(&self) -> Vec<Message> {
        let mut state = self.state();
        let State { steering, follow_up, .. } = &mut *state;
        steering.drain(..).chain(follow_up.drain(..)).collect()
    }

    /// A run begins: earlier cancellations are over.
    pub(crate) fn begin(&self, parent: Option<&CancellationToken>) -> CancellationToken {
        let fresh = parent.map_or_else(CancellationToken::new, CancellationToken::child_token);
        self.state().cancel = fresh.clone();
        fresh
    }

    pub(crate) fn next_steering(&self, delivery: Delivery) -> Vec<Message> {
        take(&mut self.state().steering, delivery)
    }

    pub(crate) fn next_follow_up(&self, delivery: Delivery) -> Vec<Message> {
        take(&mut self.state().follow_up, delivery)
    }
}

fn take(queue: &mut VecDeque<Message>, delivery: Delivery) -> Vec<Message> {
    let count = match delivery {
        Delivery::One => queue.len().min(1),
        Delivery::All => queue.len(),
    };
    queue.drain(..count).collect()
}

/// What a person says: text, or a whole user message.
#[derive(Clone, Debug, PartialEq)]
pub struct UserInput(pub Message);

impl From<&str> for UserInput {
    fn from(text: &str) -> UserInput {
        UserInput(Message::user(text))
    }
}

impl From<String> for UserInput {
    fn from(text: String) -> UserInput {
        UserInput(Message::user(text))
    }
}

impl From<Message> for UserInput {
    fn from(message: Message) -> UserInput {
        UserInput(message)
    }
}
