"""Facts about a model's heads: those that come with the program, and those of the built-in sentences, found once.

In: the name of a model. Out: its table of roles, the roles, an atlas; an unknown table is begun behind the pages.
"""

import os
import time
from collections.abc import Hashable, Mapping
from functools import cache

from mha_core import HeadScopeError, Model
from mha_core.causal import PartialResult
from mha_core.cli.app import ATLAS, ROLES
from mha_core.display_names import Head
from mha_core.heads.atlas.shipped import Shipped, read_atlas, read_shipped
from mha_core.heads.build_role_table import find_roles
from mha_core.heads.roles import Role, roles
from mha_core.heads.survey import Options
from mha_core.heads.table import RoleTable, read_roles, read_table
from mha_core.models.model_list import DECODER, DECODER_DIGEST, EMBEDDED, EMBEDDED_DIGESTS
from pages.parts.frame.loading import end_if_left, loaded, model_or_none, named_model
from pages.parts.frame.request import models, own_checkpoints
from pages.parts.serve import store
from pages.parts.serve.jobs import FINDINGS, MODEL, Job, Parts, let_others

POLL = 0.05  # seconds
MAX_UNASKED = 120_000_000  # parameters of a model whose heads are tested without being asked
SHIPPED = {EMBEDDED: EMBEDDED_DIGESTS["model.safetensors"], DECODER: DECODER_DIGEST}


def known_table(name: str, trained: bool = True) -> RoleTable | None:
    """Return every question asked of a model's heads, if it is known; nobody waits and nothing is begun."""
    shipped = shipped_table(name, trained)
    if shipped is not None:
        return shipped
    model = model_or_none(name, trained)
    if model is None:
        return None
    known: RoleTable | None = own_tables().get((name, model.digest, trained)) or store.STORE.peek(_key(model))
    return known


@cache
def own_tables() -> dict[tuple[str, str, bool], RoleTable]:
    """Return the tables of whoever runs the server, by model, digest and whether its weights are trained.

    Raises InputError for a file that is no table.
    """
    tables = map(read_table, filter(None, os.environ.get(ROLES, "").split(os.pathsep)))
    return {(table.model, table.digest, table.trained): table for table in tables}


def shipped_table(name: str, trained: bool = True) -> RoleTable | None:
    """Return the table of a listed model without loading it: the server's own or the one that comes with the program;
    None where there is none."""
    digest = SHIPPED.get(name)
    if digest is None:
        return None
    if own := own_tables().get((name, digest, trained)):
        return own
    shipped: RoleTable | None = store.STORE.get(("roles", name), lambda: read_roles(name, digest))
    return shipped if trained or shipped is None else shipped.untrained


def table(name: str, trained: bool = True) -> RoleTable:
    """Return the table of a model, waiting until it is known. Raises HeadScopeError where it cannot be found."""
    known = known_table(name, trained)
    if known is not None:
        return known
    job = _begin(named_model(name, trained))
    while not job.finished:
        time.sleep(POLL)
        end_if_left()
    result = None if job.problem else job.read(lambda part: part.result)
    if result is None:
        raise HeadScopeError(job.problem)
    return result


def roles_of(name: str, trained: bool = True) -> Mapping[Head, Role]:
    """Return the heads with a role, as (layer, head) from 0; empty while they are being found out.

    Of a large model, and of checkpoints before the last, they are found out only when Roles asks: that keeps a
    processor busy for a minute.
    """
    known = known_table(name, trained)
    if known is not None:
        return roles(known)
    model = named_model(name, trained)
    is_passing = name in own_checkpoints() and name not in models()
    if model.n_parameters <= MAX_UNASKED and not is_passing:
        _begin(model)
    return {}


def finding(name: str, trained: bool = True) -> bool:
    """Return whether the roles of a model's heads are being found out now."""
    if shipped_table(name, trained) is not None:
        return False
    job = FINDINGS.peek(_key(named_model(name, trained)))
    return job is not None and not job.finished


def _begin(model: Model) -> Job[RoleTable]:
    """Begin it behind the pages, unless it is under way; again where it failed or its result was dropped."""

    name, trained = model.name, model.trained  # a job is kept, and would keep the model in memory

    def parts() -> Parts[RoleTable]:
        yield PartialResult(1.0, 1, found_by_job(name, trained))

    job = FINDINGS.ask(_key(model), parts)
    FINDINGS.behind(job)
    return job


def found_by_job(name: str, trained: bool = True) -> RoleTable:
    """Return the table of a model, found once, within a job: others take their turn after every sentence."""
    model = loaded(name, trained)

    def between() -> bool:
        """After every sentence; False: it is never to stop."""
        MODEL.release()
        try:
            let_others()
        finally:
            MODEL.acquire()
        return False

    result: RoleTable = store.STORE.get(_key(model), lambda: find_roles(model, options=Options(stop=between)))
    return result


def _key(model: Model) -> Hashable:
    return "findings", model.name, model.trained, model.fingerprint


@cache
def own_atlases() -> dict[tuple[str, bool], Shipped]:
    """Return the atlases of whoever runs the server, by model and whether its weights are trained.

    Raises InputError for a file that is no atlas.
    """
    atlases = map(read_atlas, filter(None, os.environ.get(ATLAS, "").split(os.pathsep)))
    return {(atlas.model, atlas.trained): atlas for atlas in atlases}


def shipped_atlas(name: str, trained: bool = True) -> Shipped | None:
    """Return the server's own atlas of a model, or the one that comes with the program; None where there is none."""
    digest = SHIPPED.get(name) if trained else None
    if own := own_atlases().get((name, trained)):
        model = None if digest else model_or_none(name, trained)
        if own.digest == (model.digest if model else digest):
            return own
    if digest is None:
        return None
    return store.STORE.get(("atlas", name), lambda: read_shipped(name, digest))
