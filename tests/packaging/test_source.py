"""Nothing in the package can run code that came with data."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "tagfill"
MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "shelve", "marshal"}
CALLS = {"eval", "exec", "os.system", "os.popen", "yaml.load", "torch.hub.load"}
SAFE_ONLY_WITH = {"torch.load": "weights_only"}
NEVER_TRUE = {"shell", "allow_pickle", "trust_remote_code"}


def dangers(text):
    """What in a module could run code from a file: (line, what)."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names]
            roots = {name.partition(".")[0] for name in (*names, getattr(node, "module", "") or "")}
            yield from ((node.lineno, name) for name in roots & MODULES)
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            true = {k.arg for k in node.keywords if getattr(k.value, "value", None) is True}
            if called in CALLS or SAFE_ONLY_WITH.get(called, called) not in {*true, called}:
                yield node.lineno, called
            yield from ((node.lineno, name) for name in true & NEVER_TRUE)


@pytest.mark.parametrize(
    "text",
    [
        "import pickle",
        "from joblib import load",
        "eval(x)",
        "torch.load(file)",
        "subprocess.run(x, shell=True)",
        "np.load(file, allow_pickle=True)",
    ],
)
def test_the_check_finds_what_it_looks_for(text):
    assert list(dangers(text))


def test_what_is_safe_passes():
    assert not list(dangers("torch.load(file, weights_only=True); np.load(f, allow_pickle=False)"))


def test_no_module_can_run_code_from_a_file():
    problems = {
        str(file.relative_to(SOURCE)): list(dangers(file.read_text()))
        for file in SOURCE.rglob("*.py")
    }
    assert not {name: lines for name, lines in problems.items() if lines}
