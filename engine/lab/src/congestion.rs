//! The engine's own congestion controls. They are loaded into the kernel when a scenario first requires one, and
//! stay there as long as this engine runs. The kernel has one list of them for the machine, not one for each
//! namespace, so each engine's controls have their own names there.

use crate::error::{Error, Result};
use nettrial_bpf::Registered;
use nettrial_scenario::{Callbacks, CongestionRecord, Node, Record, Scenario, Shortfall, chain};
use std::cell::OnceCell;

/// The engine's own congestion controls.
pub struct Own {
    missing: Vec<Shortfall>,
    controls: Vec<Control>,
}

/// A congestion control of nettrial's own, which is loaded when a scenario first requires it.
struct Control {
    algorithm: &'static str,
    /// The control in the kernel, or the reason why it is not there, once it was first required.
    registered: OnceCell<Result<Registered, String>>,
}

impl Own {
    /// Creates the list without loading anything.
    pub fn new(is_root: bool, jit_is_off: bool) -> Self {
        let controls = nettrial_bpf::algorithms()
            .map(|algorithm| Control { algorithm, registered: OnceCell::new() })
            .collect();
        Self { missing: nettrial_bpf::missing(is_root, jit_is_off), controls }
    }

    /// Returns the controls that the kernel accepts, and the reasons why the others can't be loaded: missing
    /// features of the machine, or else the kernel's error for each. Nothing stays loaded.
    pub fn examine(&self) -> (Vec<&'static str>, Vec<Shortfall>) {
        let algorithms: Vec<&str> = self.controls.iter().map(|control| control.algorithm).collect();
        if !self.missing.is_empty() {
            let lacks = self.missing.iter().map(|missing| Shortfall {
                what: format!("congestion controls {}: {}", algorithms.join(", "), missing.what),
                ..missing.clone()
            });
            return (Vec::new(), lacks.collect());
        }
        let (mut taken, mut refused) = (Vec::new(), Vec::new());
        for algorithm in algorithms {
            match nettrial_bpf::verify(algorithm) {
                Ok(()) => taken.push(algorithm),
                Err(error) => refused.push(Shortfall::new(
                    format!("congestion control {algorithm}"),
                    chain(&error),
                    "use another kernel, such as Linux 6.18",
                )),
            }
        }
        (taken, refused)
    }

    /// Returns the control of this name in the kernel, or the reason why it can't be loaded; `None` if the engine
    /// has no control of that name.
    pub fn get(&self, name: &str) -> Option<Result<&Registered, &str>> {
        let control = self.controls.iter().find(|control| control.algorithm == name)?;
        let registered = control.registered.get_or_init(|| {
            if self.missing.is_empty() {
                return Registered::new(control.algorithm).map_err(|error| chain(&error));
            }
            let reasons: Vec<String> =
                self.missing.iter().map(|missing| format!("{}: {}", missing.what, missing.why)).collect();
            Err(reasons.join("; "))
        });
        Some(registered.as_ref().map_err(String::as_str))
    }

    /// Returns `scenario` with the kernel's names of these controls in its hosts' stacks.
    pub fn in_kernel(&self, scenario: &Scenario) -> Result<Scenario> {
        let mut scenario = scenario.clone();
        for stack in scenario.nodes.iter_mut().filter_map(|node| node.stack.as_mut()) {
            if let Some(control) = self.get(&stack.congestion_control) {
                let registered = control
                    .map_err(|why| Error::Unsupported(format!("{}: {why}", stack.congestion_control)))?;
                stack.congestion_control.clone_from(&registered.kernel_name);
            }
        }
        Ok(scenario)
    }

    /// Returns the number of calls so far to each control that is loaded.
    pub fn callbacks(&self) -> Result<Vec<(&Registered, Callbacks)>> {
        self.loaded().map(|registered| Ok((registered, registered.callbacks()?))).collect()
    }

    /// Returns the calls since `before` to the controls that hosts of `scenario` have, by the kernel's names.
    pub fn since(
        &self,
        before: &[(&Registered, Callbacks)],
        scenario: &Scenario,
    ) -> Result<Vec<CongestionRecord>> {
        let is_used = |registered: &Registered| {
            let stack = |node: &Node| Some(node.stack.as_ref()?.congestion_control == registered.kernel_name);
            scenario.nodes.iter().filter_map(stack).any(|is_it| is_it)
        };
        let used = before.iter().filter(|(registered, _)| is_used(registered));
        used.map(|(registered, earlier)| {
            let callbacks = registered.callbacks()?.since(*earlier);
            Ok(CongestionRecord { name: registered.kernel_name.clone(), callbacks })
        })
        .collect()
    }

    /// Replaces the kernel's names of these controls in `record` by their own names. Tools' command lines and
    /// outputs are left as they are.
    pub fn out_of_kernel(&self, record: &mut Record) {
        for Registered { algorithm, kernel_name, .. } in self.loaded() {
            let restore = |text: &mut String| {
                if text.contains(kernel_name) {
                    *text = text.replace(kernel_name, algorithm);
                }
            };
            record.congestion.iter_mut().for_each(|control| restore(&mut control.name));
            for flow in &mut record.flows {
                restore(&mut flow.congestion_control);
                flow.subflows.iter_mut().for_each(|subflow| restore(&mut subflow.congestion_control));
            }
            for check in &mut record.checks {
                [&mut check.object, &mut check.expected, &mut check.found].into_iter().for_each(restore);
            }
            for warning in &mut record.warnings {
                [&mut warning.object, &mut warning.message].into_iter().for_each(restore);
            }
        }
    }

    fn loaded(&self) -> impl Iterator<Item = &Registered> {
        self.controls.iter().filter_map(|control| control.registered.get()?.as_ref().ok())
    }
}
