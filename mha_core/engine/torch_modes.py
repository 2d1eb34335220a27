"""The modes of torch that a caller may be in, put aside: the numbers are the same in all of them.

Inference mode and autocast belong to the thread, the default number type and device to the process.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import torch
from torch import Tensor


@contextmanager
def plain_numbers(*, loading: bool = False) -> Iterator[None]:
    """Switch autocast off inside; while a model is loaded also inference mode, with float32 on the CPU as default."""
    with ExitStack() as modes:
        for kind in ("cpu", *(["cuda"] if torch.cuda.is_available() else [])):
            if torch.is_autocast_enabled(kind):
                modes.enter_context(torch.autocast(kind, enabled=False))
        if loading:
            modes.enter_context(torch.inference_mode(False))
            modes.enter_context(torch.no_grad())
            modes.enter_context(torch.device("cpu"))
            before = torch.get_default_dtype()
            modes.callback(torch.set_default_dtype, before)
            torch.set_default_dtype(torch.float32)
        yield


def is_transformed(*tensors: Tensor | None) -> bool:
    """Return whether torch traces or vectorises this call: then nothing may be written in place.

    The test for torch.vmap is private to torch; where it is gone, vmap fails as it does for other in-place code.
    """
    if torch.compiler.is_compiling():
        return True
    if _WRAPPED is not None:
        for x in tensors:  # twenty times a layer: `any` with a generator takes twice as long
            if x is not None and _WRAPPED(x):
                return True
    return False


_WRAPPED = getattr(getattr(torch._C, "_functorch", None), "is_functorch_wrapped_tensor", None)
