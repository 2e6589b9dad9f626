"""The benchmarks run, and their arithmetic is right. Their figures are not tested: that is what they are for."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture(scope="module")
def common():
    spec = importlib.util.spec_from_file_location("benchmark_common", FOLDER / "common.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


def test_candidates_take_turns(common):
    order = []
    candidates = [common.Candidate(name, f"order.append({name!r})", {"order": order}) for name in "ab"]
    times = common.measure(candidates, rounds=4, seconds=0.0)
    assert [len(times[name]) for name in "ab"] == [4, 4]
    assert "".join(order).endswith("abababab")


def test_time_is_per_unit_of_work(common):
    scope = {"work": lambda n: sum(range(n))}
    candidates = [
        common.Candidate("one", "work(20000)", scope),
        common.Candidate("ten", "[work(20000) for _ in range(10)]", scope, units=10),
    ]
    report = common.Report("work", times=common.measure(candidates, rounds=9, seconds=0.002))
    assert report.ratio("ten / one", "ten", "one") == pytest.approx(1.0, abs=0.5)
    assert 20 < report.median("one") < 20000  # microseconds; 20,000 additions take some hundred


def test_ratios_and_differences_are_taken_within_rounds(common):
    report = common.Report("t", times={"ours": [2.0, 20.0, 200.0], "peer": [1.0, 10.0, 100.0]})
    assert report.ratio("ours / peer", "ours", "peer") == 2.0
    assert report.difference("ours", "peer") == 10.0
    assert report.median("ours") == 20.0


@pytest.mark.parametrize("value, relation, limit, met", [
    (1.0, "<=", 1.0, True), (1.0, "<", 1.0, False), (0.9, "<", 1.0, True), (4.0, ">=", 4.0, True), (3.9, ">=", 4.0, False),
])  # fmt: skip
def test_targets(common, value, relation, limit, met):
    assert common.Target("t", value, relation, limit).met is met


BENCHMARKS = (
    "entry_call", "kinematics", "compile_time", "step", "aba", "sensors", "mass", "stable_pd", "contact", "speculative",
    "convex", "symbolic", "memory", "discrete", "servos", "batch",
)  # fmt: skip


@pytest.mark.parametrize("name", BENCHMARKS)
def test_benchmark_runs_and_writes_its_results(name, tmp_path):
    command = [sys.executable, str(FOLDER / "run.py"), "--quick", "--out", str(tmp_path / "results"), name]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / "results" / f"{name}.json").read_text(encoding="utf-8"))
    assert result["times"] and all(s["median"] > 0 and s["rounds"] >= 1 for s in result["times"].values())
    assert result["ratios"] and all(value > 0 for value in result["ratios"].values())
    assert result["targets"] and {"name", "value", "relation", "limit", "met"} <= set(result["targets"][0])
    assert result["machine"]["processor"] and result["machine"]["versions"]["llvmlite"]
    assert all(target["name"].split(":")[0] in done.stdout for target in result["targets"])


def test_an_unknown_benchmark_is_refused(tmp_path):
    done = subprocess.run(
        [sys.executable, str(FOLDER / "run.py"), "speed"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2 and "no benchmark is called speed" in done.stderr


def test_all_benchmarks_are_tested():
    """`make bench` runs every file of the folder that is not told to be another thing."""
    spec = importlib.util.spec_from_file_location("benchmark_run", FOLDER / "run.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert sorted(BENCHMARKS) == module.BENCHMARKS


def test_two_versions_are_compared():
    """A checkout with itself: the figure is not tested, but that there is one for each model that is named."""
    name = "kinetree/models/double_pendulum.xml"
    command = [sys.executable, str(FOLDER / "two_versions.py"), str(FOLDER.parent), "--quick", name]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    ratio, told = done.stdout.splitlines()[0].split()
    assert float(ratio) > 0.0 and told == name and "geometric mean of 1 models" in done.stdout
    refused = subprocess.run([*command, "nothing.xml"], capture_output=True, text=True, check=False)
    assert refused.returncode == 2 and "no model of the corpus is called nothing.xml" in refused.stderr
