"""Plays a machine of another system, which the lab starts and whose interface is on the lab's links.

    python foreign.py machine FILE SOCKET     in namespaces of its own: joins the file to its interface eth0,
                                              as a virtual machine does, and gives a shell to each client of
                                              the socket
    python foreign.py wire SOCKET             connects standard input and output to the socket, as to a
                                              serial port

The machine has no address, its interface is down, and nothing but these shells leads to it."""

import contextlib
import fcntl
import os
import select
import socket
import struct
import subprocess
import sys
import threading

TUNSETIFF = 0x400454CA
TAP_WITHOUT_HEADER = 0x1002
"""IFF_TAP | IFF_NO_PI (include/uapi/linux/if_tun.h)."""
FRAME_BYTES = 1 << 16
NAME = "eth0"


def interface() -> int:
    """Returns the file whose other end is the machine's interface."""
    file = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(file, TUNSETIFF, struct.pack("16sH22x", NAME.encode(), TAP_WITHOUT_HEADER))
    return file


def machine(link: int, path: str) -> None:
    """Passes frames from each file to the other, until this process is killed."""
    files = {link: (own := interface()), own: link}
    threading.Thread(target=serve, args=[path], daemon=True).start()
    while True:
        for ready in select.select(list(files), [], [])[0]:
            try:
                os.write(files[ready], os.read(ready, FRAME_BYTES))
            except OSError:  # an interface is down, or its queue is full: the frame is lost
                continue


def serve(path: str) -> None:
    """Gives each client of the socket a shell."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    while True:
        client, _ = listener.accept()
        with client:
            subprocess.Popen(["/bin/sh"], stdin=client, stdout=client, stderr=subprocess.DEVNULL)


def wire(path: str) -> None:
    """Copies in both directions until one of them ends."""
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(path)
    threading.Thread(target=copy, args=[0, connection.fileno()], daemon=True).start()
    copy(connection.fileno(), 1)


def copy(source: int, to: int) -> None:
    """Copies bytes until the source ends, and then tells the socket of it."""
    while data := os.read(source, FRAME_BYTES):
        while data:
            data = data[os.write(to, data) :]
    if source == 0:
        socket.socket(fileno=os.dup(to)).shutdown(socket.SHUT_WR)


if __name__ == "__main__":
    if sys.argv[1] == "machine":
        machine(int(sys.argv[2]), sys.argv[3])
    wire(sys.argv[2])
