"""The address under which others reach this server, for the links that a teacher hands on.

In: the address of the open page, and where the server listens. Out: an address, or None where only this computer can
open it. No Streamlit here.
"""

import socket
from collections.abc import Callable
from ipaddress import ip_address
from urllib.parse import urlsplit

ANYWHERE = ("", "0.0.0.0", "::")  # noqa: S104 - compared, not listened on


def machine_address() -> str:
    """Return this machine's address in its network; empty where it has none. Nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # reserved for documentation (RFC 5737)
        except OSError:
            return ""
        return str(probe.getsockname()[0])


def is_loopback(host: str) -> bool:
    """Return whether a host is this computer for whoever opens it."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def class_address(here: str, listens_at: str | None, own: Callable[[], str] = machine_address) -> str | None:
    """Return the open page's address `here` as others reach it; None where nobody else does."""
    parts = urlsplit(here)
    if not is_loopback(parts.hostname or ""):
        return here
    host = own() if (listens_at or "") in ANYWHERE else listens_at or ""
    if not host or is_loopback(host):
        return None
    host = f"[{host}]" if ":" in host else host
    return parts._replace(netloc=host if parts.port is None else f"{host}:{parts.port}").geturl()
