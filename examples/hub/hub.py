"""Collects the events of nodes on a hub, and prints each as it arrives.

    python3 examples/hub/hub.py --credentials .kubus/hub/reader.credentials node0 node1

The hub's stream `EVENTS` sources the events that each node keeps for it, oldest first, as far as their subjects have the node's name; nodes of
earlier calls remain sources. The program waits for a node that is not connected.
"""

import argparse
import asyncio
import json
import ssl
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError

STREAM = "EVENTS"
# The size of the hub's stream, and of what each node has sent; the oldest events are dropped first.
STREAM_BYTES = 1024**3
NODE_BYTES = 64 * 1024**2
# How long the hub may take to answer, and the time between two attempts, in seconds.
ANSWER_S = 3.0
AGAIN_S = 1.0
# How often the program looks for new and recreated nodes, in seconds.
LOOK_S = 5.0
# A hub that was killed may have lost its last events and sources them again under other sequence numbers: after a restart so many events
# are read again, and those that were already shown are skipped.
OVERLAP = 1000
# The number of events in one request, and how long the hub waits for the first one, in seconds.
BATCH = 100
WAIT_S = 2.0


def domain(node: str) -> str:
    """Distinguishes the node's JetStream from that of others: NATS has no dots there."""
    return node.replace(".", "_")


