"""The numbers of a run, each defined once for all commands, studies and charts.

    units        quantities as text, and the units in which tables show them
    statistics   means, percentiles and spreads of the values of one run
    rows         rows of a run's tables, for short and long runs
    run          the numbers of a run's report: groups of flows, jobs, ports
    registry     every metric, an entry each: name, unit, meaning, subject, computation
    metrics      metrics by name, such as `p99_fct:victim`, and their values
    named        the metrics that a sweep keeps of each point
    repeats      means over repeated runs, with confidence intervals

`backwater.samples` defines how many samples a number needs.
"""
