"""What comes from others is named, pinned and locked; no secret lies in the repository."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
FIFTYONE = "fiftyone"  # whoever has objects of it has it installed
SECRETS = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY|\bAKIA[0-9A-Z]{16}\b|\bgh[pousr]_[A-Za-z0-9]{36}"
    r"|\bhf_[A-Za-z]{34}\b"
    r"|\bsk-[A-Za-z0-9-]{32,}|\bxox[abp]-[0-9A-Za-z-]{20,}|\bAIza[0-9A-Za-z_-]{35}\b"
    r"|\bpypi-[A-Za-z0-9_-]{50,}|://[^/\s:@'\"{}]+:[^/\s@'\"{}]{6,}@(?!127\.0\.0\.1|localhost|host\b)"
)


def names(texts: list[str]) -> dict[str, Requirement]:
    requirements = [Requirement(text) for text in texts]
    return {
        canonicalize_name(requirement.name): requirement
        for requirement in requirements
        if requirement.name != "tagfill"
    }


def locked() -> dict[str, str]:
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    return dict(re.findall(r"^([a-z0-9-]+)==(\S+) \\$", text, re.MULTILINE))


def pins(file: str) -> dict[str, str]:
    lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
    pairs = (line.split("==") for line in lines if "==" in line and not line.startswith("#"))
    return {canonicalize_name(name): version for name, version in pairs}


def test_every_dependency_and_its_license_is_named() -> None:
    text = (ROOT / "THIRD_PARTY.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"[a-z0-9][a-z0-9-]+", text))
    everything = [*PROJECT["dependencies"], *(text for extra in EXTRAS.values() for text in extra)]
    assert not set(names(everything)) - listed
    assert not set(pins("tests/serve/studio.txt")) - listed


def imported(folder: str) -> set[str]:
    """The packages that modules below a folder import, their own neighbors left out."""
    files = list((ROOT / folder).rglob("*.py"))
    nodes = [node for file in files for node in ast.walk(ast.parse(file.read_text("utf-8")))]
    modules = {name.name for node in nodes if isinstance(node, ast.Import) for name in node.names}
    absolute = (node for node in nodes if isinstance(node, ast.ImportFrom) and not node.level)
    modules |= {node.module for node in absolute if node.module}
    own = {"tagfill", "tests", *(file.stem for file in files), *sys.stdlib_module_names}
    return {module.partition(".")[0] for module in modules} - own


def test_every_import_is_declared() -> None:
    everything = [*PROJECT["dependencies"], *(text for extra in EXTRAS.values() for text in extra)]
    declared = {*names(everything), *pins("tests/serve/studio.txt"), FIFTYONE}
    sources = packages_distributions()
    for folder in ("src", "tests", "benchmarks"):
        modules = {module: sources.get(module, [module]) for module in imported(folder)}
        undeclared = {
            module
            for module, packages in modules.items()
            if not declared & {canonicalize_name(package) for package in packages}
        }
        assert not undeclared, folder


def test_the_lock_holds_all_of_the_web_app_with_hashes() -> None:
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    versions, pinned = locked(), pins("constraints.txt")
    asked = names([*PROJECT["dependencies"], *EXTRAS["serve"], *EXTRAS["postgres"]])
    assert not set(asked) - set(versions)
    for name, requirement in asked.items():
        assert requirement.specifier.contains(versions[name]), name
    both = set(versions) & set(pinned)
    assert {name: Version(versions[name]).public for name in both} == {
        name: pinned[name] for name in both
    }
    entries = re.split(r"^(?=[a-z0-9-]+==)", text, flags=re.MULTILINE)[1:]
    assert len(entries) == len(versions) > 50
    assert all(re.search(r"--hash=sha256:[0-9a-f]{64}$", entry.strip()) for entry in entries)
    assert "://" not in text


@pytest.mark.parametrize(
    "text",
    [
        "-----BEGIN RSA " + "PRIVATE KEY-----",
        "AKIA" + "A1B2C3D4E5F6G7H8",
        "ghp_" + "a" * 36,
        "https://user:" + "secretword@registry.example/simple",
    ],
)
def test_secrets_are_noticed(text: str) -> None:
    assert SECRETS.search(text)


def test_no_secret_lies_in_the_repository() -> None:
    told = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True)
    if told.returncode:
        pytest.skip("not a git repository")
    problems = []
    for name in filter(None, told.stdout.decode().split("\0")):
        path = ROOT / name
        if path.suffix in (".png", ".jpg", ".ico") or not path.is_file():
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        problems += [(name, match[0][:12]) for match in SECRETS.finditer(text)]
    assert problems == []
