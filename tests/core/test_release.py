"""The digest of the source: of what is read, and of nothing that is not."""

import pytest

from dpsparse.core import release


@pytest.fixture
def source(monkeypatch, tmp_path):
    monkeypatch.setattr(release, "files", lambda package: tmp_path)
    return tmp_path


def test_a_package_without_python_files_has_no_digest(source):
    (source / "constants.toml").write_text("a = 1\n")
    assert release.source_digest.__wrapped__() == release.UNREADABLE


def test_python_files_and_constants_count_by_name_and_content(source):
    seen = set()
    for name, content in (("a.py", "1"), ("a.py", "2"), ("b.py", "2"), ("c.toml", "x"), ("c.toml", "y")):
        (source / name).write_text(content)
        seen.add(release.source_digest.__wrapped__())
    assert len(seen) == 5
    (source / "notes.txt").write_text("not counted")
    assert release.source_digest.__wrapped__() in seen
