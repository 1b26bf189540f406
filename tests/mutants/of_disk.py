"""Rows on a disk: rows that are lost, mixed up or not the same, files that are believed, disks that are not given back."""

from .mutant import changed

LAWS = "laws/test_row_laws.py"
DISK = "rows/test_disk.py laws/test_row_laws.py"
FILES = "io/test_rows.py"

MUTANTS = (
    *changed(
        "rows/hosts/disk.py",
        LAWS,
        (
            "the last rows are not put aside",
            "        if pieces:\n            yield ScratchBlock",
            "        if not pieces:\n            yield ScratchBlock",
        ),
        ("the second part begins where the first did", "parts.append((stop, []))", "parts.append((0, []))"),
    ),
    *changed(
        "rows/hosts/disk.py",
        "rows/test_disk.py",
        ("a host keeps its file when it is closed", "        self._scratch.close()", "        pass"),
    ),
    *changed(
        "rows/scratch.py",
        DISK,
        ("rows are read from where others stand", "self._file.seek(place.offset)", "self._file.seek(0)"),
        (
            "memory that somebody looks at is used again",
            "if user() is None and len(memory) >= needed]",
            "if len(memory) >= needed]",
        ),
        (
            "every block is the last one",
            "if self._last is not None and self._last[0] == block.number:",
            "if self._last is not None:",
        ),
        (
            "a sample is that of another block",
            "if self._drawn is None or self._drawn[0] is not rows:",
            "if self._drawn is None:",
        ),
    ),
    *changed(
        "rows/narrow.py",
        FILES,
        (
            "numbers are narrowed whatever they are",
            'if values.dtype.kind in "iu" or np.array_equal(whole, values):',
            "if True:",
        ),
    ),
    *changed(
        "rows/hosts/memory_budget.py",
        "rows/test_disk.py",
        ("any limit will do", "if self.limit < self.least:", "if False:"),
        ("the free memory is not looked at", "if free is not None and needed > free:", "if False:"),
        ("the disk is not looked at", "if needed > shutil.disk_usage(scratch_folder()).free:", "if False:"),
    ),
    *changed(
        "fitting/session.py",
        "rows/test_disk.py",
        (
            "statistics are asked of a disk",
            "    if not prepared.recipe.private or needs_all_rows(prepared.plan):",
            "    if not prepared.recipe.private:",
        ),
    ),
    *changed(
        "io/block_file.py",
        FILES,
        ("checksums of blocks are not compared", "or zlib.crc32(content) != checksum:", "or False:"),
        ("columns that do not exist are believed", "indices.max() < self.n_features", "True"),
        ("the length of a file is not compared", "_need(int(places[-1]) == stop)", "_need(True)"),
    ),
)
