//! Sub-agents and skills: found in folders, told of in the instructions.

use std::fs;
use std::path::Path;

use forkwood_agent::{
    Access, DEFAULT_SUBAGENT, ErrorKind, Rule, Skills, Subagent, Subagents, Workspace,
    system_prompt,
};

use crate::common::*;

fn write(folder: &Path, name: &str, text: &str) {
    fs::create_dir_all(folder).unwrap();
    fs::write(folder.join(name), text).unwrap();
}

fn names(found: &Subagents) -> Vec<&str> {
    found.list().iter().map(|agent| agent.name.as_str()).collect()
}

fn discover(folder: &Path) -> Subagents {
    Subagents::discover(&[folder.to_path_buf()])
}

#[test]
fn a_sub_agent_is_a_markdown_file_with_a_description() {
    let folder = tempfile::tempdir().unwrap();
    write(
        folder.path(),
        "x.md",
        "---\nname: code-reviewer\ndescription: review code\n---\n\nchecklist\n",
    );
    let found = discover(folder.path());
    assert_eq!(names(&found), ["code-reviewer"]);
    assert_eq!(found.list()[0].description, "review code");
    assert_eq!(found.list()[0].content, "checklist");
}

#[test]
fn the_name_falls_back_to_the_stem_and_a_description_is_needed() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "reviewer.md", "---\ndescription: d\n---\nbody");
    write(folder.path(), "nobody.md", "---\nname: x\n---\nbody");
    let found = discover(folder.path());
    assert_eq!(names(&found), ["reviewer"]);
    assert!(found.skipped[0].reason.contains("no description"));
}

#[test]
fn other_files_readmes_and_nested_ones_are_ignored() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "notes.txt", "x");
    write(folder.path(), "README.md", "---\ndescription: d\n---\nbody");
    write(&folder.path().join("nested"), "inner.md", "---\ndescription: d\n---\nbody");
    let found = discover(folder.path());
    assert_eq!(names(&found), [""; 0]);
    assert!(found.skipped.is_empty());
}

#[test]
fn frontmatter_says_what_it_gets() {
    let folder = tempfile::tempdir().unwrap();
    write(
        folder.path(),
        "full.md",
        "---\ndescription: d\nmodel: sonnet\neffort: high\nmaxTurns: 20\n---\nbody",
    );
    write(
        folder.path(),
        "lists.md",
        "---\ndescription: d\ntools: read, write\ndisallowedTools: bash\nskills:\n  - a\n  - b\n---\nbody",
    );
    let found = discover(folder.path());
    let full = found.get("full").unwrap();
    assert_eq!(full.model.as_deref(), Some("sonnet"));
    assert_eq!(full.effort.as_deref(), Some("high"));
    assert_eq!(full.max_turns, Some(20));
    assert_eq!((full.tools, full.disallowed_tools), (None, Vec::new()));
    let lists = found.get("lists").unwrap();
    assert_eq!(lists.tools, Some(vec!["read".to_owned(), "write".to_owned()]));
    assert_eq!(lists.disallowed_tools, ["bash"]);
    assert_eq!(lists.skills, ["a", "b"]);
    assert!(lists.may_use("read") && !lists.may_use("bash") && !lists.may_use("edit"));
}

#[test]
fn bad_yaml_is_left_out_and_a_byte_order_mark_is_no_harm() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "bad.md", "---\ndescription: [unclosed\n---\nbody");
    write(folder.path(), "bom.md", "\u{feff}---\r\ndescription: review\r\n---\r\n\r\nbody");
    write(folder.path(), "none.md", "no frontmatter");
    write(folder.path(), "open.md", "---\ndescription: d\nno end");
    let found = discover(folder.path());
    assert_eq!(names(&found), ["bom"]);
    assert_eq!(found.list()[0].content, "body");
    assert_eq!(found.skipped.len(), 3);
}

#[test]
fn the_default_one_is_always_there_and_in_no_list() {
    let none = Subagents::discover(&[]);
    assert!(none.list().is_empty());
    assert!(none.get("other").is_none());
    assert!(none.get(DEFAULT_SUBAGENT).unwrap().content.starts_with("You are a subagent."));
}

#[test]
fn a_name_counts_once_and_the_first_folder_wins() {
    let one = tempfile::tempdir().unwrap();
    let two = tempfile::tempdir().unwrap();
    write(one.path(), "a.md", "---\ndescription: first\n---\n");
    write(two.path(), "a.md", "---\ndescription: second\n---\n");
    let found = Subagents::discover(&[one.path().to_path_buf(), two.path().to_path_buf()]);
    assert_eq!(found.list().len(), 1);
    assert_eq!(found.list()[0].description, "first");
    assert!(found.skipped[0].reason.contains("already"));
    assert!(Subagents::discover(&[one.path().join("missing")]).skipped.is_empty());
}

