"""The door: values that speak, labels that stop a fit, refusals that come too late or quote a cell."""

from .mutant import changed

DOOR = "usability/test_silent_door.py"
SOURCE = "data/test_source.py usability/test_silent_door.py"

MUTANTS = (
    *changed(
        "data/source.py",
        SOURCE,
        ("warnings pass the door", '        warnings.simplefilter("ignore")\n', ""),
        (
            "one text makes texts of all cells",
            "                array = np.array(X, dtype=object)\n",
            "                pass\n",
        ),
        ("numbers that overflow are no targets", "np.clip(found - center, -largest, largest)", "found - center"),
    ),
    *changed(
        "data/missing.py",
        DOOR,
        ("missing values are never refused", "if has_missing(source, targets):", "if False:"),
    ),
    *changed(
        "estimators/linear.py",
        DOOR,
        ("a foreign label is refused", "targets.coded if request.classes is None else np.zeros(0)", "targets.coded"),
        ("missing values are refused unasked", 'if request.on_missing == "refuse":', "if True:"),
    ),
    *changed(
        "estimators/door.py",
        DOOR,
        (
            "no rows are told where their number is private",
            "if source.shape[0] == 0 and adjacency is not Adjacency.ADD_REMOVE:",
            "if source.shape[0] == 0:",
        ),
    ),
    *changed(
        "fits/statement.py",
        DOOR,
        ("no statement tells of refusals", 'return (NOT_COVERED,) if on_missing == "refuse" else ()', "return ()"),
    ),
    *changed(
        "preparation/pipeline.py",
        DOOR,
        (
            "a pipeline pays before it refuses",
            "            self._read_rows(source, y)\n",
            "            pass\n",
        ),
        (
            "a foreign step is quoted",
            '                raise DataError(\n                    f"step',
            '                raise DataError(\n                    f"{error} step',
        ),
    ),
)
