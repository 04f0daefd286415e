//! What makes a queue's discipline impossible.

use super::Problem;
use crate::{Discipline, Link, QueueLimit, Size};

/// Adds everything that is wrong with the discipline of `link`, which is called `object`.
pub fn check(link: &Link, object: &str, problems: &mut Vec<Problem>) {
    if link.rate.is_none() && !link.discipline.is_drop_tail() {
        let hint = "a link without a rate never queues: give it a rate";
        problems.push(Problem::new("discipline", object, "given", "drop_tail", hint));
    }
    let mut refuse = |setting: &str, value: String, legal: &str, hint: &str| {
        problems.push(Problem::new(setting, object, value, legal, hint));
    };
    match link.discipline {
        Discipline::DropTail {} => {}
        Discipline::Mark { threshold } => {
            if matches!(threshold, QueueLimit::Packets(0) | QueueLimit::Bytes(Size(0))) {
                let hint = "a threshold of nothing marks every packet that waits";
                refuse("threshold", threshold.to_string(), "1 packet or more", hint);
            }
        }
        Discipline::Red { minimum, maximum, probability, weight, .. } => {
            if minimum.0 == 0 || maximum <= minimum {
                let value = format!("{minimum} to {maximum}");
                let hint = "drops begin at the minimum and rise up to the maximum";
                refuse("minimum", value, "above 0, and below the maximum", hint);
            }
            for (setting, value) in [("probability", probability), ("weight", weight)] {
                if !(value > 0.0 && value <= 1.0) {
                    refuse(setting, value.to_string(), "above 0, up to 1", "such as 0.1, and 0.002");
                }
            }
        }
        Discipline::CoDel { target, interval, .. } => {
            if target.0 == 0 || interval <= target {
                let value = format!("{target}, interval {interval}");
                let hint = "RFC 8289 section 4.3 says 5 ms and 100 ms";
                refuse("target", value, "above 0, and below the interval", hint);
            }
        }
    }
}
