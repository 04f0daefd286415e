//! The platform on Windows 10 and later, and on Wine, which is distinguished from Windows and never reported as
//! Windows.

pub mod host;

pub use super::other::unreported::{choose_congestion_control, congestion_control, limit_segments};
use super::{ProcessorTimes, coalesced, sio_tcp_info};
use crate::tcp_state::TcpState;
use std::ffi::{CStr, c_char};
use std::io;
use std::net::{TcpStream, UdpSocket};
use std::os::windows::io::AsRawSocket;
use std::sync::{LazyLock, OnceLock};
use windows_sys::Wdk::System::SystemInformation::{
    NtQuerySystemInformation, SystemProcessorPerformanceInformation,
};
use windows_sys::Win32::Foundation::FILETIME;
use windows_sys::Win32::Networking::WinSock;
use windows_sys::Win32::System::LibraryLoader::{GetModuleHandleA, GetProcAddress};
use windows_sys::Win32::System::Performance::{QueryPerformanceCounter, QueryPerformanceFrequency};
use windows_sys::Win32::System::Threading::{GetCurrentThread, GetThreadTimes};
use windows_sys::Win32::System::WindowsProgramming::SYSTEM_PROCESSOR_PERFORMANCE_INFORMATION;

/// True if [`limit_segments`] limits segments on this system.
pub const LIMITS_SEGMENTS: bool = false;
/// The unit of the system's counts of CPU time, in nanoseconds.
const UNIT_NS: u64 = 100;
/// The largest number of CPUs in a group. The group of the calling thread is read; machines with more CPUs have
/// several groups.
const MOST_PROCESSORS: usize = 64;

/// The version of Wine, if this program runs under it: a function that only Wine's ntdll has returns it.
static WINE: LazyLock<Option<String>> = LazyLock::new(|| {
    // SAFETY: both names end with a zero byte, ntdll is part of every process, and Wine's function has this form
    // (dlls/ntdll/version.c): it returns a string that lives as long as the process.
    unsafe {
        let symbol = GetProcAddress(
            GetModuleHandleA(c"ntdll.dll".as_ptr().cast()),
            c"wine_get_version".as_ptr().cast(),
        )?;
        let version: unsafe extern "C" fn() -> *const c_char = std::mem::transmute(symbol);
        Some(CStr::from_ptr(version()).to_string_lossy().into_owned())
    }
});

/// Returns the system's name for messages.
pub fn system_name() -> String {
    WINE.as_ref().map_or_else(|| "Windows".to_owned(), |version| format!("Wine {version} (not Windows)"))
}

/// The number of counts per second of the monotonic clock, which all processes share.
static PER_SECOND: LazyLock<u128> = LazyLock::new(|| {
    let mut frequency = 0;
    // SAFETY: the frequency is a writable integer.
    unsafe { QueryPerformanceFrequency(&raw mut frequency) };
    // The frequency is never 0 since Windows XP.
    u128::try_from(frequency).unwrap_or(1).max(1)
});

/// Returns the time of the monotonic clock in nanoseconds (QueryPerformanceCounter). All processes of the machine
/// share this clock.
pub fn now_ns() -> u64 {
    let mut count = 0;
    // SAFETY: the count is a writable integer.
    unsafe { QueryPerformanceCounter(&raw mut count) };
    let ns = u128::try_from(count).unwrap_or(0) * 1_000_000_000 / *PER_SECOND;
    u64::try_from(ns).unwrap_or(u64::MAX)
}

/// Returns the CPU time that the calling thread has used, in nanoseconds, at the resolution of the clock interrupt
/// (GetThreadTimes).
pub fn thread_cpu_ns() -> Option<u64> {
    let [mut begun, mut ended, mut kernel, mut user] = [FILETIME::default(); 4];
    // SAFETY: the handle stands for the calling thread, and the four times are writable.
    let told = unsafe {
        GetThreadTimes(GetCurrentThread(), &raw mut begun, &raw mut ended, &raw mut kernel, &raw mut user)
    };
    let units = |time: FILETIME| u64::from(time.dwHighDateTime) << 32 | u64::from(time.dwLowDateTime);
    (told != 0).then(|| (units(kernel) + units(user)) * UNIT_NS)
}

