"""Operating systems that hosts of the lab can run as guests, in a cache: kernels with their modules, and disk
images."""

from nettrial.guests.catalogue import Catalogue, SystemEntry
from nettrial.guests.disk import Disk
from nettrial.guests.kernel import GuestKernel
from nettrial.guests.kernel_tree import UserMode
from nettrial.guests.package import unpack

__all__ = ["Catalogue", "Disk", "GuestKernel", "SystemEntry", "UserMode", "unpack"]
