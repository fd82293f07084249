"""NATS user keys (nkeys): Ed25519 seeds and public keys in base32, each with a checksum."""

import base64
from pathlib import Path

from nacl.signing import SigningKey

# First byte of a user's public key, which base32 shows as a U.
USER = 20 << 3


class UserKey:
    """The key of one identity. Its seed stays in this object."""

    def __init__(self, seed_file: Path) -> None:
        text = seed_file.read_text().strip()
        raw = base64.b32decode(text + "=" * (-len(text) % 8))
        if raw[-2:] != _checksum(raw[:-2]):
            raise ValueError(f"{seed_file} does not contain a NATS key: its checksum is wrong")
        # The first two bytes are the prefix: a seed, of a user.
        self._key = SigningKey(raw[2:-2])

    @property
    def public(self) -> str:
        body = bytes([USER]) + bytes(self._key.verify_key)
        return base64.b32encode(body + _checksum(body)).decode().rstrip("=")

    def sign(self, nonce: str) -> bytes:
        """The signature of the server's nonce, with which a connection is authenticated."""
        return base64.b64encode(self._key.sign(nonce.encode()).signature)


def _checksum(data: bytes) -> bytes:
    """CRC-16/XMODEM, little-endian."""
    crc = 0
    for byte in data:
        crc ^= byte << 8
        for _ in range(8):
            crc = (crc << 1) ^ 0x1021 if crc & 0x8000 else crc << 1
            crc &= 0xFFFF
    return crc.to_bytes(2, "little")
