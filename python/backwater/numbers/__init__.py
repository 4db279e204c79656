"""What a run comes to, in numbers: each is defined once, here, for every command, study and chart.

    units        quantities as text, and the units that tables are told in
    statistics   means, percentiles and spreads of the values of one run
    rows         rows of a run's tables, whether it was short or long
    run          the numbers of a run's report: groups of flows, jobs, ports
    registry     every metric, an entry each: name, unit, meaning, of what, how it is computed
    metrics      metrics by name, such as `p99_fct:victim`, and their values
    named        the metrics that a sweep keeps of each point
    repeats      what repeated runs come to: means, confidence intervals

How many samples a number needs is in `backwater.samples`.
"""
