"""Prints the phases and the Kubernetes events of the pods of a node.

    kubus inside -- python3 examples/python/follow_pods.py [CONTRACT]

CONTRACT is the folder that `pnpm contract` writes; with it, each message is validated first.
"""

import asyncio
import json
import os
import sys
from pathlib import Path

from fact import Fact
from kubus_bus import Bus
from message import Message
from schemas import Schemas

# How long a message may arrive after later ones of the same publisher, in seconds.
LATE_S = 5.0


class Gaps:
    """Finds lost messages: sequence numbers of a publisher that were not received."""

    def __init__(self) -> None:
        self._last: dict[str, int] = {}
        self._missing: set[tuple[str, int]] = set()

    def take(self, message: Message) -> None:
        publisher, number = message.id.rsplit(".", 1)
        last = self._last.get(publisher)
        self._missing.discard((publisher, int(number)))
        if last is not None:
            for missing in range(last + 1, int(number)):
                self._missing.add((publisher, missing))
                asyncio.get_running_loop().call_later(LATE_S, self._report, publisher, missing)
        self._last[publisher] = max(last or 0, int(number))

    def _report(self, publisher: str, number: int) -> None:
        if (publisher, number) in self._missing:
            self._missing.discard((publisher, number))
            print(f"lost: message {number} of {publisher}", file=sys.stderr, flush=True)


class Follower:
    def __init__(self, bus: Bus, schemas: Schemas | None) -> None:
        self._bus, self._schemas = bus, schemas
        self._gaps = Gaps()
        self._statuses = Fact()
        self._shown: dict[str, str] = {}

    async def start(self) -> None:
        await self._bus.listen(">", self._received)
        self._statuses = await self._bus.read("worker", "status", self._changed)
        for uid in [*self._statuses.values]:
            self._changed(uid)

    def _is_valid(self, message: Message) -> bool:
        wrong = [] if self._schemas is None else self._schemas.errors(message.subject, message.headers, message.payload)
        for error in wrong:
            print(f"refused: {message.subject}: {error}", file=sys.stderr, flush=True)
        return wrong == []

    def _received(self, message: Message) -> None:
        self._gaps.take(message)
        tokens = message.subject.split(".")
        if tokens[3:5] == ["event", "recorded"] and self._is_valid(message):
            event = message.payload
            # A Node has no namespace.
            name = "/".join(event["ref"][one] for one in ("namespace", "name") if one in event["ref"])
            print(f"{name} {event['reason']}: {event['message']}", flush=True)

    def _changed(self, uid: str) -> None:
        message = self._statuses.values.get(uid)
        if message is None:
            if uid in self._shown:
                print(f"{self._shown.pop(uid)} is removed", flush=True)
        elif self._is_valid(message):
            ref, status = message.payload["ref"], message.payload["status"]
            ready = any(one["type"] == "Ready" and one["status"] == "True" for one in status.get("conditions", []))
            self._shown[uid] = f"{ref['namespace']}/{ref['name']}"
            print(f"{self._shown[uid]} {status.get('phase')}{' Ready' if ready else ''}", flush=True)


async def main() -> None:
    config = json.loads(Path(os.environ["KUBUS_CONFIG"]).read_text())
    bus = Bus(
        url=config["nats"]["url"],
        node=config["node"],
        service="reader",
        instance="reader-0",
        epoch=1,
        identities=Path(config["nats"]["identities"]),
    )
    await bus.connect()
    await Follower(bus, Schemas(Path(sys.argv[1])) if len(sys.argv) > 1 else None).start()
    print("following", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