/// Reads the clocks of every CPU of the calling thread's CPU group (NtQuerySystemInformation,
/// SystemProcessorPerformanceInformation). The structure's two reserved times are those of deferred procedure calls and
/// of interrupts (the header ntexapi.h of the Windows kernel's debugging symbols names them DpcTime and InterruptTime).
///
/// # Errors
/// Fails if the system does not report them.
pub fn processors() -> io::Result<Vec<ProcessorTimes>> {
    let mut processors = [SYSTEM_PROCESSOR_PERFORMANCE_INFORMATION::default(); MOST_PROCESSORS];
    let mut length = 0;
    // SAFETY: the system writes at most as many bytes as the array has, and any bits are a valid value of its
    // elements.
    let status = unsafe {
        NtQuerySystemInformation(
            SystemProcessorPerformanceInformation,
            processors.as_mut_ptr().cast(),
            length_of(&processors),
            &raw mut length,
        )
    };
    if status < 0 {
        return Err(io::Error::other(format!("NtQuerySystemInformation returned the status {status:#x}")));
    }
    let ns = |units: i64| u64::try_from(units).unwrap_or(0).saturating_mul(UNIT_NS);
    let count = length as usize / size_of::<SYSTEM_PROCESSOR_PERFORMANCE_INFORMATION>();
    let times = |(processor, times): (usize, &SYSTEM_PROCESSOR_PERFORMANCE_INFORMATION)| ProcessorTimes {
        processor,
        idle_ns: ns(times.IdleTime),
        steal_ns: 0,
        // Wine counts neither of the two.
        interrupt_ns: WINE.is_none().then(|| ns(times.Reserved1[0]).saturating_add(ns(times.Reserved1[1]))),
    };
    Ok(processors.iter().take(count).enumerate().map(times).collect())
}

/// Returns the path MTU in bytes that the system holds for a connected socket (IP_MTU), if the system has this
/// option.
pub fn path_mtu(socket: &UdpSocket) -> io::Result<Option<u64>> {
    let (level, option) = if socket.local_addr()?.is_ipv4() {
        (WinSock::IPPROTO_IP, WinSock::IP_MTU)
    } else {
        (WinSock::IPPROTO_IPV6, WinSock::IPV6_MTU)
    };
    let (mut mtu, mut length) = (0u32, 4);
    // SAFETY: the MTU is writable for `length` bytes, and the socket is open for as long as it is borrowed.
    let status =
        unsafe { WinSock::getsockopt(handle(socket), level, option, (&raw mut mtu).cast(), &raw mut length) };
    Ok((status == 0 && mtu > 0).then_some(u64::from(mtu)))
}

/// Sets "do not fragment", and ignores the path MTU that the system has learned if possible (IP_MTU_DISCOVER,
/// Windows 10 and later).
pub fn forbid_fragmentation(socket: &UdpSocket) -> io::Result<()> {
    let (level, discovery, plain) = if socket.local_addr()?.is_ipv4() {
        (WinSock::IPPROTO_IP, WinSock::IP_MTU_DISCOVER, WinSock::IP_DONTFRAGMENT)
    } else {
        (WinSock::IPPROTO_IPV6, WinSock::IPV6_MTU_DISCOVER, WinSock::IPV6_DONTFRAG)
    };
    set(socket, level, discovery, WinSock::IP_PMTUDISC_PROBE).or_else(|_| set(socket, level, plain, 1))
}

/// Returns true if `error` means that a datagram is larger than the interface or the system can send.
pub fn is_too_large(error: &io::Error) -> bool {
    error.raw_os_error() == Some(WinSock::WSAEMSGSIZE)
}

/// Lets the system segment each longer datagram into datagrams of `bytes`, or none if `bytes` is 0
/// (UDP_SEND_MSG_SIZE, Windows 10 version 2004 and later). A network card that can do so takes over this work
/// (USO).
pub fn cut_datagrams(socket: &UdpSocket, bytes: usize) -> io::Result<()> {
    let bytes = i32::try_from(bytes).map_err(io::Error::other)?;
    set(socket, WinSock::IPPROTO_UDP, WinSock::UDP_SEND_MSG_SIZE, bytes)
}

/// Lets the system coalesce datagrams that arrive into messages of at most `bytes` (UDP_RECV_MAX_COALESCED_SIZE,
/// Windows 10 version 2004 and later). A network card that can do so takes over this work (URO).
pub fn coalesce_datagrams(socket: &UdpSocket, bytes: usize) -> io::Result<()> {
    let bytes = i32::try_from(bytes).map_err(io::Error::other)?;
    set(socket, WinSock::IPPROTO_UDP, WinSock::UDP_RECV_MAX_COALESCED_SIZE, bytes)
}