#[test]
fn the_instructions_hold_prompt_skills_and_sub_agents() {
    let folder = tempfile::tempdir().unwrap();
    let skills = folder.path().join("skills");
    write(&skills.join("pdf"), "SKILL.md", "---\ndescription: reads <pdf>\n---\nhow to");
    write(&skills.join("empty"), "other.md", "x");
    let agents = folder.path().join("agents");
    write(&agents, "code-reviewer.md", "---\ndescription: review code\n---\n");
    let skills = Skills::discover(&[skills]);
    assert_eq!(skills.list().len(), 1);
    assert_eq!(skills.get("pdf").unwrap().content, "how to");
    let location = skills.list()[0].path.display().to_string();
    let text = system_prompt("Be kind.\n", &skills, &discover(&agents));
    assert_eq!(
        text,
        format!(
            "Be kind.\n\n<available_skills>\n  <skill>\n    <name>pdf</name>\n    \
             <description>reads &lt;pdf&gt;</description>\n    \
             <location>{location}</location>\n  </skill>\n</available_skills>\n\n\
             <available_agents>\n  <agent>\n    <name>code-reviewer</name>\n    \
             <description>review code</description>\n  </agent>\n</available_agents>"
        )
    );
    assert_eq!(system_prompt("", &Skills::default(), &Subagents::default()), "");
}

#[tokio::test]
async fn an_agent_with_sub_agents_has_the_task_tool_and_keeps_its_own() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "code-reviewer.md", "---\ndescription: review code\n---\nchecklist");
    let (provider, builder) = scripted([Rule::always().says("ok")]);
    let mut agent = builder
        .tool(saying("multiply", "x"))
        .subagents(discover(folder.path()))
        .build()
        .await
        .unwrap();
    agent.run("hi").await.unwrap();
    let request = &provider.requests()[0];
    assert!(request.input.system.to_string().contains("<name>code-reviewer</name>"));
    assert_eq!(tools_of(request), ["multiply", "task"]);
}

#[tokio::test]
async fn usual_folders_are_looked_through_unless_others_are_given() {
    let workspace = tempfile::tempdir().unwrap();
    write(&workspace.path().join(".agents/agents"), "probe.md", "---\ndescription: p\n---\nc");
    write(&workspace.path().join(".forkwood/skills/s"), "SKILL.md", "---\ndescription: p\n---\nc");
    let (_provider, builder) = scripted([]);
    let agent = builder.workspace(workspace.path()).build().await.unwrap();
    assert_eq!(names(agent.subagents()), ["probe"]);
    assert_eq!(agent.skills().list().len(), 1);
    let (_provider, builder) = scripted([]);
    let agent = builder
        .workspace(workspace.path())
        .subagents(Subagents::default())
        .skills(Skills::default())
        .build()
        .await
        .unwrap();
    assert_eq!(agent.tools().names(), [""; 0]);
    assert_eq!(agent.system(), "");
}

/// What is there when the agent is built is what it has: nobody can slip one in while it works,
/// and no turn looks at the disk.
#[tokio::test]
async fn folders_are_looked_through_once() {
    let workspace = tempfile::tempdir().unwrap();
    let folder = workspace.path().join(".agents/agents");
    write(&folder, "probe.md", "---\ndescription: p\n---\nc");
    let (provider, builder) = scripted([Rule::always().says("ok")]);
    let mut agent = builder.workspace(workspace.path()).build().await.unwrap();
    agent.run("one").await.unwrap();
    write(&folder, "late.md", "---\ndescription: l\n---\nc");
    std::fs::remove_file(folder.join("probe.md")).unwrap();
    agent.run("two").await.unwrap();
    agent.reset().await.unwrap();
    agent.run("three").await.unwrap();
    assert_eq!(names(agent.subagents()), ["probe"]);
    let systems: Vec<String> =
        provider.requests().iter().map(|request| request.input.system.to_string()).collect();
    assert!(systems[0].contains("<name>probe</name>"), "{}", systems[0]);
    assert!(systems.iter().all(|system| *system == systems[0]));
}

#[tokio::test]
async fn another_tool_called_task_is_refused() {
    let (_provider, builder) = scripted([]);
    let error = builder
        .tool(saying("task", "x"))
        .subagents(Subagents::of(vec![Subagent::default_kind()]))
        .build()
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ToolNameTaken);
}

#[test]
fn skills_outside_of_the_workspace_can_be_made_readable() {
    let workspace = tempfile::tempdir().unwrap();
    let skills = tempfile::tempdir().unwrap();
    write(skills.path(), "SKILL.md", "x");
    let path = skills.path().join("SKILL.md").display().to_string();
    let confined = Workspace::new(workspace.path()).unwrap();
    assert!(confined.resolve(&path, Access::Read).is_err());
    let open = confined.readable(skills.path()).unwrap();
    assert!(open.resolve(&path, Access::Read).is_ok());
    assert!(open.resolve(&path, Access::Write).is_err());
}
