// Pi's own SessionManager behind a line protocol, for tests: one JSON command a line on stdin,
// one JSON answer a line on stdout. Usage: node pi.mjs PATH_OF_PI_S_session-manager.js
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const { SessionManager } = await import(pathToFileURL(process.argv[2]).href);

const usage = {
  input: 3, output: 5, cacheRead: 0, cacheWrite: 0, totalTokens: 8,
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
};
let clock = 1767225600000;
const now = () => (clock += 1000);
const user = (text) => ({ role: "user", content: text, timestamp: now() });
const assistant = (...content) => ({
  role: "assistant", content, api: "demo-api", provider: "demo", model: "demo-model-1", usage,
  stopReason: content.some((block) => block.type === "toolCall") ? "toolUse" : "stop",
  timestamp: now(),
});
const text = (words) => ({ type: "text", text: words });
const call = (id) => ({ type: "toolCall", id, name: "bash", arguments: { command: "ls" } });
const result = (id, words) => ({
  role: "toolResult", toolCallId: id, toolName: "bash", content: [text(words)], isError: false,
  timestamp: now(),
});

// A session with something of everything that both generations write.
function write(dir) {
  const pi = SessionManager.create("/proj/demo", dir);
  pi.appendModelChange("demo", "demo-model-1");
  pi.appendThinkingLevelChange("high");
  const first = pi.appendMessage(user("first question \u{1f600} <b>"));
  pi.appendMessage(assistant({ type: "thinking", thinking: "hm", thinkingSignature: "s" }, call("c1")));
  pi.appendMessage(result("c1", "a.txt\nb.txt"));
  const answer = pi.appendMessage(assistant(text("two files")));
  pi.appendLabelChange(answer, "good");
  pi.appendSessionInfo("A session of Pi");
  pi.appendMessage(user("on the way to be left"));
  pi.appendMessage(assistant(text("left")));
  pi.branchWithSummary(answer, "what was left");
  pi.appendCustomEntry("ext", { n: 1 });
  pi.appendCustomMessageEntry("ext", "said by an extension", true, { k: "v" });
  const kept = pi.appendMessage(user("second question"));
  pi.appendMessage(assistant(text("second answer")));
  pi.appendCompaction("what was said", kept, 1234, { readFiles: ["a.txt"], modifiedFiles: [] });
  pi.appendMessage(user("after the compaction"));
  pi.appendMessage(assistant(text("gone on")));
  pi.branch(first);
  pi.appendMessage(assistant(text("another answer to the first")));
  pi.appendMessage(user("third question"));
  pi.appendMessage(assistant(text("third answer")));
  return { file: pi.getSessionFile() };
}

function view(pi) {
  const { messages, thinkingLevel, model } = pi.buildSessionContext();
  return { leaf: pi.getLeafId(), path: pi.getBranch().map((entry) => entry.id), messages, thinkingLevel, model };
}

// What Pi makes of a file; at every entry where asked.
function read(file, everywhere) {
  const pi = SessionManager.open(file);
  const entries = pi.getEntries();
  const labels = {};
  for (const { id } of entries) if (pi.getLabel(id) !== undefined) labels[id] = pi.getLabel(id);
  const answer = {
    id: pi.getSessionId(), cwd: pi.getCwd(), name: pi.getSessionName() ?? null, labels,
    entries: entries.map(({ id }) => id), ...view(pi),
  };
  if (everywhere) {
    answer.at = entries.map(({ id }) => {
      pi.branch(id);
      return view(pi);
    });
  }
  return answer;
}

// Pi opens a file and goes on with it.
function goOn(file) {
  const pi = SessionManager.open(file);
  pi.appendMessage(user("Pi goes on"));
  pi.appendMessage(assistant(call("c9")));
  pi.appendMessage(result("c9", "done"));
  pi.appendMessage(assistant(text("and Pi answers")));
  pi.appendLabelChange(pi.getLeafId(), "by Pi");
  return read(file, false);
}

// Pi copies the path to an entry into a new file.
function fork(file, entry) {
  const pi = SessionManager.open(file);
  return { file: pi.createBranchedSession(entry) };
}

const commands = {
  write: ({ dir }) => write(dir),
  read: ({ file, everywhere }) => read(file, everywhere),
  goOn: ({ file }) => goOn(file),
  fork: ({ file, entry }) => fork(file, entry),
};

for await (const line of createInterface({ input: process.stdin })) {
  let answer;
  try {
    const command = JSON.parse(line);
    answer = { ok: commands[command.op](command) };
  } catch (error) {
    answer = { error: String(error?.stack ?? error) };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
