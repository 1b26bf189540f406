"""Rows on a cluster: parts that are counted twice, lost or changed, numbers of rows that are wrong, messages that tell."""

from .mutant import changed

HERE = "rows/test_cluster.py"

LAW = "laws/test_same_release.py"

MUTANTS = (
    *changed(
        "core/release.py",
        LAW,
        ("any two releases are one", "    if theirs == ours and UNREADABLE not in ours:", "    if True:"),
        ("what is not known is equal", "    if theirs == ours and UNREADABLE not in ours:", "    if theirs == ours:"),
        ("the digest does not look into files", "{hashlib.sha256(content).hexdigest()}", ""),
        ("the digest does not look at names", 'digest.update(f"{name} {', 'digest.update(f"{'),
        ("libraries are not part of a release", "for name in (*LIBRARIES, *more))", "for name in more)"),
        ("a release is read for every answer", "@cache\ndef source_digest", "def source_digest"),
    ),
    *changed(
        "rows/hosts/partial.py",
        LAW,
        (
            "sums of any release are added",
            "        refuse_other_release(partial.origin)\n        known",
            "        known",
        ),
        (
            "a sum of any release is released",
            "    refuse_other_release(partial.origin)\n    if partial.parts",
            "    if partial.parts",
        ),
        ("who does not say a release is one of us", "origin: Origin = UNKNOWN", "origin: Origin = Origin.here()"),
    ),
    *changed(
        "rows/hosts/cluster.py",
        LAW,
        ("parts are built by any release", "        refuse_other_release(report.origin)\n", ""),
    ),
    *changed(
        "rows/hosts/cluster_rows.py",
        LAW,
        (
            "parts are looked at by any release",
            "            refuse_other_release(part.origin)\n        if not known",
            "            pass\n        if not known",
        ),
        (
            "margins are made by any release",
            "            refuse_other_release(part.origin)\n        if [part.checksum",
            "            pass\n        if [part.checksum",
        ),
    ),
    *changed(
        "rows/hosts/spark_tasks.py",
        LAW,
        (
            "blocks of any release are added up",
            "    refuse_other_release(head.report.origin)  # blocks may have been built elsewhere\n",
            "",
        ),
    ),
    *changed(
        "rows/hosts/partial.py",
        HERE,
        (
            "a copy of a part is added",
            "        if not known:\n            held.update",
            "        if True:\n            held.update",
        ),
        ("sums that overlap are added", "if known and len(known) < len(partial.parts):", "if False:"),
        ("a part of a sum may be lacking", "if partial.parts.keys() != seals.keys():", "if False:"),
        (
            "a part that changed is believed at the end",
            "if any(seals[number] != seal for number, seal in partial.parts.items()):",
            "if False:",
        ),
        (
            "a part that changed is believed beside itself",
            "if any(held[number] != partial.parts[number] for number in known):",
            "if False:",
        ),
        ("sums beyond 64 bits are added in 64 bits", "SHORT = (1 << 63) - 1", "SHORT = (1 << 70) - 1"),
        ("the high word is not sent", "if short else (high, low)))", "if True else (high, low)))"),
    ),
    *changed(
        "rows/hosts/message.py",
        HERE,
        (
            "the sign of zero is lost",
            "bits = np.ascontiguousarray(value).view(np.int64).ravel()",
            "bits = value.ravel()",
        ),
    ),
    *changed(
        "rows/hosts/worker.py",
        HERE,
        ("a part is not locked while it answers", "        with self._lock:\n", "        if True:\n"),
        ("all parts begin with the first row", "own.first_row + start)", "start)"),
        ("a failure is told in its own words", "return WorkerRefusal(said)", "raise"),
        ("a seal does not look at rows", "        for block in shard.blocks:\n", "        for block in ():\n"),
        (
            "a part of another shape is built",
            "if source.shape != (targets.size, lattice.facts.n_features):",
            "if False:",
        ),
        ("all rows are taken for some of them", "if own.chosen is not None:", "if False:"),
        ("rows are built in any order", "if marked != own.checksum:", "if False:"),
    ),
    *changed(
        "rows/hosts/checksums.py",
        HERE,
        ("a mark does not look at rows", "        for array in (rows.data,", "        for array in () and (rows.data,"),
        ("a mark does not look at the time of a file", "{found.st_mtime_ns}", ""),
    ),
    *changed(
        "rows/hosts/cluster_rows.py",
        HERE,
        (
            "a limit is not looked at before anything is paid",
            "    if limit < needed:",
            "    if False:",
        ),
        ("parts of different forms are taken together", "if len(forms) > 1:", "if False:"),
        (
            "margins are of rows in any order",
            "if [part.checksum for part in found] != [part.checksum for part in self.surveyed]:",
            "if False:",
        ),
    ),
    *changed(
        "rows/hosts/spark.py",
        HERE,
        (
            "Spark Connect is not refused",
            'if type(thing).__module__.startswith("pyspark.sql.connect"):',
            "if False:",
        ),
    ),
    *changed(
        "estimators/score/score.py",
        HERE,
        (
            "groups of rows on a cluster are left out of scores",
            "if group is not None and isinstance(X, ClusterRows):\n        raise ValueError(",
            "if group is not None and isinstance(X, ClusterRows):\n        group = groups = None\n    if False:\n        raise ValueError(",
        ),
    ),
    *changed(
        "fitting/session.py",
        HERE,
        (
            "statistics are asked of a cluster",
            "    if isinstance(source.spread, ClusterRows):\n        _check_sums(",
            "    if isinstance(source.spread, ClusterRows):\n        (lambda *_: None)(",
        ),
    ),
)
