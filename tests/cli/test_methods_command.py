from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tagfill import methods
from tagfill.cli.main import main

PAPERS = {
    "MLSPL": "bce bce_ls iu partial_bce iun an an_ls an_ls_asymmetric wan pr epr role",
    "MLSPL 5.1": "pseudo_negative",
    "EM and APL": "em em_apl dw l1r l2r ls n_ls entmin focal asl",
    "LAC": "plc lac en_cl en_scl",
    "PU-MLC": "upu nnpu vpu pu_mlc curriculum sst sarb",
    "Query2Label": "asl_q2l",
    "neighbors": "ll_r ll_ct ll_cp hill splc p_asl gr boostlu",
}


@pytest.mark.parametrize("paper", PAPERS)
def test_every_method_of_the_papers_and_their_neighbors_is_there(paper):
    assert set(PAPERS[paper].split()) <= set(methods.names())


def test_json_lists_every_method(capsys):
    assert main(["methods", "--json"]) == 0
    listed = {method["name"]: method for method in json.loads(capsys.readouterr().out)["methods"]}
    assert list(listed) == methods.names()
    for method in listed.values():
        assert method["title"]
        assert method["source"]
        assert {"needs", "settings", "presets", "alias_of", "text"} <= set(method)
    k = next(setting for setting in listed["role"]["settings"] if setting["name"] == "k")
    assert k["default"] == "auto"
    assert k["type"] == 'number or "auto"'
    assert "mean number of positive tags" in k["doc"]


def test_one_method_for_people(capsys):
    assert main(["methods", "role"]) == 0
    shown = capsys.readouterr().out
    for split in ("L'(F | Y)", "Cole et al. 2021", "Eq. 10-11", "--method.k auto", "published"):
        assert split in shown
    assert "[z=1]" in shown, "brackets are not taken for markup"


def test_one_method_as_json(capsys):
    assert main(["methods", "ls", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["alias_of"] == "an_ls"


def test_list_for_people_names_all(capsys):
    assert main(["methods"]) == 0
    shown = capsys.readouterr().out
    assert all(f"\n{name} " in shown for name in methods.names())


def test_method_file(tmp_path, capsys):
    path = tmp_path / "mine.py"
    path.write_text(
        '"""My method."""\n'
        "from tagfill.methods.an import Config, build\n"
        "from tagfill.methods.base import Info\n"
        'INFO = Info(title="Mine", source="here")\n'
    )
    assert main(["methods", str(path)]) == 0
    assert "Mine" in capsys.readouterr().out


def test_unknown_method_is_one_message(capsys):
    assert main(["methods", "rolle"]) == 2
    assert "unknown method 'rolle'" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--help"], ["methods", "--help"]])
def test_help_does_without_torch(arguments):
    code = (
        "import sys; from tagfill.cli.main import main; "
        f"main({arguments!r}); sys.exit('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == 0
