//! A database that opencode wrote, with what opencode itself exports of it.

use forkwood::{Block, Body, Content, Role};
use forkwood_formats::import::Outcome;
use rusqlite::Connection;
use serde_json::Value;

use crate::world::{copied, fixture, made, open, outcomes, store, take};

const SESSION: &str = "ses_0000000000001AbCdEfGhIjKlM";
const AGENT: &str = "ses_0000000000002AbCdEfGhIjKlM";

#[test]
fn a_session_holds_what_opencode_exports() {
    let (_folder, path) = copied("opencode/opencode.db");
    let store = store();
    let reports = take(&store, &path);
    assert_eq!(outcomes(&reports), [Outcome::New; 2], "{reports:?}");
    assert!(reports.iter().all(|report| report.findings.is_empty()), "{reports:?}");
    let text = std::fs::read_to_string(fixture("opencode/expected.json")).unwrap();
    let expected: Value = serde_json::from_str(&text).unwrap();
    let expected = &expected[SESSION];
    let session = open(&store, SESSION);
    assert_eq!(session.title().unwrap(), &expected["info"]["title"].as_str().unwrap());
    let path = pollster::block_on(session.current_path()).unwrap();
    for message in expected["messages"].as_array().unwrap() {
        let id = message["info"]["id"].as_str().unwrap();
        let entry = path.iter().find(|entry| entry.id.as_str() == id).unwrap();
        let millis = message["info"]["time"]["created"].as_i64().unwrap();
        assert_eq!(entry.timestamp.unwrap().as_millis(), millis);
        let parts = message["parts"].as_array().unwrap();
        let texts: Vec<&str> = parts
            .iter()
            .filter(|part| part["type"] == "text")
            .map(|part| part["text"].as_str().unwrap())
            .collect();
        match &entry.body {
            Body::Message(body) => {
                assert_eq!(body.message.content.text(), texts.join("\n").as_str());
                let calls: Vec<String> =
                    body.message.content.tool_calls().map(|(id, _, _)| id.to_string()).collect();
                let tools: Vec<&str> =
                    parts.iter().filter_map(|part| part["callID"].as_str()).collect();
                assert_eq!(calls, tools);
            }
            Body::Compaction(compaction) => {
                assert_eq!(compaction.summary, texts.join("\n").as_str());
            }
            body => assert_eq!(parts[0]["type"], "compaction", "{body:?}"),
        }
    }
}

