//! The agents of a trial: a process in each host's namespace, on the host's processor.

use crate::namespace::Home;
use crate::network::Network;
use crate::processors::Placement;
use anyhow::{Context, Result, bail};
use nettrial_scenario::Scenario;
use nettrial_traffic::{Command as AgentCommand, Order, Reply, Report};
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// Orders that are under way at once before the traffic. More would hardly be done sooner, and what they send
/// must fit the queues of the network, all into one interface too.
const AT_ONCE: usize = 8;
/// How long an order other than a flow may take to be answered.
const QUICK: Duration = Duration::from_secs(60);

/// All agents of a trial. Dropping it ends them.
pub struct Agents {
    by_host: HashMap<String, Agent>,
    reports: Receiver<(String, Option<Report>)>,
    /// Answers that came before they were asked for, by the order's number.
    early: HashMap<u64, Reply>,
    number: u64,
}

struct Agent {
    process: Child,
    input: ChildStdin,
}

/// An order whose answer is awaited.
pub struct Pending {
    host: String,
    number: u64,
}

impl Agents {
    /// Starts an agent in every host of `network` that has traffic.
    pub fn start(
        home: &Home,
        network: &Network,
        scenario: &Scenario,
        placement: Option<&Placement>,
    ) -> Result<Self> {
        let (sender, reports) = channel();
        let mut agents = Self { by_host: HashMap::new(), reports, early: HashMap::new(), number: 0 };
        let ends = scenario.workload.iter().flat_map(|flow| [&flow.from, &flow.to]);
        for host in ends.collect::<BTreeSet<_>>() {
            let processor = placement.and_then(|placement| placement.of(host));
            let namespace = &network.node(host)?.namespace;
            let agent = home
                .visit(namespace, || spawn(host, processor, sender.clone()))
                .with_context(|| format!("starting the agent of {host}"))?;
            agents.by_host.insert(host.clone(), agent);
        }
        Ok(agents)
    }

    /// The agents' process numbers.
    pub fn processes(&self) -> impl Iterator<Item = u32> {
        self.by_host.values().map(|agent| agent.process.id())
    }

    /// Gives an order; its answer is collected with [`Agents::collect`].
    pub fn order(&mut self, host: &str, command: AgentCommand) -> Result<Pending> {
        self.number += 1;
        let line = serde_json::to_string(&Order { number: self.number, command })?;
        let agent = self.by_host.get_mut(host).with_context(|| format!("no agent on {host}"))?;
        writeln!(agent.input, "{line}").with_context(|| format!("giving the agent of {host} an order"))?;
        Ok(Pending { host: host.to_owned(), number: self.number })
    }

    /// Waits for an order's answer: without end for a flow, which watches over itself, else [`QUICK`].
    pub fn collect(&mut self, pending: &Pending, is_flow: bool) -> Result<Reply> {
        loop {
            if let Some(reply) = self.early.remove(&pending.number) {
                return match reply {
                    Reply::Failed { message } => bail!("{}: {message}", pending.host),
                    reply => Ok(reply),
                };
            }
            let received = if is_flow {
                self.reports.recv().map_err(|_| RecvTimeoutError::Disconnected)
            } else {
                self.reports.recv_timeout(QUICK)
            };
            match received {
                Ok((_, Some(report))) => drop(self.early.insert(report.number, report.reply)),
                Ok((host, None)) => bail!("the agent of {host} ended in the middle of the trial"),
                Err(RecvTimeoutError::Timeout) => bail!("the agent of {} does not answer", pending.host),
                Err(RecvTimeoutError::Disconnected) => bail!("all agents ended in the middle of the trial"),
            }
        }
    }

    /// Gives many orders, a host and a command each, and waits for the answers, in the same order.
    pub fn ask_all(&mut self, orders: Vec<(&str, AgentCommand)>) -> Result<Vec<Reply>> {
        let (mut waiting, mut replies) = (VecDeque::new(), Vec::with_capacity(orders.len()));
        for (host, command) in orders {
            if waiting.len() == AT_ONCE
                && let Some(pending) = waiting.pop_front()
            {
                replies.push(self.collect(&pending, false)?);
            }
            waiting.push_back(self.order(host, command)?);
        }
        for pending in waiting {
            replies.push(self.collect(&pending, false)?);
        }
        Ok(replies)
    }
}

impl Drop for Agents {
    fn drop(&mut self) {
        for agent in self.by_host.values_mut() {
            // Its results are collected, or not wanted any more. An error means that it is gone.
            let _ = agent.process.kill();
        }
        for agent in self.by_host.values_mut() {
            let _ = agent.process.wait();
        }
    }
}

/// Starts an agent in the calling thread's namespace. What an agent inherits of this thread need not be set
/// between fork and exec, and so the process, which is large with a large network, need not be copied.
fn spawn(host: &str, processor: Option<usize>, reports: Sender<(String, Option<Report>)>) -> Result<Agent> {
    // This very program, even if another has been put in its place since it was started.
    let mut command = Command::new("/proc/self/exe");
    command.arg0("nettrial-engine").args(["agent", "--dies-with-parent"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let this_thread = Pid::from_raw(0);
    let before = sched_getaffinity(this_thread)?;
    if let Some(processor) = processor {
        let mut set = CpuSet::new();
        set.set(processor)?;
        sched_setaffinity(this_thread, &set)?;
    }
    let spawned = command.spawn();
    if processor.is_some() {
        sched_setaffinity(this_thread, &before)?;
    }
    let mut process = spawned?;
    let input = process.stdin.take().context("no pipe to the agent")?;
    let output = process.stdout.take().context("no pipe from the agent")?;
    let host = host.to_owned();
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            match serde_json::from_str(&line) {
                Ok(report) => {
                    if reports.send((host.clone(), Some(report))).is_err() {
                        return;
                    }
                }
                Err(error) => {
                    eprintln!("the agent of {host} wrote what is no report: {error}");
                    break;
                }
            }
        }
        // The trial is over if nobody listens.
        let _ = reports.send((host, None));
    });
    Ok(Agent { process, input })
}
