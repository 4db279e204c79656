"""Controls in a star, compared with HPCC's ns-3 code on the same flows (`kit.ns3_controls`)."""

from __future__ import annotations

from statistics import fmean

import pytest

from kit.ns3_controls import STAR, Outcome, incast, measured, one_by_one

NAMES = ("mean", "last", "peak", "queue")
CASES = {
    "8 x 256 KB": incast(STAR, range(1, 9), 256_000),
    "8 x 1 MB": incast(STAR, range(1, 9), 1_000_000),
    "15 x 256 KB": incast(STAR, range(1, 16), 256_000),
    "15 x 1 MB": incast(STAR, range(1, 16), 1_000_000),
    "2 x 5 MB": one_by_one(STAR, 2, 0, ("s0", 0)),
    "4 x 5 MB": one_by_one(STAR, 4, 0, ("s0", 0)),
}
NS3 = {
    ("8 x 256 KB", "hpcc"): Outcome(187.4, 199.4, 401120, 45754),
    ("8 x 1 MB", "hpcc"): Outcome(707.8, 745.8, 401120, 12889),
    ("15 x 256 KB", "hpcc"): Outcome(345.0, 363.4, 797880, 86860),
    ("15 x 1 MB", "hpcc"): Outcome(1282.0, 1396.7, 797880, 23523),
    ("2 x 5 MB", "hpcc"): Outcome(873.7, 875.4, 55590, 660),
    ("4 x 5 MB", "hpcc"): Outcome(1509.0, 1854.2, 58860, 1295),
    ("8 x 256 KB", "pint"): Outcome(180.7, 192.7, 384300, 44609),
    ("8 x 1 MB", "pint"): Outcome(694.9, 723.0, 384300, 12426),
    ("15 x 256 KB", "pint"): Outcome(334.3, 351.6, 766500, 82962),
    ("15 x 1 MB", "pint"): Outcome(1320.1, 1351.8, 766500, 22390),
    ("2 x 5 MB", "pint"): Outcome(845.6, 850.8, 53550, 581),
    ("4 x 5 MB", "pint"): Outcome(1513.0, 1751.9, 53550, 1091),
    ("8 x 256 KB", "timely"): Outcome(175.8, 176.0, 1891296, 946072),
    ("8 x 1 MB", "timely"): Outcome(675.7, 676.0, 7390944, 3695896),
    ("15 x 256 KB", "timely"): Outcome(325.8, 326.5, 3782592, 1891706),
    ("15 x 1 MB", "timely"): Outcome(1232.7, 1373.1, 13424928, 6186339),
    ("2 x 5 MB", "timely"): Outcome(1049.1, 1051.7, 1672704, 261867),
    ("8 x 256 KB", "dctcp"): Outcome(173.7, 174.0, 383568, 182107),
    ("8 x 1 MB", "dctcp"): Outcome(667.7, 668.0, 383568, 208447),
    ("15 x 256 KB", "dctcp"): Outcome(321.9, 322.6, 765040, 244515),
    ("15 x 1 MB", "dctcp"): Outcome(1236.6, 1248.9, 765040, 265445),
    ("2 x 5 MB", "dctcp"): Outcome(784.1, 784.1, 56592, 49459),
    ("4 x 5 MB", "dctcp"): Outcome(1512.0, 1546.2, 165584, 144872),
    ("8 x 256 KB", "dctcp, K 30 KB"): Outcome(173.5, 174.0, 383568, 70626),
    ("15 x 256 KB", "dctcp, K 30 KB"): Outcome(320.9, 323.2, 763992, 137628),
    ("2 x 5 MB", "dctcp, K 30 KB"): Outcome(751.3, 836.7, 56592, 19002),
    ("8 x 256 KB", "dcqcn"): Outcome(169.9, 174.0, 1821424, 936570),
    ("8 x 1 MB", "dcqcn"): Outcome(1054.5, 1105.8, 2172504, 556571),
    ("15 x 256 KB", "dcqcn"): Outcome(328.8, 544.6, 3517088, 1072391),
    ("15 x 1 MB", "dcqcn"): Outcome(1432.7, 1589.8, 5490472, 1669546),
    ("2 x 5 MB", "dcqcn"): Outcome(1137.9, 1208.7, 747224, 140186),
}


