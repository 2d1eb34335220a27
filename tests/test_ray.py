"""Ray drives the parts: a worker that is killed and a node that is removed cost their parts and nothing else."""

import json
import os
import signal
from collections import defaultdict
from pathlib import Path

import psutil
import pytest

from mha_core import InputError
from mha_core.cli import main
from mha_core.heads import build_role_table as make
from mha_core.heads.part_files import compute_part, merge_parts
from mha_core.heads.table import packed

ray_engine = pytest.importorskip("mha_core.heads.ray_engine")
pytest.importorskip("ray")
pytestmark = pytest.mark.slow


def working() -> list[psutil.Process]:
    """Return the workers of Ray that compute a part."""
    below = psutil.Process().children(recursive=True)
    return [each for each in below if "".join(each.cmdline()[:1]).startswith("ray::compute")]


def test_a_killed_worker_and_a_removed_node_cost_their_parts_and_the_result_is_that_of_one(
    tmp_path, monkeypatch
):
    from ray.cluster_utils import Cluster

    few = make.read_builtin()[::40]

    def compute(*arguments):
        """Compute a part, in a worker that knows few of the built-in sentences."""
        make.read_builtin = lambda: few
        return ray_engine._compute(*arguments)

    for i in range(4):
        lines = [f"Line {i} says that the {w} near house {j} was too tired." for j in range(12) for w in "ab"]
        (tmp_path / f"text-{i}.txt").write_text("\n".join(lines))
    shards, options = [str(tmp_path / "text-*.txt")], {"model": "classroom"}
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
    monkeypatch.setattr(ray_engine, "_compute", compute)
    monkeypatch.setattr(make, "read_builtin", lambda: few)
    head = {"num_cpus": 1, "include_dashboard": False, "include_log_monitor": False, "no_monitor": True}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    node, ready, killed, written = cluster.add_node(num_cpus=1), [], [], defaultdict(set)

    def done(n, total):
        ready.append((n, total))
        for path in (tmp_path / "ray").glob("part-*"):
            written[path].add(path.stat().st_mtime_ns)
        if not killed and (workers := working()):
            os.kill(workers[0].pid, signal.SIGKILL)
            killed.append(workers[0].pid)
        if len(ready) == total + 1:  # in the second round
            cluster.remove_node(node, allow_graceful=False)

    try:
        files = ray_engine.compute_on_ray(
            "roles", options, shards, tmp_path / "ray", address=cluster.address, workers=2, done=done
        )
    finally:
        cluster.shutdown()
    assert killed
    assert ready == [(n, 4) for n in (1, 2, 3, 4)] * 2
    assert [path.name for path in files] == [f"part-{i:05}-of-00004.zip" for i in (1, 2, 3, 4)]
    assert sum(map(len, written.values())) <= 5, "the killed worker may just have written its part"
    assert len(list((tmp_path / "ray").glob("sums-*"))) == 4
    compute_part("roles", options, shards, 1, 1, tmp_path / "one")
    whole, many = (merge_parts(tmp_path / name).result() for name in ("one", "ray"))
    assert json.dumps(packed(whole)) == json.dumps(packed(many))


def test_what_ray_is_refused_is_said_as_by_the_command_alone(tmp_path, capfd, monkeypatch):
    (tmp_path / "bad.conllu").write_text("1\tword\n\n")
    out = str(tmp_path / "parts")
    command = ["roles", str(tmp_path / "*.conllu"), "--model", "classroom", "--engine", "ray"]
    assert main(command[:4]) == 2
    alone = capfd.readouterr().err.splitlines()[-1]
    assert "CoNLL-U has 10" in alone
    assert main([*command, "--workers", "1", "--out", out]) == 2
    assert capfd.readouterr().err.splitlines()[-1] == alone
    monkeypatch.setenv("RAY_ADDRESS", "ray://nowhere.invalid:1")
    with pytest.raises(InputError, match="nowhere"):
        ray_engine.compute_on_ray("roles", {}, [], out)
