"""Slides of results: a title, the set-up, assumptions, tables, figures, what differs, commands.

from backwater import deck

slides = deck.of("results/sfc-aidc-2025", theme="light")
Path("talk.pptx").write_bytes(deck.octets(slides, "pptx"))
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from backwater.captures import is_capture
from backwater.deck.capture import of_capture
from backwater.deck.compare import of_comparison
from backwater.deck.content import Pen, of_run, of_series, opening
from backwater.deck.layout import foot
from backwater.deck.model import Deck
from backwater.deck.pdf import pdf
from backwater.deck.pptx import pptx
from backwater.deck.study import of_study
from backwater.deck.sweep import of_sweep
from backwater.errors import InputError
from backwater.manifest import COMPARISON, RUN, SEEDS, STUDY, SWEEP, judging, say_build
from backwater.plot.shades import LIGHT, THEMES
from backwater.reading import load_comparison
from backwater.repetitions import load_series
from backwater.results import load_run, manifest_at
from backwater.study import open_study
from backwater.sweep.dataset import open_sweep

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    from backwater.deck.content import Talk
    from backwater.running import Progress

__all__ = ["KINDS", "Deck", "octets", "of"]

KINDS = ("pptx", "pdf")


def of(
    directory: str | os.PathLike[str],
    theme: str = LIGHT,
    progress: Callable[[int], Progress | None] | None = None,
    only: Sequence[str] = (),
) -> Deck:
    """Make slides of a result directory: a run, repeated runs, a comparison, a study, or a sweep.

    `directory` may also be a capture, whose messages are then shown. `theme` is one of light, dark,
    print. For figures over time, runs of a study or comparison are repeated with samples, into the
    directory. `only`: the figures of a study, `table` or `claims`, or the kinds of messages, whose
    slides are wanted; by default all. Raises `ResultError` if the directory holds no such
    results, and `InputError` for another theme or figure.
    """
    if theme not in THEMES:
        raise InputError(f"theme {theme}: no such theme", f"one of {', '.join(THEMES)}")
    path = Path(directory)
    if is_capture(path):
        return _deck(of_capture(path, only), theme)
    manifest = manifest_at(path, RUN, SEEDS, STUDY, COMPARISON, SWEEP)
    if only and manifest["kind"] != STUDY:
        raise InputError(f"--only {only[0]}: {path} is no study", "leave it out: all slides")
    pen = Pen(theme)
    if manifest["kind"] == SWEEP:
        talk = of_sweep(open_sweep(path), pen)
    else:
        say_build(path, manifest)
        with judging(path):
            if manifest["kind"] == STUDY:
                talk = of_study(open_study(path), pen, progress, only)
            elif manifest["kind"] == COMPARISON:
                talk = of_comparison(load_comparison(path), pen, progress)
            elif manifest["kind"] == RUN:
                talk = of_run(load_run(path), pen)
            else:
                talk = of_series(load_series(path), pen)
    return _deck(talk, theme)


def _deck(talk: Talk, theme: str) -> Deck:
    line = f"{talk.title} · {talk.made_by}" + (f" · {talk.when:%Y-%m-%d}" if talk.dated else "")
    slides = [opening(talk), *talk.slides]
    numbered = [slides[0], *(foot(one, n, line) for n, one in enumerate(slides[1:], 2))]
    return Deck(tuple(numbered), theme, talk.title, talk.made_by, talk.when, tuple(talk.failed))


def octets(deck: Deck, kind: str) -> bytes:
    """Return slides as a file of one of KINDS; the same deck always results in the same octets.

    Raises `InputError` if the extra `deck` is not installed.
    """
    return pptx(deck) if kind == "pptx" else pdf(deck)
