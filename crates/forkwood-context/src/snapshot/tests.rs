use forkwood_core::{Json, Message, Settings};

use super::{Resource, ToolSpec, TurnSnapshot};
use crate::View;

fn tool(name: &str) -> ToolSpec {
    ToolSpec { name: name.into(), description: "".into(), schema: Json::empty_object() }
}

#[test]
fn what_is_frozen_stays_and_the_rest_is_live() {
    let resources = vec![Resource { name: "AGENTS.md".into(), text: "Be kind.".into() }];
    let snapshot = TurnSnapshot::new("You help.", vec![tool("read"), tool("bash")], resources);
    let mut view = View::new(vec![Message::user("one")], Vec::new());
    let mut settings = Settings { model: Some("a".into()), ..Settings::default() };
    let first = snapshot.provider_input(&view, &settings);
    // The session goes on: a message, another model, fewer tools.
    view.messages.push(Message::assistant("two"));
    settings.model = Some("b".into());
    settings.thinking_level = Some("high".into());
    settings.active_tool_names = Some(vec!["bash".into(), "gone".into()]);
    let second = snapshot.provider_input(&view, &settings);
    assert_eq!(first.system, second.system);
    assert_eq!(second.system, "You help.\n\n<resource name=\"AGENTS.md\">\nBe kind.\n</resource>");
    assert_eq!((first.view.len(), second.view.len()), (1, 2));
    assert_eq!((first.model.unwrap(), second.model.unwrap()), ("a".into(), "b".into()));
    assert_eq!(second.thinking_level.unwrap(), "high");
    assert_eq!((first.tools.len(), second.tools.len()), (2, 1));
    assert_eq!(second.tools[0].name, "bash");
}

#[test]
fn nothing_stands_in_front_of_the_first_resource() {
    let resource = |name: &str| Resource { name: name.into(), text: name.into() };
    let snapshot = TurnSnapshot::new("", Vec::new(), vec![resource("a"), resource("b")]);
    assert_eq!(
        snapshot.system(),
        "<resource name=\"a\">\na\n</resource>\n\n<resource name=\"b\">\nb\n</resource>"
    );
    assert!(TurnSnapshot::default().system().is_empty());
}
