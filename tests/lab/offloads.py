"""Prints the requested and the active features of the interface in its argument (ETHTOOL_GFEATURES), as bits
of the kernel: unlike the names of ethtool(8), they are complete."""

import array
import fcntl
import socket
import struct
import sys

SIOCETHTOOL, GFEATURES, BLOCKS = 0x8946, 0x3A, 2
features = array.array("I", [GFEATURES, BLOCKS, *[0] * BLOCKS * 4])
request = struct.pack("16sP", sys.argv[1].encode(), features.buffer_info()[0])
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
    fcntl.ioctl(asked, SIOCETHTOOL, request)
print([f"{block:08x}" for block in features[2:]])
