"""Memory that is free goes back to the system: pages of a model's file, the room that is kept, glibc's large blocks."""

import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from mha_core import memory
from mha_core.embedded import embedded_folder
from pages.parts.serve import cache, freeing

BYTES = 8 << 20
ON_LINUX = pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="the system does not tell")
GLIBC = pytest.mark.skipif(memory.of_c_library("mallopt") is None, reason="another C library")


def in_memory(place: Path) -> int:
    """How many kB of a mapped file this process has in memory."""
    found, here = 0, False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        said = line.split()
        if not said[0].endswith(":"):
            here = line.endswith(str(place))
        elif here and said[0] == "Rss:":
            found += int(said[1])
    return found


@pytest.fixture
def mapped(tmp_path):
    """A file of numbers, a tensor of some in its middle that is a mapping of it, and all of it read once."""
    place = tmp_path / "numbers"
    torch.arange(BYTES // 4, dtype=torch.float32).numpy().tofile(place)
    whole = torch.from_file(str(place), shared=False, size=BYTES // 4)
    assert whole.sum() > 0
    return place, whole


@ON_LINUX
def test_pages_of_a_file_that_was_read_go_and_come_back_as_they_were(mapped):
    place, whole = mapped
    assert in_memory(place) >= BYTES // 1024
    own = torch.zeros(BYTES // 4)
    assert memory.forget_file(own, whole[333 : 333 + (3 << 20) // 4], own)
    assert in_memory(place) == 0, "all of the file's, not the part's alone"
    assert torch.equal(whole, torch.arange(BYTES // 4, dtype=torch.float32))


@ON_LINUX
def test_what_was_written_over_a_file_s_numbers_is_kept(mapped):
    place, whole = mapped
    whole[-1] = -5.0
    assert not memory.forget_file(whole)
    assert whole[-1] == -5.0
    assert in_memory(place) > BYTES // 2048


@ON_LINUX
def test_what_was_written_over_keeps_no_other_file(tmp_path):
    """Of two files, whichever the system names first."""
    places = [tmp_path / name for name in ("one", "other")]
    for written in (0, 1):
        wholes = []
        for place in places:
            torch.arange(BYTES // 4, dtype=torch.float32).numpy().tofile(place)
            wholes.append(torch.from_file(str(place), shared=False, size=BYTES // 4))
            assert wholes[-1].sum() > 0
        wholes[written][-1] = -5.0
        assert memory.forget_file(*wholes)
        assert in_memory(places[1 - written]) == 0
        assert in_memory(places[written]) > BYTES // 2048
        assert wholes[written][-1] == -5.0
        del wholes


@ON_LINUX
def test_what_comes_from_no_file_or_is_small_is_left_alone(mapped, monkeypatch):
    place, whole = mapped
    own = torch.arange(BYTES // 4, dtype=torch.float32)
    assert not memory.forget_file(own)
    assert own[-1] == BYTES // 4 - 1
    monkeypatch.setattr(
        memory, "_as_in_its_file", lambda _addresses: pytest.fail("the system need not be asked")
    )
    assert not memory.forget_file(whole[:1000])
    assert in_memory(place) >= BYTES // 1024


def run(program: str) -> list[int]:
    """The numbers that a program of its own prints."""
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return [int(number) for number in found.stdout.split()]


@ON_LINUX
@pytest.mark.long
def test_a_model_that_was_loaded_leaves_little_of_its_file_in_memory():
    """A text's words and the biases are read from the file, and the system brings more of it with them: 23 of 89 MB
    where it keeps files in large pages. The matrices of the layers, half of the file, are not read again.
    """
    file = embedded_folder() / "model.safetensors"
    loaded, traced, size = run(f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from pathlib import Path
from test_freeing import in_memory
import mha_core
model, place = mha_core.load_model(), Path({str(file)!r})
print(in_memory(place))
mha_core.trace("It rained.", model)
print(in_memory(place), place.stat().st_size // 1024)
""")
    assert size > 80_000
    assert loaded < size / 8
    assert traced < size * 0.4


@GLIBC
@ON_LINUX
@pytest.mark.long
@pytest.mark.parametrize(
    ("told", "size", "goes"), [(False, 3_900_000, False), (True, 3_900_000, True), (True, 3_200_000, False)]
)
def test_a_block_as_large_as_the_weights_of_a_paragraph_goes_back_as_it_is_freed(told, size, goes):
    """Before one that stays: without the limits its room is kept, once a larger block was freed. What a layer reckons
    with is kept in any case: it is asked for again at once."""
    before, freed = run(f"""
import ctypes, os
from benchmarks.wire import megabytes
from pages.parts.serve import freeing
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes, libc.free.argtypes = [ctypes.c_size_t], [ctypes.c_void_p]
libc.free(libc.malloc(30_000_000))
if {told}:
    freeing.free_at_once()
blocks = [libc.malloc({size}) for _ in range(20)]
stays = libc.malloc(1_000_000)
for block in blocks:
    ctypes.memset(block, 1, {size})
print(megabytes(os.getpid()))
for block in blocks:
    libc.free(block)
print(megabytes(os.getpid()))
""")
    assert (before - freed > 50) is goes


def test_what_long_work_freed_goes_back_with_the_room_that_was_kept(monkeypatch):
    calls, kept = [], [object()]
    monkeypatch.setattr(freeing, "of_c_library", lambda name: lambda *given: calls.append((name, *given)))
    monkeypatch.setattr(memory, "_KEPT", kept)
    freeing.hand_back()
    assert calls == [("malloc_trim", 0)]
    assert not kept


def test_another_c_library_is_left_as_it_is(monkeypatch):
    monkeypatch.setattr(freeing, "of_c_library", lambda _name: None)
    freeing.free_at_once()
    freeing.hand_back()


@pytest.mark.parametrize("fails", [False, True])
def test_what_finding_out_what_heads_do_took_goes_back(fails, monkeypatch):
    calls = []

    def found(_key, _make):
        calls.append("found")
        if fails:
            raise MemoryError
        return "what they do"

    monkeypatch.setattr(cache.STORE, "get", found)
    monkeypatch.setattr(cache, "hand_back", lambda: calls.append("handed back"))
    model = SimpleNamespace(name="a", trained=True, fingerprint="b")
    with pytest.raises(MemoryError) if fails else nullcontext():
        assert cache._find(model) == "what they do"
    assert calls == ["found", "handed back"]
