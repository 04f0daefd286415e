//! Reads what determines the speed of this machine's CPUs: governors, frequency limits, mains power, heat and
//! sleep.

use crate::message::Pace;
use std::fs;
use std::path::Path;

/// The directory in which the kernel reports it (sysfs).
const SYS: &str = "/sys";

/// Reads the settings and counters (Documentation/ABI/testing/sysfs-devices-system-cpu, sysfs-class-power,
/// sysfs-power).
pub fn pace() -> Pace {
    read(Path::new(SYS))
}

fn read(sys: &Path) -> Pace {
    let processors = directories(&sys.join("devices/system/cpu"), |name| {
        name.strip_prefix("cpu").is_some_and(|number| number.parse::<u32>().is_ok())
    });
    let mut policies: Vec<String> = processors
        .iter()
        .filter_map(|processor| {
            let policy = processor.join("cpufreq");
            Some(format!("{} {}", line(&policy, "scaling_governor")?, line(&policy, "scaling_max_freq")?))
        })
        .collect();
    policies.sort();
    policies.dedup();
    let count = |processor: &std::path::PathBuf| {
        line(&processor.join("thermal_throttle"), "core_throttle_count")?.parse::<u64>().ok()
    };
    let supplies = directories(&sys.join("class/power_supply"), |_| true);
    let mains = supplies.iter().filter(|supply| line(supply, "type").as_deref() == Some("Mains"));
    let online: Vec<bool> = mains.filter_map(|supply| Some(line(supply, "online")? != "0")).collect();
    Pace {
        policies,
        on_mains: (!online.is_empty()).then(|| online.contains(&true)),
        throttled: processors.iter().filter_map(count).sum(),
        slept: line(&sys.join("power/suspend_stats"), "success")
            .and_then(|text| text.parse().ok())
            .unwrap_or(0),
    }
}

/// Returns the governors in force, each once, separated by commas; `None` if the kernel does not set frequencies.
#[cfg(target_os = "linux")]
pub fn governor() -> Option<String> {
    let mut names: Vec<String> =
        pace().policies.iter().filter_map(|policy| Some(policy.split_once(' ')?.0.to_owned())).collect();
    names.dedup();
    (!names.is_empty()).then(|| names.join(", "))
}

fn directories(of: &Path, wanted: impl Fn(&str) -> bool) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(of).into_iter().flatten().flatten();
    let named = entries.filter(|entry| wanted(&entry.file_name().to_string_lossy()));
    named.map(|entry| entry.path()).collect()
}

fn line(folder: &Path, name: &str) -> Option<String> {
    let text = fs::read_to_string(folder.join(name)).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// Returns the changes between two moments, as sentences without a full stop.
pub fn changes(before: &Pace, after: &Pace) -> Vec<String> {
    let mut differences = Vec::new();
    if before.policies != after.policies {
        let policies = |pace: &Pace| pace.policies.join(" kHz, ");
        let (was, is) = (policies(before), policies(after));
        differences.push(format!("governor and highest frequency were {was} kHz, and later {is} kHz"));
    }
    if let (Some(was), Some(is)) = (before.on_mains, after.on_mains)
        && was != is
    {
        differences.push(format!("the machine went {} mains power", if is { "back to" } else { "off" }));
    }
    if after.throttled > before.throttled {
        differences.push(format!("heat slowed CPUs down {} times", after.throttled - before.throttled));
    }
    if after.slept > before.slept {
        differences.push("the machine slept".into());
    }
    differences
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_read_from_what_the_kernel_writes() {
        let sys = std::env::temp_dir().join(format!("nettrial-pace-{}", std::process::id()));
        let write = |name: &str, text: &str| {
            let file = sys.join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        };
        for number in 0..2 {
            let of = format!("devices/system/cpu/cpu{number}");
            write(&format!("{of}/cpufreq/scaling_governor"), "schedutil\n");
            write(&format!("{of}/cpufreq/scaling_max_freq"), "3600000\n");
            write(&format!("{of}/thermal_throttle/core_throttle_count"), "4\n");
        }
        write("devices/system/cpu/cpufreq/boost", "1\n");
        write("class/power_supply/AC/type", "Mains\n");
        write("class/power_supply/AC/online", "1\n");
        write("class/power_supply/BAT0/type", "Battery\n");
        write("power/suspend_stats/success", "7\n");
        let before = read(&sys);
        let expected =
            Pace { policies: vec!["schedutil 3600000".into()], on_mains: Some(true), throttled: 8, slept: 7 };
        assert_eq!(before, expected);
        write("class/power_supply/AC/online", "0\n");
        write("devices/system/cpu/cpu1/cpufreq/scaling_max_freq", "1200000\n");
        write("devices/system/cpu/cpu1/thermal_throttle/core_throttle_count", "6\n");
        let found = changes(&before, &read(&sys));
        fs::remove_dir_all(&sys).unwrap();
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found[0].ends_with("and later schedutil 1200000 kHz, schedutil 3600000 kHz"), "{found:?}");
        assert_eq!(found[1..], ["the machine went off mains power", "heat slowed CPUs down 2 times"]);
        assert!(changes(&before, &before).is_empty());
    }

    #[test]
    fn a_machine_that_tells_nothing_has_no_pace() {
        assert_eq!(read(Path::new("/nettrial-none")), Pace::default());
    }
}
