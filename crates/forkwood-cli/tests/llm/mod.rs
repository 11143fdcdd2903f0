//! A server on this machine that speaks the streaming protocols of providers.

#![allow(dead_code, clippy::unwrap_used)]

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

/// One thing that happens while an answer is sent.
#[derive(Clone)]
pub(crate) enum Step {
    /// Bytes of the body.
    Send(String),
    /// Nothing, for so long.
    Pause(Duration),
    /// Nothing any more, until the client goes away.
    Hang,
    /// The connection is cut.
    Cut,
}

/// One answer.
#[derive(Clone)]
pub(crate) struct Reply {
    status: u16,
    headers: Vec<(&'static str, String)>,
    steps: Vec<Step>,
}

impl Reply {
    fn stream(steps: Vec<Step>) -> Reply {
        let headers = vec![("content-type", "text/event-stream".to_owned())];
        Reply { status: 200, headers, steps }
    }

    /// An error with a status.
    pub(crate) fn status(status: u16, message: &str, code: &str) -> Reply {
        let body = json!({"error": {"message": message, "type": code, "code": code}});
        let headers = vec![("content-type", "application/json".to_owned())];
        Reply { status, headers, steps: vec![Step::Send(body.to_string())] }
    }

    /// With another header.
    pub(crate) fn header(mut self, name: &'static str, value: &str) -> Reply {
        self.headers.push((name, value.to_owned()));
        self
    }

    /// OpenAI: words, and the end.
    pub(crate) fn openai(words: &[&str]) -> Reply {
        let mut steps = openai_words(words);
        steps.extend(openai_end("stop"));
        Reply::stream(steps)
    }

    /// OpenAI: words, then something happens.
    pub(crate) fn openai_then(words: &[&str], step: Step) -> Reply {
        let mut steps = openai_words(words);
        steps.push(step);
        Reply::stream(steps)
    }

    /// OpenAI: words with pauses before each.
    pub(crate) fn openai_slow(words: &[&str], pause: Duration) -> Reply {
        let paused = |step| [Step::Pause(pause), step];
        let mut steps: Vec<Step> = openai_words(words).into_iter().flat_map(paused).collect();
        steps.extend(openai_end("stop"));
        Reply::stream(steps)
    }

    /// OpenAI: a tool call, its arguments in two parts.
    pub(crate) fn openai_call(id: &str, name: &str, arguments: &str) -> Reply {
        let (first, second) = arguments.split_at(arguments.len() / 2);
        let call = |function: Value, id: Option<&str>| {
            let mut call = json!({"index": 0, "function": function});
            if let Some(id) = id {
                call["id"] = id.into();
                call["type"] = "function".into();
            }
            openai_chunk(&json!({"tool_calls": [call]}), None)
        };
        let mut steps = vec![
            call(json!({"name": name, "arguments": first}), Some(id)),
            call(json!({"arguments": second}), None),
        ];
        steps.extend(openai_end("tool_calls"));
        Reply::stream(steps)
    }

    /// Anthropic: words, and the end.
    pub(crate) fn anthropic(words: &[&str]) -> Reply {
        let mut steps = vec![anthropic_start()];
        let block = json!({"type": "text", "text": ""});
        steps.push(event(
            &json!({"type": "content_block_start", "index": 0, "content_block": block}),
        ));
        steps.extend(words.iter().map(|word| {
            let delta = json!({"type": "text_delta", "text": word});
            event(&json!({"type": "content_block_delta", "index": 0, "delta": delta}))
        }));
        steps.extend(anthropic_end("end_turn"));
        Reply::stream(steps)
    }