/// Receives a message (WSARecvMsg); returns its length, and the length of each of its datagrams if they were
/// coalesced (UDP_COALESCED_INFO).
pub fn receive_coalesced(socket: &UdpSocket, buffer: &mut [u8]) -> io::Result<(usize, Option<usize>)> {
    let receive = receive_message(socket)?;
    let mut data =
        WinSock::WSABUF { len: u32::try_from(buffer.len()).unwrap_or(u32::MAX), buf: buffer.as_mut_ptr() };
    let mut control = [0u64; coalesced::CONTROL_WORDS];
    let mut message = WinSock::WSAMSG {
        name: std::ptr::null_mut(),
        namelen: 0,
        lpBuffers: &raw mut data,
        dwBufferCount: 1,
        Control: WinSock::WSABUF { len: length_of(&control), buf: control.as_mut_ptr().cast() },
        dwFlags: 0,
    };
    let mut length = 0;
    // SAFETY: the message refers to the buffer, which is writable for the given length, and to the control words;
    // both outlive the call, which is not overlapped. The socket is open for as long as it is borrowed.
    let status =
        unsafe { receive(handle(socket), &raw mut message, &raw mut length, std::ptr::null_mut(), None) };
    if status != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok((length as usize, coalesced::segment(&control, message.Control.len as usize)))
}

/// The type of WSARecvMsg, a function that Winsock returns on request.
type ReceiveMessage = unsafe extern "system" fn(
    WinSock::SOCKET,
    *mut WinSock::WSAMSG,
    *mut u32,
    *mut windows_sys::Win32::System::IO::OVERLAPPED,
    WinSock::LPWSAOVERLAPPED_COMPLETION_ROUTINE,
) -> i32;

/// Returns WSARecvMsg, which is requested once (SIO_GET_EXTENSION_FUNCTION_POINTER).
fn receive_message(socket: &UdpSocket) -> io::Result<ReceiveMessage> {
    static FUNCTION: OnceLock<ReceiveMessage> = OnceLock::new();
    if let Some(known) = FUNCTION.get() {
        return Ok(*known);
    }
    let (name, mut function, mut length) = (WinSock::WSAID_WSARECVMSG, None::<ReceiveMessage>, 0);
    // SAFETY: the identifier is readable and the pointer, whose absence is null, writable for the given lengths;
    // the socket is open for as long as it is borrowed. The call is not overlapped.
    let status = unsafe {
        WinSock::WSAIoctl(
            handle(socket),
            WinSock::SIO_GET_EXTENSION_FUNCTION_POINTER,
            (&raw const name).cast(),
            length_of(&name),
            (&raw mut function).cast(),
            length_of(&function),
            &raw mut length,
            std::ptr::null_mut(),
            None,
        )
    };
    if status != 0 {
        return Err(io::Error::last_os_error());
    }
    let function = function.ok_or_else(|| io::Error::other("Winsock does not provide WSARecvMsg"))?;
    Ok(*FUNCTION.get_or_init(|| function))
}

/// Returns the system's view of a connection (SIO_TCP_INFO, Windows 10 version 1703 and later); `None` if the
/// system does not report it, as under Wine.
pub fn tcp_state(stream: &TcpStream) -> io::Result<Option<TcpState>> {
    let (version, mut info, mut length) = (0u32, [0; sio_tcp_info::BYTES], 0);
    // SAFETY: the version is readable and the bytes writable for the given lengths, and the socket is open for as
    // long as it is borrowed. The call is not overlapped.
    let status = unsafe {
        WinSock::WSAIoctl(
            handle(stream),
            WinSock::SIO_TCP_INFO,
            (&raw const version).cast(),
            length_of(&version),
            info.as_mut_ptr().cast(),
            length_of(&info),
            &raw mut length,
            std::ptr::null_mut(),
            None,
        )
    };
    if status != 0 {
        let error = io::Error::last_os_error();
        return match error.raw_os_error() {
            Some(WinSock::WSAEOPNOTSUPP | WinSock::WSAEINVAL) => Ok(None),
            _ => Err(error),
        };
    }
    Ok(Some(sio_tcp_info::decode(&info)))
}

fn set(socket: &UdpSocket, level: i32, option: i32, value: i32) -> io::Result<()> {
    let length = i32::try_from(size_of_val(&value)).unwrap_or(0);
    // SAFETY: `value` is readable for `length` bytes, and the socket is open for as long as it is borrowed.
    let status =
        unsafe { WinSock::setsockopt(handle(socket), level, option, (&raw const value).cast(), length) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn handle(socket: &impl AsRawSocket) -> WinSock::SOCKET {
    socket.as_raw_socket() as WinSock::SOCKET
}

fn length_of<T>(value: &T) -> u32 {
    u32::try_from(size_of_val(value)).expect("a structure of the system is small")
}
