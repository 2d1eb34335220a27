"""Ray drives the parts: a worker that is killed costs its part and nothing else."""

import json
import os
import signal
from collections import defaultdict
from pathlib import Path

import psutil
import pytest

from mha_core import InputError
from mha_core.cli import main
from mha_core.heads.part_files import compute_part, merge_parts
from mha_core.heads.table import packed

ray_engine = pytest.importorskip("mha_core.heads.ray_engine")
pytest.importorskip("ray")
TEXTS = [
    f"Line {i} says that the {w} near the house was too tired to go on." for i in range(12) for w in "ab"
]


@pytest.fixture
def shards(tmp_path):
    """Four files of 24 lines."""
    for i in range(4):
        (tmp_path / f"text-{i}.txt").write_text("\n".join(f"{text} {i}" for text in TEXTS))
    return str(tmp_path / "text-*.txt")


def working() -> list[psutil.Process]:
    """The workers of Ray that compute a part."""
    below = psutil.Process().children(recursive=True)
    return [one for one in below if "".join(one.cmdline()[:1]).startswith("ray::_compute")]


@pytest.mark.slow
def test_a_killed_worker_costs_its_part_and_the_result_is_that_of_one_part(shards, tmp_path):
    killed, written = [], defaultdict(set)

    def done(n, of):
        assert of == 4
        for path in (tmp_path / "ray").glob("part-*"):
            written[path].add(path.stat().st_mtime_ns)
        if not killed and (workers := working()):
            os.kill(workers[0].pid, signal.SIGKILL)
            killed.append(workers[0].pid)

    options = {"model": "minilm"}
    found = ray_engine.compute_on_ray("atlas", options, [shards], tmp_path / "ray", workers=2, done=done)
    assert killed
    assert len(found) == 4
    assert len(written) == 4
    assert sum(map(len, written.values())) <= 5, "the killed worker may just have written its part"
    compute_part("atlas", options, [shards], 1, 1, tmp_path / "one")
    one, many = (merge_parts(tmp_path / name).result() for name in ("one", "ray"))
    assert json.dumps(one.to_data()) == json.dumps(many.to_data())


@pytest.mark.slow
def test_what_ray_is_refused_is_said_as_by_the_command_alone(tmp_path, capfd, monkeypatch):
    (tmp_path / "bad.conllu").write_text("1\tword\n\n")
    out = str(tmp_path / "parts")
    arguments = [
        "roles",
        str(tmp_path / "*.conllu"),
        "--model",
        "classroom",
        "--engine",
        "ray",
        "--workers",
        "1",
    ]
    assert main([*arguments, "--out", out]) == 2
    assert "CoNLL-U has 10" in capfd.readouterr().err.splitlines()[-1]
    monkeypatch.setenv("RAY_ADDRESS", "ray://nowhere.invalid:1")
    with pytest.raises(InputError, match="nowhere"):
        ray_engine.compute_on_ray("roles", {}, [], out)


@pytest.mark.slow
def test_a_node_that_is_removed_while_it_computes_loses_nothing_in_either_round(
    shards, tmp_path, monkeypatch
):
    import ray
    from ray.cluster_utils import Cluster

    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    nodes, ready = [cluster.add_node(num_cpus=1)], []

    def done(n, of):
        ready.append(n)
        if len(ready) in (1, of + 1):
            cluster.remove_node(nodes.pop(), allow_graceful=False)
            nodes.append(cluster.add_node(num_cpus=1))

    ray.init(address=cluster.address, logging_level="error", log_to_driver=False)
    try:
        options = {"model": "classroom"}
        files = ray_engine.compute_on_ray("roles", options, [shards], tmp_path / "ray", workers=2, done=done)
    finally:
        ray.shutdown()
        cluster.shutdown()
    assert ready == [1, 2, 3, 4, 1, 2, 3, 4]
    assert [path.name for path in files] == [f"part-{i:05}-of-00004.zip" for i in (1, 2, 3, 4)]
    assert len(list((tmp_path / "ray").glob("sums-*"))) == 4
    compute_part("roles", options, [shards], 1, 1, tmp_path / "one")
    one, many = (merge_parts(tmp_path / name).result() for name in ("one", "ray"))
    assert json.dumps(packed(one)) == json.dumps(packed(many))
