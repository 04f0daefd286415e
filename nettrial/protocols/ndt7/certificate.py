"""Certificates of an ndt7 server. It needs the extra `nettrial[ndt7]`."""

from __future__ import annotations

import contextlib
import datetime
import ipaddress
import os
import socket
import ssl
from collections.abc import Iterator, Sequence
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from nettrial.temporary import temporary_directory

VALID = datetime.timedelta(days=30)
"""The time for which a self-signed certificate is valid. The server must be restarted before it ends."""


def context(certificate: Path, key: Path | None) -> ssl.SSLContext:
    """Returns a server's settings for TLS with a certificate and its key, PEM files; without `key`, the
    certificate's file has both. Raises OSError, of which ssl.SSLError is one."""
    made = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    made.load_cert_chain(certificate, key, password=_no_password)
    return made


def _no_password() -> str:
    raise OSError("the key has a password, and can't be read without it")


def self_signed(address: str) -> tuple[ssl.SSLContext, str]:
    """Returns a server's settings for TLS with a new certificate for localhost, this machine's name and
    `address`, and the certificate's SHA-256 fingerprint. The key is in memory only, where the system can
    do that, and never in a file with a name that outlives this call."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "nettrial")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))  # The clocks of clients may be behind.
        .not_valid_after(now + VALID)
        .add_extension(x509.SubjectAlternativeName(_names(address)), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    with _file(secret + made.public_bytes(serialization.Encoding.PEM)) as both:
        return context(both, None), made.fingerprint(hashes.SHA256()).hex(":")


def _names(address: str) -> Sequence[x509.GeneralName]:
    """Returns the names for which a self-signed certificate is valid."""
    # A link-local address in a certificate has no zone.
    addresses = {"127.0.0.1", "::1", address.partition("%")[0]} - {"0.0.0.0", "::"}
    names = {"localhost", socket.gethostname()}
    return [
        *(x509.DNSName(name) for name in sorted(names) if name.isascii() and name),
        *(x509.IPAddress(ipaddress.ip_address(each)) for each in sorted(addresses)),
    ]


@contextlib.contextmanager
def _file(content: bytes) -> Iterator[Path]:
    """Yields a file with this content, which is needed because ssl reads keys from files only."""
    if hasattr(os, "memfd_create"):  # The file is in memory, has no name, and ends with this process.
        descriptor = os.memfd_create("nettrial")
        try:
            os.write(descriptor, content)
            yield Path(f"/proc/self/fd/{descriptor}")
        finally:
            os.close(descriptor)
    else:
        with temporary_directory() as directory:
            file = directory / "key.pem"
            file.write_bytes(content)
            yield file
