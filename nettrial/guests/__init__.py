"""Operating systems that hosts of the lab can run as guests: a kernel and its modules each, in a cache."""

from nettrial.guests.catalogue import Catalogue, Entry
from nettrial.guests.kernel import Kernel
from nettrial.guests.package import unpack

__all__ = ["Catalogue", "Entry", "Kernel", "unpack"]
