"""Prints the requested and the active features of the interfaces in its arguments (ETHTOOL_GFEATURES), a line
for each, as bits of the kernel: unlike the names of ethtool(8), they are complete."""

import array
import fcntl
import socket
import struct
import sys

SIOCETHTOOL, GFEATURES, BLOCKS = 0x8946, 0x3A, 2
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
    for interface in sys.argv[1:]:
        features = array.array("I", [GFEATURES, BLOCKS, *[0] * BLOCKS * 4])
        request = struct.pack("16sP", interface.encode(), features.buffer_info()[0])
        fcntl.ioctl(asked, SIOCETHTOOL, request)
        print([f"{block:08x}" for block in features[2:]])
