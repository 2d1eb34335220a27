"""What one server gives its readers, all of them and each address; three of the numbers are its owner's.

In: the environment. Out: a frozen `Limits`; a value that is no number is refused at the start, in a sentence.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Sockets and messages of readers, their uploads, and what is kept of them. A class may share one address, and a
    reader has a few tabs. The owner sets those of `OWNERS`.

    Messages come at `runs_per_second` from one socket and `address_runs_per_second` from one address, after as many
    at once as is said; `silent_seconds` is how long a socket may say nothing at first, `request_seconds` how long a
    request may take to be asked and `upload_seconds` how long its body may take after that.
    """

    sockets: int = 160
    sockets_per_address: int = 120
    runs_per_second: int = 10
    runs_at_once: int = 15
    address_runs_per_second: int = 120
    address_runs_at_once: int = 400
    silent_seconds: int = 10
    request_seconds: int = 10
    upload_seconds: int = 120
    files_per_session: int = 4
    upload_mb: int = 64
    store_mb: int = 400


OWNERS = ("sockets", "upload_mb", "store_mb")
# Pages of these origins may open sockets besides those that this server served itself: "https://example.org".
ORIGINS = "HEADSCOPE_ORIGINS"
ORIGIN = r"(https?://(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?)/*"
SWITCHES = tuple(f"HEADSCOPE_ALLOW_{what}" for what in ("HUB", "ANY_MODEL", "FOLDERS"))


def setting(name: str) -> str:
    """The variable of the environment that sets a limit."""
    return f"HEADSCOPE_{name.upper()}"


def limits(environment: Mapping[str, str] = os.environ) -> Limits:
    """The limits of this server: of its places one address has three of four.

    Raises SystemExit with a sentence for a value that is no such number.
    """
    given = {}
    for name in OWNERS:
        said = environment.get(setting(name), "").strip()
        if said:
            if not re.fullmatch(r"0*[1-9][0-9]{0,8}", said):
                raise SystemExit(
                    f"{setting(name)} is '{said[:40]}'; it takes a whole number from 1 to 999,999,999."
                )
            given[name] = int(said)
    places = given.get("sockets", Limits.sockets)
    return Limits(**given, sockets_per_address=max(1, 3 * places // 4))


def origins(environment: Mapping[str, str] = os.environ) -> frozenset[str]:
    """The origins that the owner allows besides this server's own, in lower case.

    Raises SystemExit with a sentence for one that is no origin.
    """
    found = set()
    for said in environment.get(ORIGINS, "").replace(",", " ").split():
        origin = re.fullmatch(ORIGIN, said.lower())
        if origin is None:
            raise SystemExit(f"{ORIGINS} has '{said[:80]}'; an origin is written like https://example.org.")
        # A browser does not name the port that is its scheme's own.
        found.add(re.sub("^(http://.*):80$|^(https://.*):443$", r"\1\2", origin[1]))
    return frozenset(found)


def check_the_rest(environment: Mapping[str, str] = os.environ) -> None:
    """Raises SystemExit with a sentence for a setting that is read only later, when somebody needs it."""
    for name in SWITCHES:
        said = environment.get(name, "").strip()
        if said not in ("", "0", "1"):
            raise SystemExit(f"{name} is '{said[:40]}'; it takes 1 or 0.")