def log(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


class Hub:
    def __init__(self, client: Client) -> None:
        self._client = client
        self._away: set[str] = set()
        # The last events that were shown, oldest first.
        self._shown: dict[tuple[str, ...], None] = {}

    async def _ask(self, call: str, request: dict[str, Any] | None = None, prefix: str = "$JS.API") -> dict[str, Any]:
        """JetStream's answer. Raises NatsError, asyncio.TimeoutError."""
        data = b"" if request is None else json.dumps(request).encode()
        answer = await self._client.request(f"{prefix}.{call}", data, timeout=ANSWER_S)
        return json.loads(answer.data)

    async def collect(self, nodes: list[str]) -> None:
        """Keeps these nodes as sources of the hub's stream, for ever."""
        while True:
            for node in nodes:
                try:
                    await self._collect(node)
                except (NatsError, asyncio.TimeoutError) as error:
                    log(f"the hub does not answer: {error!r}")
            await asyncio.sleep(LOOK_S)

    async def _collect(self, node: str) -> None:
        """A node's stream can contain any subject. So what it sends goes into a stream of its own first, and the hub takes from there only
        the subjects with the node's name."""
        sent = await self._sent(node)
        if sent is None:
            return
        own = f"NODE_{domain(node)}"
        if await self._put(own, NODE_BYTES, [sent]):
            log(f"the hub now collects {node}")
        named = {"name": own, "filter_subject": f"kubus.{node.replace('.', '=2E')}.*.event.>"}
        present = await self._sources(STREAM)
        others = [one for one in present if one["name"] != own and "external" not in one]
        await self._put(STREAM, STREAM_BYTES, [*others, named])

    async def _sent(self, node: str) -> dict[str, Any] | None:
        """The stream of a node's events as a source; None when the node is not connected. A recreated node has another stream."""
        api = f"$JS.{domain(node)}.API"
        try:
            streams = (await self._ask("STREAM.NAMES", prefix=api))["streams"] or []
        except (NatsError, asyncio.TimeoutError):
            streams = []
        if streams == []:
            if node not in self._away:
                log(f"{node} is not connected")
            self._away.add(node)
            return None
        self._away.discard(node)
        return {"name": streams[0], "external": {"api": api, "deliver": f"kubus-hub.{domain(node)}"}}

    async def _sources(self, stream: str) -> list[dict[str, Any]]:
        config = (await self._ask(f"STREAM.INFO.{stream}")).get("config", {})
        return [{key: one[key] for key in ("name", "filter_subject", "external") if key in one} for one in config.get("sources", [])]

    async def _put(self, stream: str, size: int, sources: list[dict[str, Any]]) -> bool:
        """Creates or updates a stream; returns whether its sources have changed."""
        present = (await self._ask(f"STREAM.INFO.{stream}")).get("config")
        by_name = sorted(sources, key=lambda one: one["name"])
        if present is not None and sorted(await self._sources(stream), key=lambda one: one["name"]) == by_name:
            return False
        config = {
            "name": stream,
            "retention": "limits",
            "discard": "old",
            "storage": "file",
            "num_replicas": 1,
            "max_bytes": size,
            **(present or {}),
            "sources": by_name,
        }
        answer = await self._ask(f"STREAM.{'CREATE' if present is None else 'UPDATE'}.{stream}", config)
        if "error" in answer:
            log(f"cannot create or update the hub's stream {stream}: {answer['error']['description']}")
        return "error" not in answer

    async def follow(self, first: int, as_json: bool) -> None:
        """Prints every event from that sequence number on, for ever, also across restarts of the hub."""
        following = first
        while True:
            try:
                state = (await self._ask(f"STREAM.INFO.{STREAM}")).get("state", {})
                async for message in self._stored(max(first, min(following, state.get("last_seq", 0) + 1) - OVERLAP)):
                    if self._is_new(message.subject, message.headers or {}):
                        show(message.subject, message.headers or {}, message.data, as_json)
                    following = message.metadata.sequence.stream + 1
            except (NatsError, asyncio.TimeoutError):
                await asyncio.sleep(AGAIN_S)

    def _is_new(self, subject: str, headers: dict[str, str]) -> bool:
        """Whether the event was not shown yet, by its node, publisher, epoch and number. The node is that of the subject, which the hub has
        checked: a header can say anything."""
        event = (subject.split(".")[1], *(headers.get(f"Kubus-{name}", "") for name in ("Source", "Epoch", "Seq")))
        if event in self._shown:
            return False
        self._shown[event] = None
        if len(self._shown) > 2 * OVERLAP:
            del self._shown[next(iter(self._shown))]
        return True

    async def _stored(self, first: int) -> AsyncIterator[Msg]:
        """Every event from that sequence number on. Raises NatsError, asyncio.TimeoutError when the hub is not reachable."""
        config = {
            "deliver_policy": "by_start_sequence",
            "opt_start_seq": first,
            "ack_policy": "none",
            "inactive_threshold": 60_000_000_000,
        }
        created = await self._ask(f"CONSUMER.CREATE.{STREAM}", {"stream_name": STREAM, "config": config})
        if "error" in created:
            raise NatsError(created["error"]["description"])
        jetstream = self._client.jetstream()
        consumer = await jetstream.pull_subscribe_bind(stream=STREAM, consumer=created["name"])
        try:
            while True:
                try:
                    for message in await consumer.fetch(BATCH, timeout=WAIT_S):
                        yield message
                except asyncio.TimeoutError:
                    # Either there are no new events, or the consumer was lost with the hub.
                    await consumer.consumer_info()
        finally:
            await consumer.unsubscribe()


def show(subject: str, headers: dict[str, str], data: bytes, as_json: bool) -> None:
    """Prints an event; one that is not as the contract says is named on standard error, whatever a node has sent."""
    _, token, area, _, name, *key = subject.split(".")
    node = token.replace("=2E", ".")
    try:
        payload = json.loads(data) if data else None
    except (ValueError, RecursionError):
        log(f"{node} has sent an event that is not JSON: {printable(subject)}")
        return
    if headers.get("Kubus-Node") != node:
        log(f"{node} has sent an event in the name of {printable(headers.get('Kubus-Node', ''))}")
        return
    if as_json:
        print(json.dumps({"subject": subject, "headers": headers, "payload": payload}), flush=True)
        return
    about = json.dumps(payload)
    if isinstance(payload, dict) and "reason" in payload:
        # A Kubernetes event of a pod or of the node.
        ref = payload.get("ref")
        of = f"{ref.get('namespace')}/{ref.get('name')} " if isinstance(ref, dict) else ""
        about = f"{of}{payload['reason']}: {payload.get('message')}"
    print(printable(f"{headers.get('Kubus-Time')} {node} {area}.{name} {'.'.join(key)} {about}"), flush=True)


def printable(text: str) -> str:
    """Without what a terminal would take for a command."""
    return "".join(one if one.isprintable() else f"\\u{ord(one):04x}" for one in text)


async def main() -> None:
    parser = argparse.ArgumentParser(description="Collects the events of nodes on a hub, and prints them.")
    parser.add_argument("nodes", nargs="+", metavar="NODE")
    parser.add_argument("--server", default="nats://127.0.0.1:4222", help="nats://HOST:PORT or tls://HOST:PORT")
    parser.add_argument("--ca", help="CA certificates of a tls:// hub (PEM); default: the system's")
    parser.add_argument("--credentials", required=True, type=Path, help="file with USER:PASSWORD")
    parser.add_argument("--from", dest="first", type=int, default=1, help="sequence number of the first event in the hub's stream")
    parser.add_argument("--json", action="store_true", help="one object a line: subject, headers, payload")
    options = parser.parse_args()
    user, _, password = options.credentials.read_text().strip().partition(":")

    async def lost(_error: Exception) -> None:
        """The client reconnects automatically."""

    client = Client()
    await client.connect(
        options.server,
        user=user,
        password=password,
        tls=ssl.create_default_context(cafile=options.ca) if options.server.startswith("tls:") else None,
        max_reconnect_attempts=-1,
        reconnect_time_wait=AGAIN_S,
        error_cb=lost,
    )
    hub = Hub(client)
    await asyncio.gather(hub.collect(options.nodes), hub.follow(options.first, options.json))


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except KeyboardInterrupt:
        pass
