"""The OpenAI Agents SDK beside Forkwood: it writes databases, and reads them.

    openai_agents.py make FOLDER    writes plain.db and advanced.db
    openai_agents.py read FILE      prints what the SDK reads of every session and branch
    openai_agents.py add FILE ID    adds a message to a session, as a program would that goes on
"""

import asyncio
import json
import sqlite3
import sys
from pathlib import Path

from agents import SQLiteSession
from agents.extensions.memory import AdvancedSQLiteSession

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def user(text):
    return {"content": text, "role": "user"}


def assistant(text, number):
    return {
        "id": f"msg_{number:04d}",
        "content": [{"annotations": [], "text": text, "type": "output_text", "logprobs": []}],
        "role": "assistant",
        "status": "completed",
        "type": "message",
    }


ITEMS = [
    user("What is the weather in Paris?"),
    {"id": "rs_0001", "summary": [{"text": "They ask for Paris.", "type": "summary_text"}], "type": "reasoning"},
    {
        "arguments": "{\"city\": \"Paris\", \"n\": 1e400}",
        "call_id": "call_1",
        "name": "weather",
        "type": "function_call",
        "id": "fc_0001",
        "status": "completed",
    },
    {"call_id": "call_1", "output": "sunny \u2600", "type": "function_call_output"},
    assistant("It is sunny.", 1),
    {
        "content": [
            {"text": "And this?", "type": "input_text"},
            {"detail": "auto", "image_url": f"data:image/png;base64,{PIXEL}", "type": "input_image"},
        ],
        "role": "user",
    },
    {"id": "ws_1", "action": {"type": "search", "query": "x"}, "status": "completed", "type": "web_search_call"},
    assistant("A pixel.", 2),
]


async def make(folder):
    folder.mkdir(parents=True, exist_ok=True)
    plain = SQLiteSession("talk", folder / "plain.db")
    await plain.add_items(ITEMS[:5])
    await plain.add_items(ITEMS[5:])
    other = SQLiteSession("user 42/é", folder / "plain.db")
    await other.add_items([user("one"), assistant("two", 3)])
    await other.pop_item()
    await other.add_items([assistant("three", 4)])
    SQLiteSession("empty", folder / "plain.db")
    plain.close()
    other.close()
    advanced = AdvancedSQLiteSession(
        session_id="tree", db_path=folder / "advanced.db", create_tables=True
    )
    await advanced.add_items([user("first"), assistant("answer one", 1)])
    await advanced.add_items([user("second"), assistant("answer two", 2)])
    await advanced._update_turn_usage_internal(2, usage(), "main", 3)
    await advanced.create_branch_from_turn(2, "other")
    await advanced.add_items([user("second, otherwise"), assistant("answer three", 3)])
    await advanced.create_branch_from_turn(2, "third")
    await advanced.add_items([user("second, once more")])
    await advanced.switch_to_branch("main")
    await advanced.add_items([user("third"), assistant("answer four", 4)])
    advanced.close()
    for name in ["plain.db", "advanced.db"]:
        with sqlite3.connect(folder / name) as database:
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            database.execute("PRAGMA journal_mode=DELETE")


def usage():
    from agents.usage import Usage

    total = Usage(requests=2, input_tokens=30, output_tokens=7, total_tokens=37)
    total.input_tokens_details.cached_tokens = 10
    return total


async def read(path):
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
        ids = [row[0] for row in database.execute("SELECT session_id FROM agent_sessions ORDER BY 1")]
        tables = {row[0] for row in database.execute("SELECT name FROM sqlite_master")}
        branches = {}
        if "message_structure" in tables:
            order = "SELECT DISTINCT session_id, branch_id FROM message_structure ORDER BY 1, 2"
            for session, branch in database.execute(order):
                branches.setdefault(session, []).append(branch)
    out = {}
    for id in ids:
        if branches:
            session = AdvancedSQLiteSession(session_id=id, db_path=path)
            out[id] = {name: await session.get_items(branch_id=name) for name in branches.get(id, [])}
        else:
            session = SQLiteSession(id, path)
            out[id] = {"main": await session.get_items()}
        session.close()
    return out


async def add(path, id):
    session = SQLiteSession(id, path)
    await session.add_items([user("added by the SDK")])
    session.close()


def main():
    match sys.argv[1:]:
        case ["make", folder]:
            asyncio.run(make(Path(folder)))
        case ["read", path]:
            print(json.dumps(asyncio.run(read(Path(path)))))
        case ["add", path, id]:
            asyncio.run(add(Path(path), id))
        case _:
            sys.exit(__doc__)


main()
