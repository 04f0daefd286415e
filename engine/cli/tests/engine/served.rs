//! Tests `nettrial-engine serve` with clients that have the token and request more than a measurement needs.

use nettrial_session::{Reader, Token, Writer, enter};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const MOST: usize = 1 << 20;
const PATIENCE: Duration = Duration::from_secs(300);

/// A server, which ends with the test.
struct Server {
    process: Child,
    port: u16,
    token: PathBuf,
    said: Arc<Mutex<String>>,
}

impl Server {
    fn start(test: &str) -> Self {
        let token = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("token-of-{test}"));
        std::fs::write(&token, Token::random().reveal()).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_nettrial-engine"));
        command.args(["serve", "--bind", "127.0.0.1", "--port", "0", "--token-file"]).arg(&token);
        let mut process = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(process.stderr.take().unwrap()).lines().map_while(Result::ok);
        let first = lines.next().unwrap();
        let port = first.rsplit(':').next().unwrap().parse().unwrap();
        let said = Arc::new(Mutex::new(String::new()));
        let gathered = Arc::clone(&said);
        std::thread::spawn(move || lines.for_each(|line| gathered.lock().unwrap().push_str(&(line + "\n"))));
        Self { process, port, token, said }
    }

    fn awaits(&self, text: &str) {
        until(|| self.said.lock().unwrap().contains(text), text);
    }

    /// Returns the processes that the server has started.
    fn children(&self) -> Vec<String> {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.process.id())).unwrap();
        let children =
            tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("children")).ok());
        children.flat_map(|text| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_file(&self.token);
    }
}

fn until(mut is_so: impl FnMut() -> bool, what: &str) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "did not come: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A client that sends arbitrary messages.
struct Visitor {
    stream: TcpStream,
    input: Reader<TcpStream>,
    output: Writer<TcpStream>,
}

impl Visitor {
    fn of(server: &Server) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
        let token = Token::find(Some(&server.token)).unwrap().unwrap();
        let sealed = enter(&stream, &token).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let input = sealed.reader(stream.try_clone().unwrap(), MOST);
        let output = sealed.writer(stream.try_clone().unwrap());
        let mut visitor = Self { stream, input, output };
        assert!(visitor.hear()["welcome"]["address"].is_string());
        visitor
    }

    fn say(&mut self, document: &Value) {
        self.output.send(document).unwrap();
    }

    fn hear(&mut self) -> Value {
        self.input.receive().unwrap().unwrap()
    }

    fn order(&mut self, command: &Value) -> Value {
        self.say(&json!({"order": {"number": 1, "command": command}}));
        self.hear()["report"]["reply"].clone()
    }
}

fn side(traffic: &Value, address: &str) -> Value {
    json!({
        "flow": {"name": "x", "from": "server", "to": "client", "transport": "tcp", "ip": 4, "traffic": traffic},
        "cookie": vec![0; 16],
        "address": address,
        "congestion_control": "reno",
        "clock_offset": null,
        "round_trip": null,
    })
}

fn transfer() -> Value {
    json!({"kind": "transfer", "duration": "1 s"})
}

#[test]
fn who_has_the_token_gets_traffic_and_no_more() {
    let server = Server::start("traffic");
    let mut visitor = Visitor::of(&server);
    visitor.say(&json!("new_agent"));
    let witness = Path::new(env!("CARGO_TARGET_TMPDIR")).join("witness");
    for traffic in [
        json!({"kind": "tool", "tool": "exec", "arguments": ["touch", witness]}),
        json!({"kind": "file_transfer", "file": "/etc/hostname"}),
    ] {
        let reply = visitor.order(&json!({"listen": side(&traffic, "127.0.0.1")}));
        let message = reply["failed"]["message"].as_str().unwrap();
        assert!(message.contains("the server refuses: traffic of the kind"), "{message}");
    }
    let elsewhere = visitor.order(&json!({"listen": side(&transfer(), "127.0.0.2")}));
    assert!(elsewhere["failed"].is_object());
    assert!(!witness.exists());
    server.awaits("refused 127.0.0.1: an order: traffic of the kind tool");
    visitor.say(&json!("time"));
    assert!(visitor.hear()["time"]["heard_ns"].is_i64());
    let served = visitor.order(&json!({"listen": side(&transfer(), "127.0.0.1")}));
    assert!(served["listening"]["port"].is_u64());
}

#[test]
fn orders_and_samples_of_a_session_are_bounded() {
    let server = Server::start("orders");
    let mut visitor = Visitor::of(&server);
    visitor.say(&json!("new_agent"));
    // These are flows of 30,000 samples each, to a port on which nobody listens.
    let long = json!({"kind": "transfer", "duration": "30 s"});
    let start = json!({"start": {"side": side(&long, "127.0.0.1"), "destination": "127.0.0.1:1", "sample_ns": 1_000_000}});
    let refused = |reply: &Value| {
        reply["failed"]["message"].as_str().is_some_and(|m| m.contains("100000 samples together"))
    };
    assert_eq!((0..10).filter(|_| refused(&visitor.order(&start))).count(), 7);
    visitor.say(&json!("new_agent"));
    let listen = json!({"listen": side(&transfer(), "127.0.0.1")});
    assert_eq!((0..140).filter(|_| visitor.order(&listen)["listening"].is_object()).count(), 128);
}

/// Each of the flows that are refused by the other end has a sampler, which once kept sampling each millisecond.
#[test]
fn thousands_of_orders_take_little_memory() {
    const ORDERS: usize = 2000;
    let server = Server::start("memory");
    let mut visitor = Visitor::of(&server);
    visitor.say(&json!("new_agent"));
    // Nobody listens at the port. A hundred such flows have all samples that a session may have.
    let start = json!({"start": {"side": side(&transfer(), "127.0.0.1"), "destination": "127.0.0.1:1", "sample_ns": 1_000_000}});
    for number in 0..ORDERS {
        visitor.say(&json!({"order": {"number": number, "command": start}}));
    }
    let replies = (0..ORDERS).map(|_| visitor.hear()["report"]["reply"]["failed"]["message"].to_string());
    let served = replies.filter(|message| !message.contains("the server refuses")).count();
    assert_eq!(served, 100);
    let [agent] = &server.children()[..] else { panic!("one agent") };
    let megabytes = [peak_megabytes(agent), peak_megabytes(&server.process.id().to_string())];
    assert!(megabytes.iter().all(|&peak| peak < 100), "{megabytes:?} MB");
}

/// Returns the largest resident memory of a process so far.
fn peak_megabytes(process: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1024
}

#[test]
fn a_session_takes_its_agent_with_it() {
    let server = Server::start("agent");
    let mut visitor = Visitor::of(&server);
    visitor.say(&json!("new_agent"));
    until(|| server.children().len() == 1, "an agent");
    drop(visitor);
    until(|| server.children().is_empty(), "the agent's end");
}

#[test]
fn bytes_that_are_not_sealed_end_the_session() {
    let server = Server::start("bytes");
    for bytes in [&b"\0\0"[..], b"\0\x10nothing sealed..", b"\xff\xff", b"{\"time\": null}\n"] {
        let mut visitor = Visitor::of(&server);
        visitor.stream.write_all(bytes).unwrap();
        visitor.stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut rest = Vec::new();
        // The read fails with a reset if the server left bytes unread.
        let _ = visitor.stream.read_to_end(&mut rest);
        assert!(rest.is_empty());
    }
    drop(Visitor::of(&server));
}
