"""The protocol of a Kubus node, as its published contract describes it: facts, commands and events over NATS.

It uses only the contract: the text of the AsyncAPI document and the JSON Schemas of the payloads.
"""

import asyncio
import json
import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError

from fact import Fact
from message import Message, encode_token, is_repeated, now, received_message
from nkey import UserKey

ASK_AGAIN_S = 15.0
FIRST_ASK_S = 1.0
# How long the broker may take to answer, and the delay before the next attempt.
ANSWER_S = 5.0
AGAIN_S = 0.2


class CommandFailed(Exception):
    """The command ran and failed, or was refused: `code` and `message` are the server's."""

    def __init__(self, failure: dict[str, Any]) -> None:
        super().__init__(f"{failure['code']}: {failure['message']}")
        self.code: str = failure["code"]
        self.message: str = failure["message"]


class NotReady(Exception):
    """The broker does not have the requested stream yet."""


class Reader:
    """Delivers one fact to its reader."""

    def __init__(self, bus: "Bus", name: str, changed: Callable[[str], Any], completed: Callable[[str], Any]) -> None:
        self.fact, self.fact_name = Fact(), name
        self._bus, self._changed, self._completed = bus, changed, completed
        self._loaded = False
        self._pending: set[str] = set()

    async def deliver(self, message: Msg) -> None:
        if not is_repeated(message):
            self._take(received_message(message))

    async def load(self) -> None:
        """Reports nothing and applies no mark until all stored values have been received."""
        self._loaded = False
        while True:
            try:
                await self._bus.load(self.fact_name, self._take)
                break
            except (NotReady, NatsError, asyncio.TimeoutError):
                await asyncio.sleep(AGAIN_S)
        self._loaded = True
        self._notify()

    def _take(self, message: Message) -> None:
        if message.subject.split(".")[-2] == "=complete":
            self.fact.mark(message)
        elif self.fact.take(message):
            self._pending.add(message.key)
        if self._loaded:
            self._notify()

    def _notify(self) -> None:
        removed, completed = self.fact.settle()
        changed, self._pending = self._pending.union(removed), set()
        for key in changed:
            self._changed(key)
        for source in completed:
            self._completed(source)


