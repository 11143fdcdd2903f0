//! A server on the loopback that answers as it is told.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// What it answers to one request.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, &'static str)>,
    pub(crate) parts: Vec<String>,
    /// Whether the connection breaks in the middle of what was promised.
    pub(crate) breaks: bool,
    /// Whether nothing follows, and the connection stays.
    pub(crate) stalls: bool,
}

impl Answer {
    pub(crate) fn new(status: u16, body: &str) -> Answer {
        let headers = vec![("content-type", "application/json")];
        Answer { status, headers, parts: vec![body.to_owned()], breaks: false, stalls: false }
    }

    /// Events of a stream, each `event: x` line and all.
    pub(crate) fn stream(events: &[&str]) -> Answer {
        let headers = vec![("content-type", "text/event-stream")];
        let parts = events.iter().map(|event| format!("{event}\n\n")).collect();
        Answer { headers, parts, ..Answer::new(200, "") }
    }
}

/// One request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) path: String,
    pub(crate) head: String,
    pub(crate) body: Value,
}

#[derive(Clone, Debug)]
pub(crate) struct Server {
    pub(crate) url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Server {
    /// Starts; it ends with the runtime of the test.
    pub(crate) async fn start(answers: Vec<Answer>) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&asked);
        let answers = Arc::new(Mutex::new(VecDeque::from(answers)));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (noted, answers) = (Arc::clone(&noted), Arc::clone(&answers));
                tokio::spawn(async move {
                    let _ = serve(stream, &noted, &answers).await;
                });
            }
        });
        Server { url, asked }
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

async fn serve(
    mut stream: TcpStream,
    asked: &Mutex<Vec<Asked>>,
    answers: &Mutex<VecDeque<Answer>>,
) -> std::io::Result<()> {
    let mut bytes = Vec::new();
    let (head, length) = loop {
        let mut buffer = [0; 4096];
        let count = stream.read(&mut buffer).await?;
        if count == 0 {
            return Ok(());
        }
        bytes.extend_from_slice(&buffer[..count]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some(end) = text.find("\r\n\r\n") {
            let head = text[..end].to_ascii_lowercase();
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length: "))
                .map_or(0, |length| length.trim().parse::<usize>().unwrap());
            bytes.drain(..end + 4);
            break (text[..end].to_owned(), length);
        }
    };
    while bytes.len() < length {
        let mut buffer = [0; 4096];
        let count = stream.read(&mut buffer).await?;
        bytes.extend_from_slice(&buffer[..count]);
    }
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
    asked.lock().unwrap().push(Asked { path, head: head.to_ascii_lowercase(), body });
    let next = answers.lock().unwrap().pop_front();
    let answer = next.unwrap_or_else(|| Answer::new(500, "no answer is left"));
    let mut head = format!("HTTP/1.1 {} Said\r\nconnection: close\r\n", answer.status);
    for (name, value) in &answer.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("transfer-encoding: chunked\r\n\r\n");
    stream.write_all(head.as_bytes()).await?;
    for part in &answer.parts {
        stream.write_all(format!("{:x}\r\n{part}\r\n", part.len()).as_bytes()).await?;
        stream.flush().await?;
        tokio::task::yield_now().await;
    }
    if answer.stalls {
        std::future::pending::<()>().await;
    }
    if !answer.breaks {
        stream.write_all(b"0\r\n\r\n").await?;
    }
    stream.shutdown().await
}
