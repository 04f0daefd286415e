//! Finds what makes a queue's discipline impossible.

use crate::{Discipline, Link, Place, Problem, QueueLimit, Size};

/// Adds everything that is wrong with the discipline of `link`, which is at `place`.
pub fn check(link: &Link, place: &Place, problems: &mut Vec<Problem>) {
    if link.rate.is_none() && !link.discipline.is_drop_tail() {
        let hint = "a link without a rate never queues: give it a rate";
        problems.push(place.problem("discipline", "given", "drop_tail", hint));
    }
    let place = place.within("discipline");
    let mut refuse = |setting: &str, value: String, expected: &str, hint: &str| {
        problems.push(place.problem(setting, value, expected, hint));
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
        Discipline::CoDel { target, interval, .. } | Discipline::FqCodel { target, interval, .. } => {
            if target.0 == 0 || interval <= target {
                let value = format!("{target}, interval {interval}");
                let hint = "RFC 8289 section 4.3 says 5 ms and 100 ms";
                refuse("target", value, "above 0, and below the interval", hint);
            }
        }
        Discipline::Fq {} => {}
        Discipline::Cake { rtt } => {
            if rtt.0 == 0 {
                refuse("rtt", rtt.to_string(), "above 0", "such as 100 ms, the default");
            }
        }
        Discipline::Pie { target, update, .. } | Discipline::FqPie { target, update, .. } => {
            for (setting, value) in [("target", target), ("update", update)] {
                if value.0 == 0 {
                    refuse(setting, value.to_string(), "above 0", "RFC 8033 section 4 says 15 ms");
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rate;
    use serde_json::{Value, json};

    /// Returns the settings that are refused of a link with this discipline.
    fn refused(discipline: Value) -> Vec<String> {
        let interface = json!({"node": "a", "interface": "eth0", "mtu": "1500 B"});
        let link = json!({"ends": [interface, interface], "rate": "1 Gbit/s", "queue": "9 packets", "discipline": discipline});
        let mut link: Link = serde_json::from_value(link).unwrap();
        let mut problems = Vec::new();
        check(&link, &Place::link(0, &link), &mut problems);
        let shaped = problems.len();
        assert_eq!(link.rate.take(), Some(Rate(1_000_000_000)));
        check(&link, &Place::link(0, &link), &mut problems);
        let unshaped = problems.split_off(shaped).len();
        assert_eq!(
            unshaped,
            shaped + usize::from(!link.discipline.is_drop_tail()),
            "one more without a rate"
        );
        problems.into_iter().map(|problem| problem.setting).collect()
    }

    fn red(minimum: &str, maximum: &str, probability: f64, weight: f64) -> Vec<String> {
        refused(json!({"discipline": "red", "minimum": minimum, "maximum": maximum,
            "probability": probability, "weight": weight}))
    }

    #[test]
    fn parameters_out_of_range_are_refused_by_name() {
        assert!(refused(json!({"discipline": "drop_tail"})).is_empty());
        assert!(red("5 kB", "15 kB", 0.1, 0.002).is_empty());
        assert_eq!(red("15 kB", "15 kB", 0.1, 0.002), ["minimum"]);
        assert_eq!(red("0 B", "15 kB", 1.1, 0.0), ["minimum", "probability", "weight"]);
        let codel = |target: &str, interval: &str| {
            refused(json!({"discipline": "codel", "target": target, "interval": interval}))
        };
        assert!(codel("5 ms", "100 ms").is_empty());
        assert_eq!(
            (codel("0 ms", "100 ms"), codel("5 ms", "5 ms")),
            (vec!["target".into()], vec!["target".into()])
        );
        let mark = |threshold: &str| refused(json!({"discipline": "mark", "threshold": threshold}));
        assert!(mark("65 packets").is_empty());
        assert_eq!(mark("0 packets"), ["threshold"]);
    }
}
