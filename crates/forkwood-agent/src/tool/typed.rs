//! Tools out of functions.

use std::fmt;
use std::marker::PhantomData;
use std::pin::Pin;

use async_trait::async_trait;
use forkwood::Json;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::{Replay, Tool, ToolFailure, ToolOutput, ToolRun};
use forkwood_context::ToolSpec;

type Answer = Pin<Box<dyn Future<Output = Result<ToolOutput, ToolFailure>> + Send>>;
type Body<A> = Box<dyn Fn(A, ToolRun) -> Answer + Send + Sync>;

/// The schema of a type of arguments, as models are told it.
pub fn schema_of<A: JsonSchema>() -> Json {
    let mut schema = schemars::schema_for!(A);
    schema.remove("$schema");
    schema.remove("title");
    schema.remove("description");
    if schema.get("properties").is_none() {
        schema.insert("properties".to_owned(), serde_json::json!({}));
    }
    Json::from_value(&schema).unwrap_or_else(|_| Json::empty_object())
}

/// Reads the arguments of a call.
///
/// # Errors
/// What is wrong with them, in words for the model.
pub fn arguments<A: DeserializeOwned>(run: &ToolRun) -> Result<A, ToolFailure> {
    let json = run.call.arguments.get();
    // A call without arguments may come as null.
    let json = if json.trim() == "null" { "{}" } else { json };
    serde_json::from_str(json).map_err(|error| {
        ToolFailure(format!(
            "the arguments of {} are not as its schema says: {error}",
            run.call.name
        ))
    })
}

/// A tool whose arguments are a type, and whose body is a function.
pub struct FnTool<A> {
    spec: ToolSpec,
    replay: Replay,
    parallel: bool,
    body: Body<A>,
    arguments: PhantomData<fn(A)>,
}

impl<A> fmt::Debug for FnTool<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FnTool").field("name", &self.spec.name).finish_non_exhaustive()
    }
}

impl<A: DeserializeOwned + JsonSchema + Send + 'static> FnTool<A> {
    /// A tool. The descriptions in the schema are the doc comments of the fields of `A`.
    pub fn new<F, R>(name: &str, description: &str, body: F) -> FnTool<A>
    where
        F: Fn(A, ToolRun) -> R + Send + Sync + 'static,
        R: Future<Output = Result<ToolOutput, ToolFailure>> + Send + 'static,
    {
        FnTool {
            spec: ToolSpec {
                name: name.into(),
                description: description.into(),
                schema: schema_of::<A>(),
            },
            replay: Replay::Never,
            parallel: false,
            body: Box::new(move |arguments, run| Box::pin(body(arguments, run))),
            arguments: PhantomData,
        }
    }

    /// Whether an interrupted call may run again.
    #[must_use]
    pub fn replay(mut self, replay: Replay) -> FnTool<A> {
        self.replay = replay;
        self
    }

    /// Calls may run at the same time as others.
    #[must_use]
    pub fn parallel(mut self) -> FnTool<A> {
        self.parallel = true;
        self
    }
}

#[async_trait]
impl<A: DeserializeOwned + JsonSchema + Send + 'static> Tool for FnTool<A> {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn replay(&self) -> Replay {
        self.replay
    }

    fn parallel(&self) -> bool {
        self.parallel
    }

    async fn call(&self, run: ToolRun) -> Result<ToolOutput, ToolFailure> {
        let arguments = arguments(&run)?;
        (self.body)(arguments, run).await
    }
}
