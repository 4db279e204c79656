"""A marimo notebook: an incast under PFC, then with Source Flow Control.

`marimo edit docs/notebook.py` opens it; `python docs/notebook.py` runs every cell in order, as the
tests do.
"""

import marimo

app = marimo.App(width="medium", app_title="An incast under PFC and under SFC")


@app.cell
def _():
    import marimo as mo

    import backwater

    return backwater, mo


@app.cell
def _(backwater):
    scenario = backwater.parse(backwater.new_scenario()).set("output.interval", "1 us")
    for sampled in ("queues", "links", "pauses", "flows"):
        scenario = scenario.set(f"output.{sampled}", True)
    runs = {"PFC": scenario.run(), "PFC and SFC": scenario.variant("sfc").run()}
    return (runs,)


@app.cell
def _(mo, runs):
    mo.md(
        "\n".join(
            f"- **{name}**: {run.summary['flows_done']} flows complete, fingerprint "
            f"`{run.fingerprint}`"
            for name, run in runs.items()
        )
    )
    return


@app.cell
def _(mo, runs):
    queues = {name: run.plot.queue("leaf0 -> h0") for name, run in runs.items()}
    mo.ui.tabs(queues)
    return (queues,)


@app.cell
def _(mo, runs):
    rates = {name: run.plot.throughput() for name, run in runs.items()}
    mo.ui.tabs(rates)
    return (rates,)


@app.cell
def _(mo, runs):
    times = {name: run.plot.completion() for name, run in runs.items()}
    mo.ui.tabs(times)
    return (times,)


if __name__ == "__main__":
    app.run()
