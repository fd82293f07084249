"""A message of a node, and the names in its subject."""

import json
import re
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from nats.aio.msg import Msg


def encode_token(text: str) -> str:
    """A name as one token of a subject."""
    if text == "":
        return "="
    return "".join(
        chr(byte) if re.match(rb"[A-Za-z0-9_-]", bytes([byte])) else f"={byte:02X}" for byte in text.encode()
    )


def decode_token(token: str) -> str:
    if token == "=":
        return ""
    return re.sub(rb"=([0-9A-F]{2})", lambda hit: bytes([int(hit[1], 16)]), token.encode()).decode()


def now() -> str:
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


@dataclass(frozen=True)
class Message:
    """A received message; it may be the cause of others."""

    subject: str
    headers: dict[str, str]
    payload: Any
    received_at: str

    @property
    def id(self) -> str:
        return f"{self.headers['Kubus-Source']}.{self.headers['Kubus-Epoch']}.{self.headers['Kubus-Seq']}"

    @property
    def key(self) -> str:
        return decode_token(self.subject.split(".")[5])


def is_repeated(message: Msg) -> bool:
    """Whether a consumer has delivered a stored message again, under the subject that it had."""
    return message.reply.startswith("$JS.ACK.")


def received_message(message: Msg) -> Message:
    headers = dict(message.headers or {})
    payload = json.loads(message.data) if message.data else None
    return Message(message.subject, headers, payload, now())
