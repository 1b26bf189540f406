"""Put a bill of materials into a wheel: `python tools/sbom.py dist/*.whl` (PEP 770, CycloneDX 1.6).

It lists what the wheel asks for, with the version that the tests ran with (constraints.txt and
constraints-engines.txt) and whether every user gets it or only those of an extra. Nothing else is
in the wheel: no library is bundled.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import sys
import zipfile
from email.parser import HeaderParser
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: Files that choose versions, the more important one first.
CONSTRAINTS = ("constraints.txt", "constraints-engines.txt")


def plain_name(requirement: str) -> str:
    """The name of a distribution as the index normalises it."""
    found = re.match(r"[\w.-]+", requirement)
    assert found is not None, requirement
    return re.sub(r"[-_.]+", "-", found[0]).lower()


def tested_versions() -> dict[str, str]:
    """The version of every distribution that a constraints file chooses."""
    lines = [line for file in reversed(CONSTRAINTS) for line in (ROOT / file).read_text().splitlines()]
    found = (re.match(r"([\w.-]+)==([^\s;]+)", line) for line in lines)
    return {plain_name(match[1]): match[2] for match in found if match}


def bill(metadata: str, tested: dict[str, str]) -> dict[str, object]:
    """The bill of materials of a distribution with this METADATA."""
    said = HeaderParser().parsestr(metadata)
    needed: dict[str, bool] = {}
    for requirement in said.get_all("Requires-Dist", []):
        name = plain_name(requirement)
        if name != plain_name(said["Name"]):
            needed[name] = needed.get(name, False) or "extra ==" not in requirement
    components = [
        {
            "type": "library",
            "bom-ref": f"pkg:pypi/{name}@{tested[name]}",
            "name": name,
            "version": tested[name],
            "purl": f"pkg:pypi/{name}@{tested[name]}",
            "scope": "required" if always else "optional",
        }
        for name, always in sorted(needed.items())
    ]
    own = f"pkg:pypi/{said['Name']}@{said['Version']}"
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "library",
                "bom-ref": own,
                "name": said["Name"],
                "version": said["Version"],
                "purl": own,
                "licenses": [{"license": {"id": said["License-Expression"]}}],
            }
        },
        "components": components,
        "dependencies": [{"ref": own, "dependsOn": [c["bom-ref"] for c in components]}],
    }


def add(wheel: Path) -> str:
    """Write the bill into a wheel and its RECORD; returns the name of the new file."""
    with zipfile.ZipFile(wheel) as archive:
        content = {info: archive.read(info) for info in archive.infolist()}
    folder = next(info.filename for info in content if info.filename.endswith(".dist-info/METADATA")).rpartition("/")[0]
    name = f"{folder}/sboms/dpsparse.cdx.json"
    if any(info.filename == name for info in content):
        raise SystemExit(f"{wheel} has a bill of materials already. Build it again.")
    metadata = next(data for info, data in content.items() if info.filename == f"{folder}/METADATA").decode()
    text = json.dumps(bill(metadata, tested_versions()), indent=1).encode() + b"\n"
    digest = base64.urlsafe_b64encode(hashlib.sha256(text).digest()).rstrip(b"=").decode()
    part = wheel.with_suffix(".part")
    with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive:
        for info, data in content.items():
            if info.filename == f"{folder}/RECORD":
                archive.writestr(zipfile.ZipInfo(name, info.date_time), text, zipfile.ZIP_DEFLATED)
                data = f"{name},sha256={digest},{len(text)}\n".encode() + data
            archive.writestr(info, data)
    part.replace(wheel)
    return name


if __name__ == "__main__":
    for path in sys.argv[1:] or sys.exit(__doc__):
        print(f"{path}: {add(Path(path))}")
