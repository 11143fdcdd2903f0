"""Session functions of claude-agent-sdk, as a judge: one call, one JSON value.

Usage: claude.py OPERATION ARGUMENTS..., with CLAUDE_CONFIG_DIR set.
"""

import json
import sys

import claude_agent_sdk as sdk


def listed(folder):
    return [
        {"id": s.session_id, "title": s.custom_title, "first": s.first_prompt, "cwd": s.cwd}
        for s in sdk.list_sessions(directory=folder)
    ]


def messages(session):
    return [
        {"type": m.type, "uuid": m.uuid, "message": m.message}
        for m in sdk.get_session_messages(session)
    ]


def fork(session):
    return sdk.fork_session(session).session_id


def rename(session, title):
    sdk.rename_session(session, title)


OPERATIONS = {
    "list": listed,
    "messages": messages,
    "fork": fork,
    "rename": rename,
}

print(json.dumps(OPERATIONS[sys.argv[1]](*sys.argv[2:])))
