"""The protocol of a Kubus node, as its published contract describes it: facts, commands and events over NATS.

Nothing of Kubus is used but the contract: the AsyncAPI document's text and the JSON Schemas of the payloads.
"""

import asyncio
import json
import os
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from nats.aio.client import Client
from nats.aio.msg import Msg

from nkey import UserKey

ASK_AGAIN_S = 15.0
FIRST_ASK_S = 1.0


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
class Heard:
    """A message that may be the cause of others."""

    subject: str
    headers: dict[str, str]
    payload: Any
    heard: str

    @property
    def id(self) -> str:
        return f"{self.headers['Kubus-Source']}.{self.headers['Kubus-Epoch']}.{self.headers['Kubus-Seq']}"

    @property
    def key(self) -> str:
        return decode_token(self.subject.rsplit(".", 1)[1])


def heard(message: Msg) -> Heard:
    headers = dict(message.headers or {})
    payload = json.loads(message.data) if message.data else None
    return Heard(message.subject, headers, payload, now())


@dataclass
class Fact:
    """What a reader knows of one fact: the newest value of each key."""

    values: dict[str, Heard] = field(default_factory=dict)
    ranks: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    completions: dict[str, Heard] = field(default_factory=dict)

    def take(self, message: Heard) -> bool:
        """False for what is older than what is known."""
        number = message.headers.get
        rank = (int(number("Kubus-Term", "0")), int(number("Kubus-Epoch", "0")), int(number("Kubus-Version", "0")))
        if self.ranks.get(message.key, (-1, -1, -1)) >= rank:
            return False
        self.ranks[message.key] = rank
        if number("Kubus-Removed") == "true":
            self.values.pop(message.key, None)
        else:
            self.values[message.key] = message
        return True


class CommandFailed(Exception):
    """The command ran and failed, or was refused: `code` and `message` are the server's."""

    def __init__(self, failure: dict[str, Any]) -> None:
        super().__init__(f"{failure['code']}: {failure['message']}")
        self.code = failure["code"]


