//! Databases of goose's schemas.

use forkwood::{Role, Session};
use forkwood_formats::import::Outcome;
use rusqlite::Connection;

use crate::world::{made, open, outcomes, store, take};

/// The schema of version 9, without what no session is in.
const SCHEMA: &str = r#"
    CREATE TABLE schema_version (version INTEGER PRIMARY KEY);
    INSERT INTO schema_version VALUES (9);
    CREATE TABLE sessions (id TEXT PRIMARY KEY, name TEXT NOT NULL DEFAULT '', description TEXT NOT NULL DEFAULT '',
        user_set_name BOOLEAN DEFAULT FALSE, session_type TEXT NOT NULL DEFAULT 'user', working_dir TEXT NOT NULL,
        created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP, updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
        extension_data TEXT DEFAULT '{}', accumulated_total_tokens INTEGER, provider_name TEXT, model_config_json TEXT);
    CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, message_id TEXT,
        session_id TEXT NOT NULL REFERENCES sessions(id), role TEXT NOT NULL, content_json TEXT NOT NULL,
        created_timestamp INTEGER NOT NULL, timestamp TIMESTAMP DEFAULT CURRENT_TIMESTAMP, tokens INTEGER, metadata_json TEXT);
    INSERT INTO sessions (id, name, working_dir, created_at, accumulated_total_tokens, provider_name)
        VALUES ('20260301_1', 'Weather', '/srv/project', '2026-03-01 09:00:00', 1234, 'anthropic');
"#;

fn talk() -> String {
    let add = |id: &str, role: &str, content: &str, metadata: &str| {
        let at = 1_772_355_600;
        format!(
            "INSERT INTO messages (message_id, session_id, role, content_json, created_timestamp, metadata_json) \
             VALUES ('{id}', '20260301_1', '{role}', '{content}', {at}, {metadata});"
        )
    };
    let visible = r#"'{"userVisible":true,"agentVisible":true}'"#;
    [
        SCHEMA.to_owned(),
        add("m1", "user", r#"[{"type":"text","text":"weather?"}]"#, visible),
        add("m2", "assistant", r#"[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"toolRequest","id":"c1","toolCall":{"status":"success","value":{"name":"web__get","arguments":{"q":1}}}},{"type":"toolRequest","id":"c2","toolCall":{"status":"error","error":"no"}}]"#, visible),
        add("m3", "user", r#"[{"type":"toolResponse","id":"c1","toolResult":{"status":"success","value":{"content":[{"type":"text","text":"sunny"}],"isError":false}}},{"type":"toolResponse","id":"c2","toolResult":{"status":"error","error":"no such tool"}}]"#, visible),
        add("m4", "assistant", r#"[{"type":"text","text":"Sunny."}]"#, "NULL"),
        add("m5", "assistant", r#"[{"type":"systemNotification","notificationType":"inlineMessage","msg":"note"}]"#, r#"'{"userVisible":true,"agentVisible":false}'"#),
    ]
    .concat()
}

fn said(session: &Session) -> Vec<(Role, String)> {
    let context = pollster::block_on(session.context()).unwrap();
    let say = |m: &forkwood::Message| (m.role.clone(), m.content.text().to_string());
    context.messages().iter().map(say).collect()
}

#[test]
fn a_session_with_tools() {
    let (_folder, path) = made("sessions.db", &talk());
    let store = store();
    let reports = take(&store, &path);
    assert_eq!(outcomes(&reports), [Outcome::New]);
    assert!(reports[0].findings.is_empty(), "{reports:?}");
    let session = open(&store, "20260301_1");
    assert_eq!(session.title(), Some(&"Weather".into()));
    assert_eq!(session.facts().info.cwd, Some("/srv/project".into()));
    let told = said(&session);
    assert_eq!(
        told,
        [
            (Role::User, "weather?".into()),
            (Role::Assistant, String::new()),
            (Role::Tool, "sunny".into()),
            (Role::Tool, "no such tool".into()),
            (Role::Assistant, "Sunny.".into()),
        ]
    );
    let context = pollster::block_on(session.context()).unwrap();
    assert_eq!(context.messages()[1].content.tool_calls().next().unwrap().1, &"web__get");
    assert_eq!(context.messages()[3].is_error, Some(true));
    assert_eq!(context.entry_ids()[3].as_str(), "m3.1");
    assert_eq!(outcomes(&take(&store, &path)), [Outcome::Unchanged]);
}

#[test]
fn a_compaction_cuts_off_what_the_model_sees_no_more() {
    let (_folder, path) = made("sessions.db", &talk());
    let store = store();
    take(&store, &path);
    let database = Connection::open(&path).unwrap();
    database
        .execute_batch(
            r#"UPDATE messages SET metadata_json='{"userVisible":true,"agentVisible":false}';
               INSERT INTO messages (message_id, session_id, role, content_json, created_timestamp, metadata_json) VALUES
               ('m6', '20260301_1', 'user', '[{"type":"text","text":"So far: sunny."}]', 1772355700, '{"userVisible":false,"agentVisible":true}'),
               ('m7', '20260301_1', 'user', '[{"type":"text","text":"And tomorrow?"}]', 1772355701, NULL);"#,
        )
        .unwrap();
    assert_eq!(outcomes(&take(&store, &path)), [Outcome::Continued]);
    let expected = [(Role::User, "So far: sunny.".into()), (Role::User, "And tomorrow?".into())];
    assert_eq!(said(&open(&store, "20260301_1")), expected);
    // Taken at once, it is the same.
    let fresh = crate::world::store();
    take(&fresh, &path);
    assert_eq!(said(&open(&fresh, "20260301_1")), expected);
    let history = pollster::block_on(open(&fresh, "20260301_1").full_history()).unwrap();
    assert!(history.iter().any(|message| message.content.text() == "sunny"));
}

#[test]
fn the_first_schema_and_damage() {
    let sql = r#"
        CREATE TABLE sessions (id TEXT PRIMARY KEY, description TEXT, working_dir TEXT, created_at);
        CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id, role, content_json, created_timestamp);
        INSERT INTO sessions VALUES ('old', 'A title', '/w', '2025-01-01 00:00:00');
        INSERT INTO messages VALUES (1, 'old', 'user', '[{"type":"text","text":"one"}]', 1),
            (2, 'old', 'assistant', '{bad', 2), (3, 'old', NULL, '[7,{"type":"new"}]', NULL),
            (4, 'old', 'assistant', '[{"type":"text","text":"two"}]', 1772355600000);
    "#;
    let (_folder, path) = made("sessions.db", sql);
    let store = store();
    let reports = take(&store, &path);
    assert!(reports[0].is_damaged(), "{reports:?}");
    let session = open(&store, "old");
    assert_eq!(session.title(), Some(&"A title".into()));
    let told = said(&session);
    assert_eq!(told.first().unwrap().1, "one");
    assert_eq!(told.last().unwrap().1, "two");
    let last = pollster::block_on(session.get(&"row-4".into())).unwrap();
    assert_eq!(last.entry.timestamp.unwrap().as_millis(), 1_772_355_600_000);
}
