"""Prints what becomes of the pods of a node: their phases and the events that are told of them.

    kubus inside -- python3 examples/python/follow_pods.py [SCHEMAS]

With the folder of the published JSON Schemas, each message is validated first.
"""

import asyncio
import json
import os
import sys
from pathlib import Path

from kubus_bus import Bus, Heard
from schemas import Schemas


async def main() -> None:
    config = json.loads(Path(os.environ["KUBUS_CONFIG"]).read_text())
    schemas = Schemas(Path(sys.argv[1])) if len(sys.argv) > 1 else None
    bus = Bus(
        url=config["nats"]["url"],
        node=config["node"],
        service="reader",
        instance="reader-0",
        epoch=1,
        identities=Path(config["nats"]["identities"]),
    )
    await bus.connect()

    def is_valid(message: Heard) -> bool:
        wrong = schemas.errors(message.headers, message.payload) if schemas is not None else []
        for error in wrong:
            print(f"refused {message.subject}: {error}", file=sys.stderr, flush=True)
        return wrong == []

    def changed(uid: str) -> None:
        message = statuses.values.get(uid) if statuses is not None else None
        if message is not None and is_valid(message):
            ref, status = message.payload["ref"], message.payload["status"]
            ready = any(one["type"] == "Ready" and one["status"] == "True" for one in status.get("conditions", []))
            print(f"{ref['namespace']}/{ref['name']} {status.get('phase')}{' Ready' if ready else ''}", flush=True)

    def told(message: Heard) -> None:
        if is_valid(message):
            event = message.payload
            ref = event["ref"]
            print(f"{ref['namespace']}/{ref['name']} {event['reason']}: {event['message']}", flush=True)

    statuses = None
    await bus.listen("*.event.recorded.*", told)
    statuses = await bus.read("worker", "status", changed)
    for uid in [*statuses.values]:
        changed(uid)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
