"""Networks of other tools as graphs that studies read: classes of Mininet, and files of containerlab."""
