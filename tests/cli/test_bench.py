"""`kinetree bench`: a table and JSON of times and ratios."""

from __future__ import annotations

import json

import pytest

from kinetree.cli.bench import bench, measured


def test_a_race_has_times_of_all_and_their_ratios():
    found = measured("cartpole", worlds=16, threads=1, seconds=0.1, rounds=2)
    assert set(found["microseconds"]) == {"MuJoCo", "float64", "float32", "one world, alone", "MuJoCo, alone"}
    assert all(value > 0 for value in found["microseconds"].values())
    assert all(0.01 < found["faster"][who] < 1000 for who in ("float64", "float32", "one world"))


def test_the_table_names_models_and_the_file_has_all_numbers(tmp_path, capsys):
    file = tmp_path / "bench.json"
    assert bench(["cartpole"], 16, 2, 0.05, 1, file) == 0
    assert "cartpole" in capsys.readouterr().out
    (each,) = json.loads(file.read_text())
    assert each["model"] == "cartpole" and each["threads"] == 2 and each["worlds"] == 16


def test_an_unknown_model_is_told():
    with pytest.raises(ValueError, match="no file and no bundled model"):
        bench(["nothing"], 8, 1, 0.0, 1, None)
