//! Reads the clocks of the machine's CPUs.

use crate::platform::ProcessorTimes;
use std::io;

const SECOND_NS: u64 = 1_000_000_000;

/// Reads the clocks of every CPU (the sysctl kern.cp_times), which the kernel's statistics clock samples.
/// Interrupts have their own column.
///
/// # Errors
/// Fails if the kernel does not report them.
#[cfg(target_os = "freebsd")]
pub fn processors() -> io::Result<Vec<ProcessorTimes>> {
    use super::control;
    // struct clockinfo (sys/time.h): hz, tick, spare, stathz, profhz.
    let rate = numbers::<4>(&control::bytes(c"kern.clockrate")?).get(3).copied().unwrap_or(0);
    if rate == 0 {
        return Err(io::Error::other("kern.clockrate does not report how often CPUs are sampled"));
    }
    let ticks = numbers::<8>(&control::bytes(c"kern.cp_times")?);
    let ns = |ticks: u64| u64::try_from(u128::from(ticks) * u128::from(SECOND_NS) / u128::from(rate));
    let times = |(processor, states): (usize, &[u64])| ProcessorTimes {
        processor,
        idle_ns: ns(states[libc::CP_IDLE as usize]).unwrap_or(u64::MAX),
        steal_ns: 0,
        interrupt_ns: ns(states[libc::CP_INTR as usize]).ok(),
    };
    Ok(ticks.chunks_exact(libc::CPUSTATES as usize).enumerate().map(times).collect())
}

/// Returns the consecutive integers of `SIZE` bytes in `value`.
#[cfg(target_os = "freebsd")]
fn numbers<const SIZE: usize>(value: &[u8]) -> Vec<u64> {
    let number = |bytes: &[u8; SIZE]| {
        let mut wide = [0; 8];
        wide[..SIZE].copy_from_slice(bytes);
        u64::from_le_bytes(wide)
    };
    value.as_chunks::<SIZE>().0.iter().map(number).collect()
}

/// Reads the clocks of every CPU (host_processor_info, PROCESSOR_CPU_LOAD_INFO), in ticks of 10 ms. Interrupts
/// have no column of their own.
///
/// # Errors
/// Fails if the kernel does not report them.
#[cfg(target_os = "macos")]
#[expect(deprecated, reason = "the library recommends a separate crate for Mach")]
pub fn processors() -> io::Result<Vec<ProcessorTimes>> {
    /// The length of a tick of a CPU's clocks, in nanoseconds (CLK_TCK, time.h).
    const TICK_NS: u64 = SECOND_NS / 100;
    const STATES: usize = libc::CPU_STATE_MAX as usize;
    let (mut count, mut info, mut length) = (0, std::ptr::null_mut(), 0);
    // SAFETY: the three are writable; the kernel allocates the memory for the ticks.
    let status = unsafe {
        libc::host_processor_info(
            libc::mach_host_self(),
            libc::PROCESSOR_CPU_LOAD_INFO,
            &raw mut count,
            &raw mut info,
            &raw mut length,
        )
    };
    if status != libc::KERN_SUCCESS {
        return Err(io::Error::other(format!("host_processor_info returned the status {status}")));
    }
    // SAFETY: the kernel returned `length` integers at `info`, which belong to this process until they are freed.
    let ticks = unsafe { std::slice::from_raw_parts(info, length as usize) };
    let times = |(processor, states): (usize, &[libc::integer_t])| ProcessorTimes {
        processor,
        idle_ns: u64::from(states[libc::CPU_STATE_IDLE as usize].cast_unsigned()) * TICK_NS,
        steal_ns: 0,
        interrupt_ns: None,
    };
    let processors = ticks.chunks_exact(STATES).enumerate().map(times).collect();
    // SAFETY: nothing refers to the memory any more; all of it is freed.
    unsafe {
        libc::vm_deallocate(
            libc::mach_task_self(),
            info as usize,
            length as usize * size_of::<libc::integer_t>(),
        )
    };
    Ok(processors)
}
