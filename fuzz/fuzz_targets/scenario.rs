//! Requests to the engine: scenarios and measurements, which are checked.
#![no_main]

use nettrial_scenario::{Measure, Request, Scenario, check};

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let _ = serde_json::from_slice::<Request>(input);
    if let Ok(scenario) = serde_json::from_slice::<Scenario>(input) {
        let _ = check(&scenario);
    }
    if let Ok(measure) = serde_json::from_slice::<Measure>(input) {
        let _ = measure.problems();
    }
});
