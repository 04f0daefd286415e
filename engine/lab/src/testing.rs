//! Namespaces for tests.

use std::process::Command;
use std::sync::{Mutex, PoisonError};

/// The environment variable that is set in the namespace of a test.
const INSIDE: &str = "NETTRIAL_TEST_NAMESPACE";
/// The largest number of attempts of a test.
const ATTEMPTS: usize = 3;

/// Returns true if this process is in its own network namespace, with all privileges over it. If not, runs the
/// test with this path again in a new one, by itself.
pub fn inside(test: &str) -> bool {
    if std::env::var_os(INSIDE).is_some() {
        return true;
    }
    // The tests run one at a time, because each of them measures time.
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--net"]).arg(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]).env(INSIDE, "1");
    let mut output = command.output().expect("unshare (util-linux) is there");
    // Threads that move frames are ordinary ones in the namespace, so that beside other work they may wait for
    // longer than a ring lasts.
    for _ in 1..ATTEMPTS {
        if output.status.success() {
            break;
        }
        eprintln!("another attempt after: {}", String::from_utf8_lossy(&output.stderr));
        output = command.output().expect("unshare (util-linux) is there");
    }
    let text = String::from_utf8_lossy(&output.stderr);
    if text.contains("unshare failed") && std::env::var_os("CI").is_none() {
        eprintln!("not tested, because there is no namespace: {text}");
        return false;
    }
    print!("{}", String::from_utf8_lossy(&output.stdout));
    assert!(output.status.success(), "{}{text}", String::from_utf8_lossy(&output.stdout));
    false
}