class Bus:
    """The connection of one instance to the bus of its node."""

    def __init__(self, *, url: str, node: str, service: str, instance: str, epoch: int, identities: Path) -> None:
        self.node, self.service, self.instance, self.epoch = node, service, instance, epoch
        self._url = url
        self._key = UserKey(identities / f"{instance}.nk")
        self._client = Client()
        self._seq = 0
        self._span = secrets.token_hex(4)
        self._version = 0
        self._owned: dict[str, dict[str, tuple[str, dict[str, str]]]] = {}
        self._complete: set[str] = set()
        self._storing = asyncio.Lock()
        self._readers: list[Reader] = []
        self._again: asyncio.Future[None] | None = None
        # By `<area>.cmd.<name> <number>`.
        self._pending: dict[str, asyncio.Future[Message]] = {}
        self._numbers: dict[str, int] = {}
        self._open: dict[str, set[int]] = {}
        self._announced: asyncio.Future[Fact] | None = None
        self._changed = asyncio.Event()

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
        replies = f"kubus.{encode_token(self.node)}.reply.{self.service}.{self.instance}.*.*"
        if self.service != "reader":
            await self._client.subscribe(replies, cb=self._replied)

    async def close(self) -> None:
        await self._client.drain()

    # ---- headers

    def stamp(self, kind: str, pod: str | None, causes: list[Message]) -> dict[str, str]:
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
            headers["Kubus-Heard"] = causes[0].received_at
        return headers

    # ---- events

    async def publish(self, area: str, name: str, key: str, payload: Any, pod: str, causes: list[Message]) -> None:
        subject = f"kubus.{encode_token(self.node)}.{area}.event.{name}.{encode_token(key)}"
        headers = self.stamp(f"{area}.event.{name}/1", pod, causes)
        await self._client.publish(subject, json.dumps(payload).encode(), headers=headers)

    async def listen(self, pattern: str, on_message: Callable[[Message], Any]) -> None:
        """Subscribes to all messages under a pattern below the node, from now on."""

        async def deliver(message: Msg) -> None:
            if not is_repeated(message):
                on_message(received_message(message))

        await self._client.subscribe(f"kubus.{encode_token(self.node)}.{pattern}", cb=deliver)

    # ---- facts

    @property
    def _bucket(self) -> str:
        return f"kubus_{self.node.replace('.', '_')}"

    async def read(
        self,
        area: str,
        name: str,
        changed: Callable[[str], Any] = lambda _key: None,
        completed: Callable[[str], Any] = lambda _source: None,
    ) -> Fact:
        """Follows a fact, and returns when all stored values have been received.

        `changed` is called for each changed or removed key, `completed` when an owner has published its complete set.
        """
        reader = Reader(self, f"{area}.fact.{name}", changed, completed)
        await self._client.subscribe(f"kubus.{encode_token(self.node)}.{reader.fact_name}.>", cb=reader.deliver)
        self._readers.append(reader)
        await reader.load()
        return reader.fact

    async def load(self, fact_name: str, take: Callable[[Message], None]) -> None:
        """Loads all stored values of a fact, and returns when they have been delivered."""
        name = f"{self.instance}-{secrets.token_hex(4)}"
        inbox = f"_INBOX.{self.instance}.{name}"
        stored = f"$KV.{self._bucket}."
        received, counted = 0, asyncio.Event()

        async def deliver(message: Msg) -> None:
            nonlocal received
            # A stored message keeps its subject; a heartbeat has none.
            if message.subject.startswith(stored):
                one = received_message(message)
                subject = f"kubus.{encode_token(self.node)}.{message.subject[len(stored):]}"
                take(Message(subject, one.headers, one.payload, one.received_at))
                received += 1
                counted.set()

        subscription = await self._client.subscribe(inbox, cb=deliver)
        config = {
            "name": name,
            "ack_policy": "none",
            "deliver_policy": "last_per_subject",
            "deliver_subject": inbox,
            "filter_subject": f"{stored}{fact_name}.>",
            "inactive_threshold": 10_000_000_000,
            "mem_storage": True,
            "num_replicas": 1,
        }
        stream = f"KV_{self._bucket}"
        try:
            answer = await self._client.request(
                f"STREAMS.API.CONSUMER.CREATE.{stream}.{name}.{config['filter_subject']}",
                json.dumps({"stream_name": stream, "config": config}).encode(),
                timeout=ANSWER_S,
            )
            created = json.loads(answer.data)
            if "error" in created:
                raise NotReady(f"the facts {fact_name} cannot be read: {created['error']['description']}")
            while received < created["num_pending"]:
                counted.clear()
                await asyncio.wait_for(counted.wait(), ANSWER_S)
        finally:
            await subscription.unsubscribe()

    async def put(
        self,
        area: str,
        name: str,
        key: str,
        payload: Any,
        *,
        pod: str | None = None,
        causes: list[Message] | None = None,
        term: int | None = None,
    ) -> None:
        """Stores a fact that this instance owns; `payload` None removes it."""
        self._version += 1
        headers = self.stamp(f"{area}.fact.{name}/1", pod, causes or [])
        headers["Kubus-Version"] = str(self._version)
        if term is not None:
            headers["Kubus-Term"] = str(term)
        if payload is None:
            headers["Kubus-Removed"] = "true"
        data = "" if payload is None else json.dumps(payload)
        entries = self._owned.setdefault(f"{area}.fact.{name}", {})
        token = encode_token(key)
        entry = entries[token] = (data, headers)
        await self._store(f"{area}.fact.{name}.{token}", data, headers)
        # The store keeps the mark of the removal.
        if payload is None and entries.get(token) == entry:
            del entries[token]

    async def complete(self, area: str, name: str) -> None:
        """Publishes the completion mark: all keys of this instance have been published."""
        fact = f"{area}.fact.{name}"
        self._complete.add(fact)
        self._version += 1
        headers = self.stamp(f"{fact}.complete/1", None, [])
        headers["Kubus-Version"] = str(self._version)
        entries = self._owned.setdefault(fact, {})
        keys = [f"{fact}.{key}" for key, (_, of_key) in entries.items() if "Kubus-Removed" not in of_key]
        await self._store(f"{fact}.=complete.{encode_token(self.instance)}", json.dumps({"keys": keys}), headers)

    async def announce(self, version: str) -> None:
        """Announces that this instance serves."""
        about = {
            "service": self.service,
            "epoch": self.epoch,
            "version": version,
            "pid": os.getpid(),
            "startedAt": now(),
        }
        await self.put("service", "instance", self.instance, about)
        await self.complete("service", "instance")

    async def _store(self, key: str, data: str, headers: dict[str, str]) -> None:
        """Stores a value until the broker acknowledges it: right after its start it may have no bucket yet."""
        # One after the other, so that no older value follows a newer one.
        async with self._storing:
            while True:
                try:
                    subject = f"$KV.{self._bucket}.{key}"
                    answer = await self._client.request(subject, data.encode(), timeout=ANSWER_S, headers=headers)
                    if "error" not in json.loads(answer.data):
                        return
                except (NatsError, asyncio.TimeoutError):
                    pass
                if self._client.is_closed:
                    return
                await asyncio.sleep(AGAIN_S)

    async def _reconnected(self) -> None:
        self._again = asyncio.ensure_future(self._publish_again())

    async def _publish_again(self) -> None:
        """The bucket may be empty after a restart: owners publish all facts again, and readers reload them."""
        for fact, entries in self._owned.items():
            for key, (data, headers) in [*entries.items()]:
                await self._store(f"{fact}.{key}", data, headers)
            if fact in self._complete:
                area, _, name = fact.split(".")
                await self.complete(area, name)
        for reader in self._readers:
            await reader.load()

    # ---- commands

    async def call(
        self, server: str, area: str, name: str, key: str, request: Any, causes: list[Message]
    ) -> Message:
        """Runs a command of a service that needs no fencing token. It is sent again until it is answered.

        Raises CommandFailed with the error of the server.
        """
        kind = f"{area}.cmd.{name}"
        number = self._numbers[kind] = self._numbers.get(kind, 0) + 1
        still_open = self._open.setdefault(kind, set())
        still_open.add(number)
        end: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._pending[f"{kind} {number}"] = end
        caller = f"{self.service}.{self.instance}"
        subject = f"kubus.{encode_token(self.node)}.{kind}.{encode_token(key)}.{caller}"
        reply = f"kubus.{encode_token(self.node)}.reply.{caller}.{encode_token(key)}.{server}"
        wait = FIRST_ASK_S
        try:
            while True:
                headers = self.stamp(f"{kind}/1", key, causes)
                headers["Kubus-Command"] = f"{self.epoch}.{number}.{min(still_open)}"
                headers["Kubus-Server"] = str(await self._epoch_of(f"{server}-0"))
                await self._client.publish(subject, json.dumps(request).encode(), reply=reply, headers=headers)
                done, _ = await asyncio.wait([end], timeout=wait)
                if done:
                    return end.result()
                wait = min(wait * 2, ASK_AGAIN_S)
        finally:
            still_open.discard(number)
            del self._pending[f"{kind} {number}"]

    async def _epoch_of(self, instance: str) -> int:
        """The announced epoch of a server; waits until it has announced itself."""
        if self._announced is None:
            reading = self.read("service", "instance", lambda _key: self._changed.set())
            self._announced = asyncio.ensure_future(reading)
        announced = await asyncio.shield(self._announced)
        while instance not in announced.values:
            self._changed.clear()
            await self._changed.wait()
        return int(announced.values[instance].payload["epoch"])

    async def _replied(self, message: Msg) -> None:
        if is_repeated(message):
            return
        reply = received_message(message)
        status = reply.headers.get("Kubus-Status")
        if status in ("accepted", "attached"):
            return
        kind = reply.headers["Kubus-Type"].rsplit("/", 1)[0].replace(".reply.", ".cmd.")
        token, number, _ = reply.headers["Kubus-Command"].split(".")
        end = self._pending.get(f"{kind} {number}")
        if end is None or end.done() or int(token) != self.epoch:
            return
        if status == "done":
            end.set_result(reply)
        else:
            end.set_exception(CommandFailed(reply.payload))

    @staticmethod
    async def _ignore(_error: Exception) -> None:
        """The client reconnects automatically."""