@pytest.mark.parametrize(("case", "control"), [key for key in NS3 if key[1] in ("hpcc", "timely")])
def test_what_is_not_random_comes_out_as_in_ns3(case: str, control: str) -> None:
    to_the_byte = "hpcc, to the byte" if control == "hpcc" else control
    ns3, ours = NS3[case, control], measured(CASES[case], to_the_byte)
    assert ours.mean == pytest.approx(ns3.mean, rel=0.025)
    assert ours.last == pytest.approx(ns3.last, rel=0.0125)
    assert ours.queue == pytest.approx(ns3.queue, rel=0.04 if case == "4 x 5 MB" else 0.01)
    if control == "hpcc" or case in ("8 x 256 KB", "8 x 1 MB", "15 x 256 KB"):
        # To the byte: the starts of flows are prescribed, and no control acts before the peak.
        assert ours.peak == ns3.peak
    assert ours.peak == pytest.approx(ns3.peak, rel=0.025)


@pytest.mark.parametrize("case", CASES)
def test_hpcc_with_records_in_units_comes_out_as_in_ns3(case: str) -> None:
    """They equal that code's, with its clock."""
    ns3, ours = NS3[case, "hpcc"], measured(CASES[case], "hpcc", clock="1 ns")
    assert ours.mean == pytest.approx(ns3.mean, rel=0.025)
    assert ours.last == pytest.approx(ns3.last, rel=0.006)
    assert ours.peak == ns3.peak
    assert ours.queue == pytest.approx(ns3.queue, rel=0.03 if "5 MB" in case else 0.01)


@pytest.mark.parametrize(("case", "control"), [key for key in NS3 if key[1].startswith("dctcp")])
def test_dctcp_comes_out_as_in_ns3(case: str, control: str) -> None:
    """With that code's clock, which truncates 83.84 ns to 83; with exact times, 1 % later."""
    ns3, exact = NS3[case, control], measured(CASES[case], control)
    ours = measured(CASES[case], control, clock="1 ns")
    assert ours.mean == pytest.approx(ns3.mean, rel=0.003)
    assert ours.last == pytest.approx(ns3.last, rel=0.006)
    assert ours.peak == ns3.peak
    assert ours.queue == pytest.approx(ns3.queue, rel=0.01)
    assert exact.last == pytest.approx(1.01 * ns3.last, rel=0.003)
    assert exact.peak - ns3.peak in (0, 1048)


@pytest.mark.parametrize("case", CASES)
def test_pint_comes_out_as_in_ns3(case: str) -> None:
    """Packets carry randomly rounded values, so this compares the mean of eight seeds.

    That code truncates the 84 ns of a packet to 83, since 1050 x 8 / 10^11 s are slightly less in
    binary. So its link is 1.2 % faster than its switches know, and one or two fewer packets wait:
    in cases with almost no queue, that is all of it.
    """
    ns3 = NS3[case, "pint"]
    runs = [measured(CASES[case], "pint", seed) for seed in range(1, 9)]
    ours = Outcome(*(fmean(getattr(run, name) for run in runs) for name in NAMES))
    assert ours.mean == pytest.approx(ns3.mean, rel=0.03)
    assert ours.last == pytest.approx(ns3.last, rel=0.02)
    assert 0 <= ours.peak - ns3.peak <= 2 * 1050
    assert ours.queue == pytest.approx(ns3.queue, rel=0.1 if "5 MB" in case else 0.02)


@pytest.mark.parametrize("case", [case for case, control in NS3 if control == "dcqcn"])
def test_a_run_of_dcqcn_is_one_of_ours(case: str) -> None:
    """Marks are random in ns-3, too: its single run lies within the range of ours."""
    ns3 = NS3[case, "dcqcn"]
    runs = [measured(CASES[case], "dcqcn", seed) for seed in range(1, 9)]
    for name in NAMES:
        values = [getattr(run, name) for run in runs]
        least, most = min(values), max(values)
        # With a margin: eight runs are few, and ns-3 truncates each serialisation to whole ns.
        slack = 0.02 * getattr(ns3, name)
        assert least - slack <= getattr(ns3, name) <= most + slack, name