#[test]
fn the_model_sees_what_opencode_would_send() {
    let (_folder, path) = copied("opencode/opencode.db");
    let store = store();
    take(&store, &path);
    let session = open(&store, SESSION);
    let context = pollster::block_on(session.context()).unwrap();
    let said: Vec<String> =
        context.messages().iter().map(|message| message.content.text().to_string()).collect();
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[0].contains("They asked for the weather: sunny."), "{said:?}");
    assert_eq!(said[1], "And tomorrow?");
    // Before the compaction.
    let at = "msg_0000000000003AbCdEfGhIjKl1".into();
    let before = pollster::block_on(session.context_at(&at)).unwrap();
    let roles: Vec<Role> = before.messages().iter().map(|m| m.role.clone()).collect();
    assert_eq!(roles, [Role::User, Role::Assistant, Role::Tool, Role::Tool, Role::Assistant]);
    let answer = &before.messages()[1];
    assert_eq!(answer.model, Some("claude-x".into()));
    let usage = answer.usage.as_ref().unwrap().get();
    assert!(usage.contains(r#""output":25"#) && usage.contains(r#""total":0.0125"#), "{usage}");
    let Content::Blocks(blocks) = &answer.content else { panic!("{answer:?}") };
    assert!(matches!(&blocks[0], Block::Thinking { signature: Some(s), .. } if *s == "c2ln"));
    assert_eq!(before.messages()[3].is_error, Some(true));
    let Content::Blocks(blocks) = &before.messages()[0].content else { panic!() };
    assert!(matches!(&blocks[1], Block::Image(_)));
}

#[test]
fn sub_agents_lie_under_their_parents() {
    let (_folder, path) = copied("opencode/opencode.db");
    let store = store();
    take(&store, &path);
    let parent = forkwood::SessionId::new(SESSION).unwrap();
    let below = pollster::block_on(store.subagents(&parent)).unwrap();
    assert_eq!(below.rows.len(), 1);
    assert_eq!(below.rows[0].shown_id, AGENT);
}

#[test]
fn what_was_taken_back_is_left() {
    let (_folder, path) = copied("opencode/opencode.db");
    let database = Connection::open(&path).unwrap();
    let revert = r#"{"messageID":"msg_0000000000004AbCdEfGhIjKl1"}"#;
    database.execute("UPDATE session SET revert=?1 WHERE id=?2", [revert, SESSION]).unwrap();
    let store = store();
    take(&store, &path);
    let session = open(&store, SESSION);
    assert_eq!(session.leaf().unwrap().as_str(), "msg_0000000000003AbCdEfGhIjKl1");
    // opencode removes them when the conversation goes on.
    database
        .execute_batch(&format!(
            "DELETE FROM message WHERE id>='msg_0000000000004' AND session_id='{SESSION}';
             UPDATE session SET revert=NULL;
             INSERT INTO message VALUES ('msg_9', '{SESSION}', 1772355700000, 0, '{{\"role\":\"user\"}}');
             INSERT INTO part VALUES ('prt_9', 'msg_9', '{SESSION}', 0, 0, '{{\"type\":\"text\",\"text\":\"anew\"}}');"
        ))
        .unwrap();
    assert!(outcomes(&take(&store, &path)).contains(&Outcome::Continued));
    let session = open(&store, SESSION);
    let path = pollster::block_on(session.current_path()).unwrap();
    assert_eq!(path.last().unwrap().message().unwrap().content.text(), "anew");
    assert!(path.iter().any(|entry| entry.id.as_str() == "msg_0000000000003AbCdEfGhIjKl1"));
    assert!(!path.iter().any(|entry| entry.id.as_str() == "msg_0000000000006AbCdEfGhIjKl1"));
}

#[test]
fn damage_is_told_and_the_rest_is_read() {
    let sql = r#"
        CREATE TABLE session (id, project_id, parent_id, directory, title, time_created);
        CREATE TABLE message (id, session_id, time_created, data);
        CREATE TABLE part (id, message_id, data);
        INSERT INTO session VALUES ('s', 'p', 's', NULL, NULL, 'soon'), (NULL, 1, 2, 3, 4, 5);
        INSERT INTO message VALUES ('m1', 's', 1, '{bad'), ('m2', 's', NULL, '{"role":"user"}'),
            ('m3', 's', 9e99, '[]'), ('m4', 's', 4, '{"role":"assistant","tokens":[]}'), (NULL, 's', 5, NULL);
        INSERT INTO part VALUES ('p1', 'm2', '{"type":"text","text":7}'), ('p2', 'm4', 'x'),
            ('p3', 'm4', '{"type":"tool","callID":"c","tool":"t","state":{"status":"completed","output":"o"}}'),
            ('p4', 'm4', '{"type":"text","text":"here"}');
    "#;
    let (_folder, path) = made("opencode.db", sql);
    let store = store();
    let reports = take(&store, &path);
    let report = reports.iter().find(|report| report.session.is_some()).unwrap();
    assert!(report.is_damaged(), "{reports:?}");
    let session = open(&store, report.session.as_ref().unwrap().as_str());
    let texts: Vec<String> = pollster::block_on(session.entries())
        .unwrap()
        .iter()
        .filter_map(|stored| Some(stored.entry.message()?.content.text().to_string()))
        .collect();
    assert!(texts.contains(&"here".into()) && texts.contains(&"o".into()), "{texts:?}");
}
