"""The numbers that the papers print, with where they stand. Copied once, by hand; everything else on the pages is computed."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf


@dataclass(frozen=True)
class Printed:
    """Numbers of one table: method, then epsilon (infinity without privacy), then the mean."""

    where: str
    data: str
    values: dict[str, dict[float, float]]


def _row(epsilons: tuple[float, ...], text: str) -> dict[float, float]:
    return dict(zip(epsilons, map(float, text.split()), strict=True))


_TENS = (2.0, 4.0, 6.0, 8.0, 10.0)
_FEW = (0.8, 1.5, 2.5, 3.5, 4.5)
_EVEN = (2.0, 4.0, 6.0, 8.0)

#: Study: what its paper prints. Figures 1 (000), 2 (001), 1 to 4 (002), 1 and 2 (003), 1 and 2 (004) are drawn without numbers.
FIGURES: dict[str, Printed] = {
    "000-table-2": Printed(
        "Wang and Gu, IJCAI 2019, Table 2",
        "E2006-tfidf, MSE/2",
        {
            "IGHT": {inf: 0.785},
            "Frank-Wolfe": _row(_TENS, "1.514 1.320 1.210 1.105 1.094"),
            "Two stage": _row(_TENS, "1.286 1.072 1.042 .997 .986"),
            "DP-IGHT": _row(_TENS, "1.057 .890 .854 .823 .810"),
        },
    ),
    "000-table-3": Printed(
        "Wang and Gu, IJCAI 2019, Table 3",
        "RCV1, test error",
        {
            "IGHT": {inf: 0.0625},
            "Frank-Wolfe": _row(_TENS, ".1271 .1034 .0938 .0852 .0807"),
            "Two stage": _row(_TENS, ".1213 .0989 .0893 .0810 .0791"),
            "DP-IGHT": _row(_TENS, ".1168 .0956 .0841 .0797 .0762"),
        },
    ),
    "001-table-2": Printed(
        "Wang and Gu, AAAI 2020, Table 2",
        "half of E2006-tfidf, MSE/2",
        {
            "IGHT": {inf: 0.8541},
            "Frank-Wolfe": _row(_FEW, "4.471 2.004 1.535 1.206 1.099"),
            "Two stage": _row(_FEW, "4.022 1.803 1.326 1.107 1.053"),
            "DP-IGHT": _row(_FEW, "3.731 1.687 1.304 1.067 .968"),
            "DPSL-KT": _row(_FEW, "1.227 1.178 1.065 .971 .952"),
        },
    ),
    "001-table-3": Printed(
        "Wang and Gu, AAAI 2020, Table 3",
        "half of RCV1, test error",
        {
            "IGHT": {inf: 0.0645},
            "Frank-Wolfe": _row(_EVEN, ".1381 .1134 .0978 .0882"),
            "Two stage": _row(_EVEN, ".1272 .1061 .0949 .0866"),
            "DP-IGHT": _row(_EVEN, ".1179 .1026 .0922 .0824"),
            "DPSL-KT": _row(_EVEN, ".1105 .0974 .0885 .0787"),
        },
    ),
    "002-table-3": Printed(
        "Mangold et al., AISTATS 2023, Table 3 (right / wrong coordinates in the paper: square 0/0, 0/3, 2/0; california 3/2, 3/5, 2/0; "
        "dorothea 1/1, 0/0, 1/0; madelon 0/0, 0/0, 1/0 for DP-CD, DP-SGD, DP-GCD)",
        "gap, epsilon 1",
        {
            "DP-CD: square": {1.0: 0.75},
            "DP-SGD: square": {1.0: 0.75},
            "DP-GCD: square": {1.0: 0.35},
            "DP-CD: california": {1.0: 0.0024},
            "DP-SGD: california": {1.0: 0.020},
            "DP-GCD: california": {1.0: 0.00056},
            "DP-CD: dorothea": {1.0: 0.77},
            "DP-SGD: dorothea": {1.0: 0.78},
            "DP-GCD: dorothea": {1.0: 0.64},
            "DP-CD: madelon": {1.0: 0.0085},
            "DP-SGD: madelon": {1.0: 0.012},
            "DP-GCD: madelon": {1.0: 0.0015},
        },
    ),
    "004-table-3": Printed(
        "Liang et al., 2022, Table 3",
        "E2006-tfidf, MSE, five folds",
        {
            "SCSG-HT": {inf: 0.1483},
            "DP-GD-HT": _row(_TENS, ".1588 .1566 .1560 .1543 .1528"),
            "DP-SGD-HT": _row(_TENS, ".1540 .1505 .1499 .1488 .1490"),
            "DP-SCSG-HT": _row(_TENS, ".1516 .1494 .1488 .1487 .1486"),
        },
    ),
    "004-table-4": Printed(
        "Liang et al., 2022, Table 4",
        "RCV1, log-loss, five folds",
        {
            "SCSG-HT": {inf: 0.1603},
            "DP-GD-HT": _row(_TENS, ".3811 .3469 .3139 .3063 .3001"),
            "DP-SGD-HT": _row(_TENS, ".4100 .2914 .2594 .2615 .2491"),
            "DP-SCSG-HT": _row(_TENS, ".2243 .1662 .1642 .1619 .1615"),
        },
    ),
    "004-table-5": Printed(
        "Liang et al., 2022, Table 5",
        "Chest X-ray, log-loss, five folds",
        {
            "SCSG-HT": {inf: 0.6917},
            "DP-GD-HT": _row(_TENS, ".6930 .6929 .6928 .6928 .6927"),
            "DP-SGD-HT": _row(_TENS, ".6932 .6927 .6926 .6924 .6922"),
            "DP-SCSG-HT": _row(_TENS, ".6940 .6928 .6919 .6918 .6918"),
        },
    ),
}
