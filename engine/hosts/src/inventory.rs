//! The inventory: the user's machines, how each is reached, and what may be done there.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// The machines of the user's, by name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Inventory {
    /// The machines.
    pub machines: BTreeMap<String, Place>,
}

/// A machine of the inventory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// A command that gives the standard input and output of a POSIX shell there, or of the engine: its words.
    pub reach: Vec<String>,
    /// The same in the user's words, for messages.
    pub reached_by: String,
    /// The engine's file there, below the user's home directory; none where the command is the engine.
    pub engine: Option<String>,
    /// The interfaces that traffic may use, in the order of the node's links.
    pub interfaces: Vec<Given>,
    /// The settings that nettrial may change there.
    #[serde(default)]
    pub may_change: Vec<Permission>,
    /// The nodes of a study that it stands for.
    #[serde(default)]
    pub nodes: Vec<String>,
}

/// An interface of a machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Given {
    /// Its name there.
    pub name: String,
    /// The addresses that traffic may use.
    pub addresses: Vec<IpAddr>,
}

/// Something on a machine that a study may change, and that is restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Permission {
    /// The MTU of the inventory's interfaces.
    Mtu,
    /// Their offloads: TSO, GSO, GRO.
    Offloads,
    /// True if it originates ICMP.
    Icmp,
    /// The congestion control of programs that choose none.
    CongestionControl,
    /// The sysctls in [`SYSCTLS`](crate::settings::SYSCTLS).
    Sysctls,
}

impl Permission {
    /// Its name in an inventory.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mtu => "mtu",
            Self::Offloads => "offloads",
            Self::Icmp => "icmp",
            Self::CongestionControl => "congestion_control",
            Self::Sysctls => "sysctls",
        }
    }
}

impl Inventory {
    /// The machine that stands for `node`: the one that the study names, else the one that the inventory gives to it.
    ///
    /// # Errors
    /// A sentence that says why there is none.
    pub fn of(&self, node: &str, machine: Option<&str>) -> Result<(&str, &Place), String> {
        if let Some(wanted) = machine {
            let found = self.machines.get_key_value(wanted);
            return found
                .map(|(name, place)| (name.as_str(), place))
                .ok_or_else(|| format!("the inventory has no machine {wanted:?}"));
        }
        let mut standing =
            self.machines.iter().filter(|(_, place)| place.nodes.iter().any(|name| name == node));
        match (standing.next(), standing.next()) {
            (Some((name, place)), None) => Ok((name, place)),
            (None, _) => Err(format!("no machine of the inventory has {node} among its nodes")),
            (Some((one, _)), Some((other, _))) => {
                Err(format!("both {one} and {other} have {node} among their nodes"))
            }
        }
    }

    /// The machines' names with commas between, for messages.
    pub fn names(&self) -> String {
        self.machines.keys().map(String::as_str).collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inventory(nodes: [&[&str]; 2]) -> Inventory {
        let place = |nodes: &[&str]| {
            serde_json::json!({"reach": ["sh"], "reached_by": "sh", "engine": "x", "interfaces": [],
                "nodes": nodes})
        };
        let machines = serde_json::json!({"machines": {"alpha": place(nodes[0]), "beta": place(nodes[1])}});
        serde_json::from_value(machines).unwrap()
    }

    #[test]
    fn the_study_names_a_machine_or_the_inventory_gives_it_to_the_node() {
        let given = inventory([&["sender"], &["receiver"]]);
        assert_eq!(given.of("sender", None).unwrap().0, "alpha");
        assert_eq!(given.of("sender", Some("beta")).unwrap().0, "beta");
        assert!(given.of("sender", Some("gamma")).unwrap_err().contains("no machine \"gamma\""));
        assert!(given.of("router", None).unwrap_err().contains("has router among its nodes"));
        assert!(inventory([&["a"], &["a"]]).of("a", None).unwrap_err().contains("both alpha and beta"));
    }

    #[test]
    fn an_unknown_field_is_an_error() {
        let text = r#"{"machines": {"a": {"reach": [], "engine": "", "interfaces": [], "colour": 1}}}"#;
        assert!(serde_json::from_str::<Inventory>(text).unwrap_err().to_string().contains("colour"));
    }
}
