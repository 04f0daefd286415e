//! Problems with a document, and their places in it.

use crate::{Flow, Link, Node};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::{self, Display};

/// One thing that is wrong with a scenario, or with another document that was checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Problem {
    /// The place of the bad value in the document, as a JSON pointer (RFC 6901). For an absent setting, this is
    /// the place where it would be.
    pub pointer: String,
    /// The setting's name: `mtu`, `rate`, `queue`, `stack`, `address`, `flow`, `node`, …
    pub setting: String,
    /// The object that has the setting, in words: "link sender - router".
    pub object: String,
    /// The bad value.
    pub value: String,
    /// The expected values.
    pub expected: String,
    /// The reason, and the remedy.
    pub hint: String,
    /// True if nothing is wrong with the document, but a machine lacks what it needs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub of_machine: bool,
}

impl Problem {
    /// Marks this as the problem of a machine that lacks what the document needs.
    #[must_use]
    pub fn of_machine(self) -> Self {
        Self { of_machine: true, ..self }
    }
}

impl Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pointer, setting, object, value, expected, hint, .. } = self;
        write!(formatter, "{setting} of {object} is {value}; expected: {expected} ({hint}; at {pointer})")
    }
}

/// A place in a document, and the object that it belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pointer: String,
    object: String,
}

impl Place {
    /// Creates the place to which the JSON pointer `pointer` leads; the empty pointer leads to the whole document.
    /// `object` is the object there, in words.
    pub fn new(pointer: impl Into<String>, object: impl Into<String>) -> Self {
        Self { pointer: pointer.into(), object: object.into() }
    }

    /// Returns the place of the link with this number in a scenario, which is called by its nodes.
    pub fn link(number: usize, link: &Link) -> Self {
        Self::new(format!("/links/{number}"), link.in_words())
    }

    /// Returns the problems that `check` finds with the link with this number, for each direction that has settings of
    /// its own: those of the reverse direction at `reverse`, without those that the other direction has, too.
    pub fn of_directions(
        number: usize,
        link: &Link,
        mut check: impl FnMut(&Link, &Self) -> Vec<Problem>,
    ) -> Vec<Problem> {
        let mut problems: Vec<Problem> = Vec::new();
        for (end, direction) in link.directions().enumerate() {
            let of_link = Self::link(number, link);
            let place = if end == 0 { of_link } else { of_link.within("reverse") };
            let of_direction = check(&direction, &place);
            let is_known = |one: &Problem| {
                problems.iter().any(|other| (&one.setting, &one.value) == (&other.setting, &other.value))
            };
            let fresh: Vec<Problem> = of_direction.into_iter().filter(|one| !is_known(one)).collect();
            problems.extend(fresh);
        }
        problems
    }

    /// Returns the place of the node with this number in a scenario.
    pub fn node(number: usize, node: &Node) -> Self {
        Self::new(format!("/nodes/{number}"), format!("node {:?}", node.name))
    }

    /// Returns the place of the flow with this number in a scenario.
    pub fn flow(number: usize, flow: &Flow) -> Self {
        Self::new(format!("/workload/{number}"), format!("flow {:?}", flow.name))
    }

    /// Returns the place of the member `step`, which is a field's name or a number and belongs to the same object.
    /// Names of fields contain neither `/` nor `~`, which a JSON pointer would escape.
    pub fn within(&self, step: impl Display) -> Self {
        Self { pointer: format!("{}/{step}", self.pointer), object: self.object.clone() }
    }

    /// Returns the same place with another object.
    pub fn called(self, object: impl Into<String>) -> Self {
        Self { object: object.into(), ..self }
    }

    /// Returns a problem with the place's field `setting`, or with a field of one of its members: `bursts.loss`.
    pub fn problem(
        &self,
        setting: &str,
        value: impl ToString,
        expected: impl Into<String>,
        hint: impl Into<String>,
    ) -> Problem {
        self.within(setting.replace('.', "/")).problem_here(setting, value, expected, hint)
    }

    /// Returns a problem with the place itself, which `setting` names.
    pub fn problem_here(
        &self,
        setting: &str,
        value: impl ToString,
        expected: impl Into<String>,
        hint: impl Into<String>,
    ) -> Problem {
        Problem {
            pointer: self.pointer.clone(),
            setting: setting.to_owned(),
            object: self.object.clone(),
            value: value.to_string(),
            expected: expected.into(),
            hint: hint.into(),
            of_machine: false,
        }
    }
}
