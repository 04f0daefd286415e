"""The runner: it runs the trials of a study on this machine, on sets of machines or on a Dask cluster, and
stores each as soon as it is finished. Whoever uses it hears of its progress by events."""
