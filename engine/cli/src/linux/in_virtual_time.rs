//! The lab in virtual time as a backend.

use crate::linux::lab;
use crate::serve::{failed, refused, serve as serve_with};
use anyhow::Result;
use clap::Args;
use nettrial_guest::Catalogue;
use nettrial_lab::{Clock, Lab, unsupported};
use nettrial_scenario::{
    Environment, Event, Failure, FailureKind, Fault, Preflight, Problem, Request, Shortfall, chain,
};
use nettrial_virtual::{Kernel, take_system};
use std::path::PathBuf;

/// The remedies for a machine without a kernel, for one that forbids tracing, for one with another
/// CPU, and for others.
const INSTALL: &str = "install the package nettrial-kernel, or build one: nettrial systems add linux --package \
                       linux-source-6.12";
const TRACE: &str = "allow this user to trace processes: in a container with --cap-add=SYS_PTRACE, elsewhere with \
                     sysctl kernel.yama.ptrace_scope=1";
const CPU: &str = "use a machine with such a CPU, or `--backend lab` or `--backend sim` here";
const CHECK: &str = "`nettrial systems check` verifies the files of kernels; `--backend sim` needs none";

/// The options of the backend.
#[derive(Args)]
pub struct Options {
    /// The kernel, a program of Linux for virtual time
    #[arg(long, value_name = "FILE")]
    kernel: Option<PathBuf>,
}

/// Serves requests, each in a kernel of its own, until the input ends.
///
/// # Errors
/// Fails if nobody reads the answers, or if this program's own files can't be read.
pub fn serve(options: Options) -> Result<()> {
    if !cfg!(target_arch = "x86_64") {
        let refusal =
            lacking(&format!("it needs an x86-64 CPU, and this one is {}", std::env::consts::ARCH), CPU);
        return serve_with(|request| refused(&refusal, request));
    }
    let kernel = options.kernel.map(Kernel::new).transpose()?;
    let systems = Catalogue::of_environment();
    serve_with(|mut request| {
        let named = match &mut request {
            Request::Run { scenario, .. } | Request::Check { scenario } => take_system(scenario, &systems),
            Request::Preflight { .. } => Ok(None),
        };
        let named = match named {
            Ok(program) => program.map(Kernel::new).transpose(),
            Err(problem) => return with_problem(*problem, request),
        };
        match (named, &kernel) {
            (Ok(Some(named)), _) => answer(&named, request),
            (Ok(None), Some(kernel)) => answer(kernel, request),
            (Ok(None), None) => without_kernel(request),
            (Err(error), _) => refused(&lacking(&chain(&error), CHECK), request),
        }
    })
}

/// Returns the answer to a request whose scenario has this problem.
fn with_problem(problem: Problem, request: Request) -> Event {
    match request {
        Request::Run { trial, .. } => failed(trial, &Failure::new(FailureKind::Other, problem.to_string())),
        _ => Event::Checked { problems: vec![problem], estimate: None },
    }
}

/// Returns the answer where there is no kernel. What no kernel in virtual time supports is known without one.
fn without_kernel(request: Request) -> Event {
    let more = match &request {
        Request::Check { scenario } => unsupported(scenario, Clock::Virtual),
        _ => Vec::new(),
    };
    let mut event = refused(&lacking("there is none", INSTALL), request);
    if let Event::Checked { problems, .. } = &mut event {
        problems.extend(more);
    }
    event
}

fn answer(kernel: &Kernel, request: Request) -> Event {
    match (kernel.answer(request.clone()), request) {
        (Ok(Event::Preflight { mut preflight }), _) => {
            // The kernel has one CPU and knows no other, but trials run on all of this machine's.
            let Environment { processor, processors, .. } = nettrial_sim::preflight().environment;
            preflight.environment = Environment { processor, processors, ..preflight.environment };
            Event::Preflight { preflight }
        }
        (Ok(event), _) => event,
        (Err(error), Request::Run { trial, .. }) => failed(trial, &error),
        (Err(error), other) => {
            let remedy = if error.kind() == FailureKind::NoPrivileges { TRACE } else { CHECK };
            refused(&lacking(&chain(&error), remedy), other)
        }
    }
}

/// Returns the preflight of a machine that lacks a kernel which answers.
fn lacking(why: &str, remedy: &str) -> Preflight {
    let shortfall = Shortfall::new("a kernel in virtual time", why, remedy);
    let mut preflight = nettrial_sim::preflight();
    preflight.environment.kernel = "none in virtual time".into();
    preflight.environment.congestion_controls.clear();
    Preflight {
        missing: vec![shortfall],
        capabilities: Some(Box::new(nettrial_lab::capabilities(Clock::Virtual))),
        ..preflight
    }
}

/// Runs as the first process of a kernel.
///
/// # Errors
/// Fails if the request can't be read, or a file system not be mounted.
pub fn init() -> Result<()> {
    Ok(nettrial_virtual::init(|request| lab::answer(&Lab::enter(Clock::Virtual), request))?)
}
