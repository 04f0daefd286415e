"""OpenFlow controllers of the lab's switches, in a process that the engine starts: `python -m
nettrial.controllers`. Only `application` and `__main__` need os-ken, the extra `nettrial[openflow]`."""
