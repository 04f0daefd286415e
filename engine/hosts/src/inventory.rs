//! The inventory: the user's machines, the command that reaches each of them, and the settings that may be changed
//! there.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// The user's machines, by name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Inventory {
    /// The machines.
    pub machines: BTreeMap<String, MachineEntry>,
    /// The name of the set that the machines form, which their records have.
    #[serde(default)]
    pub set: Option<String>,
}

/// A machine of the inventory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MachineEntry {
    /// The words of a command that connects its standard input and output to a POSIX shell on the machine, or to
    /// the engine there.
    pub reach: Vec<String>,
    /// The same command as the user wrote it, for messages.
    pub reached_by: String,
    /// The path of the engine on the machine, relative to the user's home directory; `None` if the command starts
    /// the engine.
    pub engine: Option<String>,
    /// The interfaces that traffic may use, in the order of the node's links.
    pub interfaces: Vec<InterfaceEntry>,
    /// The settings that nettrial may change on the machine.
    #[serde(default)]
    pub may_change: Vec<Permission>,
    /// The nodes of studies that the machine stands for.
    #[serde(default)]
    pub nodes: Vec<String>,
    /// The words of the command that starts the machine in the lab; empty for a machine that runs by itself. A word
    /// that contains `{NAME}` has there the number of the file that is the other end of the interface NAME.
    #[serde(default)]
    pub starts: Vec<String>,
}

/// An interface of a machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InterfaceEntry {
    /// The interface's name on the machine.
    pub name: String,
    /// The addresses that traffic may use.
    pub addresses: Vec<IpAddr>,
}

/// A kind of setting of a machine that a study may change, and that is restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Permission {
    /// The MTU of the interfaces in the inventory.
    Mtu,
    /// The offloads of the interfaces in the inventory: TSO, GSO, GRO.
    Offloads,
    /// The addresses of the interfaces in the inventory, and the routes through them, in the lab.
    Addresses,
    /// The ICMP messages that the machine originates: on or off.
    Icmp,
    /// The congestion control of programs that choose none.
    CongestionControl,
    /// The sysctls in [`SYSCTLS`](crate::settings::SYSCTLS).
    Sysctls,
}

impl Permission {
    /// Returns the permission's name in an inventory.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mtu => "mtu",
            Self::Offloads => "offloads",
            Self::Addresses => "addresses",
            Self::Icmp => "icmp",
            Self::CongestionControl => "congestion_control",
            Self::Sysctls => "sysctls",
        }
    }
}

impl Inventory {
    /// Returns the machine that stands for `node`: the one that the study names, or else the one that the
    /// inventory assigns to it.
    ///
    /// # Errors
    /// The error is a sentence with the reason why there is no such machine.
    pub fn of(&self, node: &str, machine: Option<&str>) -> Result<(&str, &MachineEntry), String> {
        if let Some(wanted) = machine {
            let entry = self.machines.get_key_value(wanted);
            return entry
                .map(|(name, entry)| (name.as_str(), entry))
                .ok_or_else(|| format!("the inventory has no machine {wanted:?}"));
        }
        let mut standing =
            self.machines.iter().filter(|(_, entry)| entry.nodes.iter().any(|name| name == node));
        match (standing.next(), standing.next()) {
            (Some((name, entry)), None) => Ok((name, entry)),
            (None, _) => Err(format!("no machine of the inventory has {node} among its nodes")),
            (Some((one, _)), Some((other, _))) => {
                Err(format!("both {one} and {other} have {node} among their nodes"))
            }
        }
    }

    /// Returns the machines' names separated by commas, for messages.
    pub fn names(&self) -> String {
        self.machines.keys().map(String::as_str).collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inventory(nodes: [&[&str]; 2]) -> Inventory {
        let entry = |nodes: &[&str]| {
            serde_json::json!({"reach": ["sh"], "reached_by": "sh", "engine": "x", "interfaces": [],
                "nodes": nodes})
        };
        let machines = serde_json::json!({"machines": {"alpha": entry(nodes[0]), "beta": entry(nodes[1])}});
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
