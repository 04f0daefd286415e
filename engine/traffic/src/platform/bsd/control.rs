//! Reads values of the kernel by name (sysctl(3)).

use std::ffi::CStr;
use std::io;

/// Returns the bytes of the value called `name`.
///
/// # Errors
/// Fails if there is no such value.
pub fn bytes(name: &CStr) -> io::Result<Vec<u8>> {
    let mut length = 0;
    // SAFETY: without memory for the value the kernel writes only its length.
    let status = unsafe {
        libc::sysctlbyname(name.as_ptr(), std::ptr::null_mut(), &raw mut length, std::ptr::null_mut(), 0)
    };
    if status != 0 {
        return Err(io::Error::last_os_error());
    }
    let mut value = vec![0; length];
    // SAFETY: the memory is writable for `length` bytes; the kernel writes no more, and reports how many.
    let status = unsafe {
        let at = value.as_mut_ptr().cast();
        libc::sysctlbyname(name.as_ptr(), at, &raw mut length, std::ptr::null_mut(), 0)
    };
    if status != 0 {
        return Err(io::Error::last_os_error());
    }
    value.truncate(length);
    Ok(value)
}

/// Returns the text of the value called `name`, if there is one.
pub fn text(name: &CStr) -> Option<String> {
    let value = bytes(name).ok()?;
    let text = value.split(|&byte| byte == 0).next()?;
    Some(String::from_utf8_lossy(text).into_owned()).filter(|text| !text.is_empty())
}
