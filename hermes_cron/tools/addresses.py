"""Which network addresses may a fetch reach? Public ones, and private ones that a setting names.

A name is resolved once, every address it has is looked at, and the connection goes to an address that was looked at:
a second look-up could answer otherwise (DNS rebinding).
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Sequence

from hermes_cron.errors import Refused, ToolFailed

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

# Prefixes that carry an IPv4 address inside: NAT64 (RFC 6052) and 6to4 (RFC 3056).
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_SIX_TO_FOUR = ipaddress.IPv6Network("2002::/16")


def reachable(host: str, port: int, allowed: Sequence[str]) -> tuple[str, ...]:
    """The addresses to connect to, in the order to try. Raises ``Refused`` when any address of the host is off limits.

    ``allowed`` are host names, addresses or networks (``10.1.0.0/16``) that may be private.
    """
    addresses = _resolve(host, port)
    if host.lower().rstrip(".") not in {name.lower() for name in allowed}:
        networks = _networks(allowed)
        for address in addresses:
            if not is_public(address) and not any(_inside(address, network) for network in networks):
                raise Refused(f"{host} is {address}, an address that is not public; http_get reaches public ones only")
    return tuple(map(str, addresses))


def is_public(address: Address) -> bool:
    """False for private, loopback, link-local (the clouds' metadata), shared, multicast and reserved addresses."""
    if isinstance(address, ipaddress.IPv6Address):
        inner = _carried(address)
        if inner is not None:
            return is_public(inner)
    return address.is_global and not address.is_multicast and not address.is_reserved


def _carried(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    if address in _SIX_TO_FOUR:
        return address.sixtofour
    return None


def _resolve(host: str, port: int) -> list[Address]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise ToolFailed(f"{host} cannot be resolved: {error}") from error
    return list(dict.fromkeys(ipaddress.ip_address(str(entry[4][0]).partition("%")[0]) for entry in found))


def _networks(allowed: Sequence[str]) -> list[ipaddress.IPv4Network | ipaddress.IPv6Network]:
    networks = []
    for text in allowed:
        try:
            networks.append(ipaddress.ip_network(text, strict=False))
        except ValueError:
            continue  # a host name
    return networks


def _inside(address: Address, network: ipaddress.IPv4Network | ipaddress.IPv6Network) -> bool:
    return address.version == network.version and address in network
