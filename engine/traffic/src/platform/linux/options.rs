//! Reads and sets socket options that the library does not have.

use std::io;
use std::os::fd::AsRawFd;

/// A structure that the kernel may fill.
///
/// # Safety
/// Every bit pattern is a valid value of the type, and the type has no padding that must keep its value.
pub unsafe trait Plain: Copy {}

// SAFETY: the type is an integer.
unsafe impl Plain for i32 {}

/// Sets an option of `socket` (setsockopt(2)).
pub fn set(socket: &impl AsRawFd, level: i32, option: i32, value: i32) -> io::Result<()> {
    let length = length_of(&value);
    // SAFETY: `value` is a readable integer of `length` bytes, and the descriptor is open for as long as
    // `socket` is borrowed.
    let status =
        unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, (&raw const value).cast(), length) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Reads an option of `socket` into `value` (getsockopt(2)). The kernel fills the part of `value` that it
/// supports.
pub fn get<T: Plain>(socket: &impl AsRawFd, level: i32, option: i32, value: &mut T) -> io::Result<()> {
    let mut length = length_of(value);
    // SAFETY: `value` is writable for `length` bytes, any bytes are a valid value of its type, and the descriptor
    // is open for as long as `socket` is borrowed.
    let status = unsafe {
        libc::getsockopt(socket.as_raw_fd(), level, option, std::ptr::from_mut(value).cast(), &raw mut length)
    };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn length_of<T>(value: &T) -> libc::socklen_t {
    libc::socklen_t::try_from(size_of_val(value)).expect("a structure of the kernel is small")
}