    /// Anthropic: a tool call.
    pub(crate) fn anthropic_call(id: &str, name: &str, arguments: &str) -> Reply {
        let block = json!({"type": "tool_use", "id": id, "name": name, "input": {}});
        let delta = json!({"type": "input_json_delta", "partial_json": arguments});
        let mut steps = vec![
            anthropic_start(),
            event(&json!({"type": "content_block_start", "index": 0, "content_block": block})),
            event(&json!({"type": "content_block_delta", "index": 0, "delta": delta})),
        ];
        steps.extend(anthropic_end("tool_use"));
        Reply::stream(steps)
    }
}

fn openai_chunk(delta: &Value, reason: Option<&str>) -> Step {
    let choice = json!({"index": 0, "delta": delta, "finish_reason": reason});
    let chunk = json!({"id": "x", "object": "chat.completion.chunk", "choices": [choice]});
    Step::Send(format!("data: {chunk}\n\n"))
}

fn openai_words(words: &[&str]) -> Vec<Step> {
    words.iter().map(|word| openai_chunk(&json!({"content": word}), None)).collect()
}

fn openai_end(reason: &str) -> Vec<Step> {
    let usage = json!({"prompt_tokens": 11, "completion_tokens": 3, "total_tokens": 14});
    let usage =
        json!({"id": "x", "object": "chat.completion.chunk", "choices": [], "usage": usage});
    vec![
        openai_chunk(&json!({}), Some(reason)),
        Step::Send(format!("data: {usage}\n\ndata: [DONE]\n\n")),
    ]
}

fn event(data: &Value) -> Step {
    let name = data["type"].as_str().unwrap_or_default();
    Step::Send(format!("event: {name}\ndata: {data}\n\n"))
}

fn anthropic_start() -> Step {
    let usage = json!({"input_tokens": 11, "output_tokens": 1});
    let message = json!({"id": "m", "type": "message", "role": "assistant", "content": [],
        "model": "m", "usage": usage});
    event(&json!({"type": "message_start", "message": message}))
}

fn anthropic_end(reason: &str) -> Vec<Step> {
    vec![
        event(&json!({"type": "content_block_stop", "index": 0})),
        event(&json!({"type": "message_delta", "delta": {"stop_reason": reason},
            "usage": {"output_tokens": 3}})),
        event(&json!({"type": "message_stop"})),
    ]
}

/// A request that came in.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) path: String,
    pub(crate) headers: String,
    pub(crate) body: Value,
}

/// A server that gives its answers one after the other.
pub(crate) struct Server {
    pub(crate) url: String,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Server {
    pub(crate) fn start(replies: impl IntoIterator<Item = Reply>) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests: Arc<Mutex<Vec<Request>>> = Arc::default();
        let seen = Arc::clone(&requests);
        let mut replies: VecDeque<Reply> = replies.into_iter().collect();
        // Ends with the test's process.
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let stream = stream.unwrap();
                let Some(request) = read(&stream) else { continue };
                seen.lock().unwrap().push(request);
                let reply = replies
                    .pop_front()
                    .unwrap_or_else(|| Reply::status(400, "nobody expected this", "unexpected"));
                std::thread::spawn(move || send(stream, &reply));
            }
        });
        Server { url, requests }
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }
}

fn read(stream: &TcpStream) -> Option<Request> {
    let mut reader = BufReader::new(stream);
    let mut first = String::new();
    reader.read_line(&mut first).ok()?;
    let path = first.split_whitespace().nth(1)?.to_owned();
    let mut headers = String::new();
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let lower = line.trim().to_ascii_lowercase();
        if lower.is_empty() {
            break;
        }
        if let Some(value) = lower.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        headers.push_str(&line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Request { path, headers, body: serde_json::from_slice(&body).ok()? })
}

fn send(mut stream: TcpStream, reply: &Reply) -> Option<()> {
    let mut head = format!("HTTP/1.1 {} Status\r\n", reply.status);
    for (name, value) in &reply.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("transfer-encoding: chunked\r\nconnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).ok()?;
    for step in &reply.steps {
        match step {
            Step::Send(text) => {
                stream.write_all(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes()).ok()?;
            }
            Step::Pause(time) => std::thread::sleep(*time),
            Step::Hang => {
                stream.set_read_timeout(Some(Duration::from_secs(60))).ok()?;
                let _ = stream.read(&mut [0; 16]);
                return None;
            }
            Step::Cut => return None,
        }
    }
    stream.write_all(b"0\r\n\r\n").ok()
}
