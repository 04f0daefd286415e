//! The sockets of another program, by copies of its descriptors (pidfd_getfd(2), Linux 5.6 and later).

use super::sockets::congestion_control;
use socket2::Socket;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Returns the port at the other end of each TCP connection of the process with this ID, and the congestion control in force
/// on it.
pub fn congestion_controls_of(process: u32) -> io::Result<Vec<(u16, String)>> {
    let mut controls = Vec::new();
    for socket in sockets_of(process)? {
        let peer = socket.peer_addr().ok().and_then(|address| address.as_socket());
        if let (Some(peer), Ok(name)) = (peer, congestion_control(&socket)) {
            controls.push((peer.port(), name));
        }
    }
    Ok(controls)
}

/// Returns copies of all sockets of the process with this ID; those that it closes meanwhile are left out.
///
/// # Errors
/// Fails if the process does not exist, or if its descriptors may not be copied (ptrace(2), PTRACE_MODE_ATTACH_REALCREDS).
pub fn sockets_of(process: u32) -> io::Result<Vec<Socket>> {
    let handle = open_process(process)?;
    let mut sockets = Vec::new();
    for entry in fs::read_dir(format!("/proc/{process}/fd"))? {
        let entry = entry?;
        let Ok(target) = fs::read_link(entry.path()) else { continue };
        let number = entry.file_name().to_str().and_then(|name| name.parse().ok());
        let (true, Some(number)) = (target.to_string_lossy().starts_with("socket:"), number) else {
            continue;
        };
        match copy_of(&handle, number) {
            Ok(socket) => sockets.push(socket),
            Err(error) if error.raw_os_error() == Some(libc::EBADF) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(sockets)
}

fn open_process(process: u32) -> io::Result<OwnedFd> {
    // SAFETY: the call takes two numbers and no memory.
    owned(unsafe { libc::syscall(libc::SYS_pidfd_open, process, 0) })
}

/// Returns a copy of the process's descriptor with this number.
fn copy_of(process: &OwnedFd, number: i32) -> io::Result<Socket> {
    // SAFETY: the call takes three numbers and no memory.
    owned(unsafe { libc::syscall(libc::SYS_pidfd_getfd, process.as_raw_fd(), number, 0) }).map(Socket::from)
}

/// Takes the descriptor that a system call gave.
fn owned(result: libc::c_long) -> io::Result<OwnedFd> {
    match i32::try_from(result) {
        // SAFETY: the kernel has just made this descriptor, and nothing else has it.
        Ok(descriptor) if descriptor >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(descriptor) }),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use socket2::SockRef;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn a_connection_s_congestion_control_is_found_in_a_process_by_its_peer() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        SockRef::from(&stream).set_tcp_congestion(b"reno").unwrap();
        let of_this = |port: u16| {
            let found = congestion_controls_of(std::process::id()).unwrap();
            found.into_iter().find(|(peer, _)| *peer == port).map(|(_, name)| name)
        };
        assert_eq!(of_this(port).as_deref(), Some("reno"));
        drop((stream, listener));
        assert_eq!(of_this(port), None);
    }
}