class Bus:
    """One instance's way to the bus of its node."""

    def __init__(self, *, url: str, node: str, service: str, instance: str, epoch: int, identities: Path) -> None:
        self.node, self.service, self.instance, self.epoch = node, service, instance, epoch
        self._url = url
        self._key = UserKey(identities / f"{instance}.nk")
        self._client = Client()
        self._seq = 0
        self._span = secrets.token_hex(4)
        self._version = 0
        self._owned: dict[str, dict[str, tuple[str, dict[str, str]]]] = {}
        self._readers: list[Callable[[], Any]] = []
        # By `<area>.cmd.<name> <number>`.
        self._pending: dict[str, asyncio.Future[Heard]] = {}
        self._numbers: dict[str, int] = {}
        self._open: dict[str, set[int]] = {}

    async def connect(self) -> None:
        # nats-py reads seeds only with one more package; the nonce can be signed without it.
        self._client._public_nkey = self._key.public
        await self._client.connect(
            self._url,
            name=self.instance,
            signature_cb=self._key.sign,
            inbox_prefix=f"_INBOX.{self.instance}".encode(),
            max_reconnect_attempts=-1,
            reconnect_time_wait=0.2,
            reconnected_cb=self._reconnected,
            error_cb=self._ignore,
        )
        replies = f"kubus.{encode_token(self.node)}.reply.{self.service}.{self.instance}.*"
        if self.service != "reader":
            await self._client.subscribe(replies, cb=self._replied)

    async def close(self) -> None:
        await self._client.drain()

    # ---- headers

    def stamp(self, kind: str, pod: str | None, causes: list[Heard]) -> dict[str, str]:
        """The headers of the next message."""
        self._seq += 1
        trace = causes[0].headers["traceparent"].split("-")[1] if causes else secrets.token_hex(16)
        headers = {
            "Kubus-Type": kind,
            "Kubus-Source": self.instance,
            "Kubus-Epoch": str(self.epoch),
            "Kubus-Seq": str(self._seq),
            "Kubus-Time": now(),
            "Kubus-Node": self.node,
            "traceparent": f"00-{trace}-{self._span}{self._seq:08x}-01",
        }
        if pod is not None:
            headers["Kubus-Pod"] = pod
        if causes:
            headers["Kubus-Causes"] = ",".join(dict.fromkeys(cause.id for cause in causes))
            headers["Kubus-Heard"] = causes[0].heard
        return headers

    # ---- events

    async def publish(self, area: str, name: str, key: str, payload: Any, pod: str, causes: list[Heard]) -> None:
        subject = f"kubus.{encode_token(self.node)}.{area}.event.{name}.{encode_token(key)}"
        headers = self.stamp(f"{area}.event.{name}/1", pod, causes)
        await self._client.publish(subject, json.dumps(payload).encode(), headers=headers)

    async def listen(self, pattern: str, on_message: Callable[[Heard], Any]) -> None:
        """Everything that is said under a pattern below the node, from now on."""

        async def deliver(message: Msg) -> None:
            on_message(heard(message))

        await self._client.subscribe(f"kubus.{encode_token(self.node)}.{pattern}", cb=deliver)

    # ---- facts

    @property
    def _bucket(self) -> str:
        return f"kubus_{self.node.replace('.', '_')}"

    async def read(
        self,
        area: str,
        name: str,
        changed: Callable[[str], Any],
        complete: Callable[[str, list[str]], Any] | None = None,
    ) -> Fact:
        """Follows a fact: `changed` is called for each key that changed, `complete` when an owner has told its whole set."""
        fact = Fact()
        prefix = f"{area}.fact.{name}"

        def take(message: Heard) -> None:
            if message.subject.split(".")[-2:-1] == ["=complete"]:
                fact.completions[message.headers["Kubus-Source"]] = message
                if complete is not None:
                    complete(message.key, [key.rsplit(".", 1)[1] for key in message.payload["keys"]])
            elif fact.take(message):
                changed(message.key)

        async def live(message: Msg) -> None:
            take(heard(message))

        await self._client.subscribe(f"kubus.{encode_token(self.node)}.{prefix}.>", cb=live)

        async def load() -> None:
            # A subject of the loader's own: what comes there keeps the subject under which it was stored.
            await self._load(prefix, take)

        self._readers.append(load)
        await load()
        return fact

    async def _load(self, prefix: str, take: Callable[[Heard], None]) -> None:
        name = f"{self.instance}-{secrets.token_hex(4)}"
        inbox = f"_INBOX.{self.instance}.{name}"
        stored = f"$KV.{self._bucket}."

        async def deliver(message: Msg) -> None:
            if message.subject.startswith(stored):
                one = heard(message)
                subject = f"kubus.{encode_token(self.node)}.{message.subject[len(stored):]}"
                take(Heard(subject, one.headers, one.payload, one.heard))

        subscription = await self._client.subscribe(inbox, cb=deliver)
        config = {
            "name": name,
            "ack_policy": "none",
            "deliver_policy": "last_per_subject",
            "deliver_subject": inbox,
            "filter_subject": f"{stored}{prefix}.>",
            "inactive_threshold": 10_000_000_000,
            "mem_storage": True,
            "num_replicas": 1,
        }
        stream = f"KV_{self._bucket}"
        answer = await self._client.request(
            f"$JS.API.CONSUMER.CREATE.{stream}.{name}.{config['filter_subject']}",
            json.dumps({"stream_name": stream, "config": config}).encode(),
            timeout=10,
        )
        created = json.loads(answer.data)
        if "error" in created:
            raise RuntimeError(f"the facts {prefix} can not be read: {created['error']['description']}")
        # Ends by itself with the last of what was stored.
        await subscription.unsubscribe(limit=created["num_pending"])

    async def put(self, area: str, name: str, key: str, payload: Any, pod: str | None, causes: list[Heard]) -> None:
        """Stores a fact that this instance owns; `payload` None takes it out."""
        self._version += 1
        headers = self.stamp(f"{area}.fact.{name}/1", pod, causes)
        headers["Kubus-Version"] = str(self._version)
        if payload is None:
            headers["Kubus-Removed"] = "true"
        data = "" if payload is None else json.dumps(payload)
        entries = self._owned.setdefault(f"{area}.fact.{name}", {})
        entries[encode_token(key)] = (data, headers)
        await self._store(f"{area}.fact.{name}.{encode_token(key)}", data, headers)
        if payload is None:
            del entries[encode_token(key)]

    async def complete(self, area: str, name: str) -> None:
        """All keys of a fact that this instance has are told."""
        fact = f"{area}.fact.{name}"
        self._version += 1
        headers = self.stamp(f"{fact}.complete/1", None, [])
        headers["Kubus-Version"] = str(self._version)
        keys = [f"{fact}.{key}" for key in self._owned.setdefault(fact, {})]
        await self._store(f"{fact}.=complete.{encode_token(self.instance)}", json.dumps({"keys": keys}), headers)

    async def announce(self, version: str) -> None:
        """Tells the others that this instance serves."""
        about = {
            "service": self.service,
            "epoch": self.epoch,
            "version": version,
            "pid": os.getpid(),
            "startedAt": now(),
        }
        await self.put("service", "instance", self.instance, about, None, [])
        await self.complete("service", "instance")

    async def _store(self, key: str, data: str, headers: dict[str, str]) -> None:
        await self._client.publish(f"$KV.{self._bucket}.{key}", data.encode(), headers=headers)

    async def _reconnected(self) -> None:
        """The bucket may have come back empty: owners say all again, and readers look at all of it anew."""
        for fact, entries in self._owned.items():
            for key, (data, headers) in entries.items():
                await self._store(f"{fact}.{key}", data, headers)
            area, _, name = fact.split(".")
            await self.complete(area, name)
        for load in self._readers:
            await load()

    # ---- commands

    async def call(self, area: str, name: str, key: str, request: Any, causes: list[Heard]) -> Heard:
        """Has a command carried out that needs no hold, however often it takes to ask.

        Raises CommandFailed with what the server says.
        """
        kind = f"{area}.cmd.{name}"
        number = self._numbers[kind] = self._numbers.get(kind, 0) + 1
        still_open = self._open.setdefault(kind, set())
        still_open.add(number)
        end: asyncio.Future[Heard] = asyncio.get_running_loop().create_future()
        self._pending[f"{kind} {number}"] = end
        subject = f"kubus.{encode_token(self.node)}.{kind}.{encode_token(key)}"
        reply = f"kubus.{encode_token(self.node)}.reply.{self.service}.{self.instance}.{encode_token(key)}"
        wait = FIRST_ASK_S
        try:
            while True:
                headers = self.stamp(f"{kind}/1", key, causes)
                headers["Kubus-Command"] = f"{self.epoch}.{number}.{min(still_open)}"
                await self._client.publish(subject, json.dumps(request).encode(), reply=reply, headers=headers)
                done, _ = await asyncio.wait([end], timeout=wait)
                if done:
                    return end.result()
                wait = min(wait * 2, ASK_AGAIN_S)
        finally:
            still_open.discard(number)
            del self._pending[f"{kind} {number}"]

    async def _replied(self, message: Msg) -> None:
        reply = heard(message)
        status = reply.headers.get("Kubus-Status")
        if status in ("accepted", "attached"):
            return
        kind = reply.headers["Kubus-Type"].rsplit("/", 1)[0].replace(".reply.", ".cmd.")
        hold, number, _ = reply.headers["Kubus-Command"].split(".")
        end = self._pending.get(f"{kind} {number}")
        if end is None or end.done() or int(hold) != self.epoch:
            return
        if status == "done":
            end.set_result(reply)
        else:
            end.set_exception(CommandFailed(reply.payload))

    @staticmethod
    async def _ignore(_error: Exception) -> None:
        """The client reconnects by itself."""
