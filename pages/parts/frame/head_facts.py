"""What is known of a model's heads: what comes with the program, and what the built-in sentences tell, found out once.

In: the name of a model. Out: findings, roles, evidence, an atlas; what is not known yet is begun behind the pages.
"""

import time
from collections.abc import Callable, Hashable, Mapping

from mha_core import HeadScopeError, Model
from mha_core.experiments import Part
from mha_core.heads.atlas.shipped import Shipped, read_shipped
from mha_core.heads.findings import Findings, find
from mha_core.heads.roles import Role
from mha_core.heads.survey import Options
from mha_core.heads.verdicts.shipped import read_evidence
from mha_core.heads.verdicts.table import Verdicts
from mha_core.model import fingerprint_of
from mha_core.shelf import DECODER, DECODER_DIGEST, DECODER_FILE, EMBEDDED, EMBEDDED_DIGESTS
from mha_core.wording import Head
from pages.parts.frame.loading import at_hand, end_if_left, loaded, named_model
from pages.parts.serve import store
from pages.parts.serve.jobs import FINDINGS, MODEL, Job, Parts, let_others

LOOKS = 0.05  # seconds between two looks whether they are known
UNASKED_AT_MOST = 120_000_000  # parameters of a model whose heads are tried without being asked
ATLAS_DIGESTS = {EMBEDDED: EMBEDDED_DIGESTS["model.safetensors"], DECODER: DECODER_DIGEST}
SHIPPED_FILES: Mapping[str, Mapping[str, str]] = {
    EMBEDDED: EMBEDDED_DIGESTS,
    DECODER: {DECODER_FILE: DECODER_DIGEST},
}


def findings(name: str, trained: bool = True) -> Findings:
    """What each head of a model does, on the built-in sentences; waits until it is known."""
    used = named_model(name, trained)
    found: Findings | None = store.STORE.peek(_key(used))
    if found is None:
        job = _begin(_key(used), lambda: used)
        while not job.finished:
            time.sleep(LOOKS)
            end_if_left()
        found = None if job.problem else job.read(lambda part: part.result)
    if found is None:
        raise HeadScopeError(job.problem)
    return found


def known_findings(name: str, trained: bool = True) -> Findings | None:
    """The same if it is known already, else None; nobody waits."""
    used = at_hand(name, trained)
    found: Findings | None = None if used is None else store.STORE.peek(_key(used))
    return found


def roles_of(name: str, trained: bool = True) -> Mapping[Head, Role]:
    """The heads with a role, as (layer, head) from 0. Empty while they are being found out: nobody waits for it.

    Of a large model they are found out only when Roles asks: that keeps a processor busy for a minute.
    """
    used = named_model(name, trained)
    found: Findings | None = store.STORE.peek(_key(used))
    if found is None and used.n_parameters <= UNASKED_AT_MOST:
        _begin(_key(used), lambda: used)
    return {} if found is None else found.roles


def finding(name: str, trained: bool = True) -> bool:
    """Whether the roles of a model's heads are being found out now."""
    job = FINDINGS.peek(_key(named_model(name, trained)))
    return job is not None and not job.finished


def known_roles(name: str, trained: bool = True) -> Mapping[Head, Role]:
    """The same if it is known already: nothing is begun for it, and of what is shipped nothing is loaded."""
    files = SHIPPED_FILES.get(name) if trained else None
    if files is None:
        found = known_findings(name, trained)
    else:
        found = store.STORE.peek(("findings", name, trained, fingerprint_of(ATLAS_DIGESTS[name], files)))
    return {} if found is None else found.roles


def find_ahead(name: str, trained: bool = True) -> None:
    """Let the model be loaded and its roles be found out behind the pages, before anybody asks; nobody waits."""
    _begin(("ahead", name, trained), lambda: loaded(name, trained))


def begin_findings(name: str, trained: bool = True) -> None:
    """Let the roles of a model's heads be found out behind the pages, whatever its size."""
    used = named_model(name, trained)
    if store.STORE.peek(_key(used)) is None:
        _begin(_key(used), lambda: used)


def _begin(key: Hashable, load: Callable[[], Model]) -> Job[Findings]:
    """Begin it behind the pages, unless that is under way; again where it failed, or what was found was let go."""

    def between() -> bool:
        """After every sentence; False: it is never to stop."""
        MODEL.release()
        try:
            let_others()
        finally:
            MODEL.acquire()
        return False

    def parts() -> Parts[Findings]:
        used = load()
        yield Part(1.0, 1, store.STORE.get(_key(used), lambda: find(used, Options(stop=between))))

    job = FINDINGS.ask(key, parts)
    FINDINGS.behind(job)
    return job


def _key(used: Model) -> Hashable:
    return "findings", used.name, used.trained, used.fingerprint


def shipped_atlas(name: str, trained: bool = True) -> Shipped | None:
    """The atlas that comes with the program, without loading the model; None where there is none."""
    digest = ATLAS_DIGESTS.get(name)
    if not trained or digest is None:
        return None
    return store.STORE.get(("atlas", name), lambda: read_shipped(name, digest))


def evidence(name: str, trained: bool = True) -> Verdicts | None:
    """What is known of a model's heads from real text, without loading the model; None where nothing is shipped."""
    digest = ATLAS_DIGESTS.get(name)
    if digest is None:
        return None
    found: Verdicts | None = store.STORE.get(("evidence", name), lambda: read_evidence(name, digest))
    return found if trained or found is None else found.twin
