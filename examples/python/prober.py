"""Takes the place of Kubus's `prober`: startup, liveness and readiness probes (exec, httpGet, tcpSocket) in Python.

    kubus replace prober -- python3 examples/python/prober.py

It gets the node's configuration file in KUBUS_CONFIG and its slot in KUBUS_SLOT, and runs in the node's network.
"""

import asyncio
import json
import os
import signal
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kubus_bus import Bus, CommandFailed, Fact, Heard
from slot import Slot

KINDS = ("startup", "liveness", "readiness")
# What a probe says before its first verdict.
INITIAL = {"startup": "unknown", "liveness": "success", "readiness": "failure"}


@dataclass(frozen=True)
class Target:
    """One probe of one run of a container."""

    uid: str
    container: str
    run: str
    kind: str


class Verdicts:
    """What probes say of each run, kept over a restart of this process in a file."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._results: dict[str, dict[str, dict[str, str]]] = {}
        try:
            self._results = json.loads(file.read_text())
        except FileNotFoundError:
            pass

    def of(self, target: Target) -> str:
        return self._results.get(target.uid, {}).get(target.run, {}).get(target.kind, INITIAL[target.kind])

    def set(self, target: Target, result: str) -> None:
        self._results.setdefault(target.uid, {}).setdefault(target.run, {})[target.kind] = result

    def keep(self, uid: str, runs: set[str]) -> None:
        """Forgets runs that are no more."""
        self._results[uid] = {run: said for run, said in self._results.get(uid, {}).items() if run in runs}
        if not self._results[uid]:
            del self._results[uid]

    def runs(self, uid: str) -> dict[str, dict[str, str]]:
        return self._results.get(uid, {})

    def write(self) -> None:
        """Before it is told: whoever was told must not hear otherwise after a restart."""
        new = self._file.with_suffix(".new")
        new.write_text(json.dumps(self._results))
        new.replace(self._file)


class Prober:
    def __init__(self, bus: Bus, verdicts: Verdicts, node_ip: str) -> None:
        self._bus, self._verdicts, self._node_ip = bus, verdicts, node_ip
        self._loops: dict[Target, asyncio.Task[None]] = {}
        self._told: dict[str, Any] = {}
        self._works = Fact()
        self._runtimes = Fact()

    async def start(self) -> None:
        self._works = await self._bus.read("sync", "pod", self._look)
        self._runtimes = await self._bus.read("runtime", "pod", self._look)
        for uid in [*self._works.values]:
            self._look(uid)
        await self._bus.complete("probe", "results")
        await self._bus.announce("python")

    def _look(self, uid: str) -> None:
        """A pod, or what the runtime has of it, has changed."""
        work, runtime = self._works.values.get(uid), self._runtimes.values.get(uid)
        wanted = dict(self._targets(uid, work, runtime))
        for target in [one for one in self._loops if one.uid == uid and one not in wanted]:
            self._loops.pop(target).cancel()
        if work is None:
            self._verdicts.keep(uid, set())
            asyncio.ensure_future(self._tell(uid, None, []))
            return
        if runtime is None:
            # What an earlier life has said stands until the runtime is heard of.
            return
        self._verdicts.keep(uid, {target.run for target in wanted})
        for target, probe in wanted.items():
            self._verdicts.set(target, self._verdicts.of(target))
            if target not in self._loops:
                self._loops[target] = asyncio.ensure_future(self._probe(target, probe))
        asyncio.ensure_future(self._tell(uid, work, [runtime, work]))

    def _targets(self, uid: str, work: Heard | None, runtime: Heard | None):
        pod = (work.payload.get("pod") if work else None) or {}
        ending = work is None or work.payload["work"] == "kill" or pod.get("metadata", {}).get("deletionTimestamp")
        if runtime is None or ending:
            return
        for container in pod.get("spec", {}).get("containers", []):
            runs = [one for one in runtime.payload["containers"] if one["name"] == container["name"]]
            if not runs or runs[0]["state"] != "running":
                continue
            for kind in KINDS:
                if container.get(f"{kind}Probe"):
                    target = Target(uid, container["name"], runs[0]["id"], kind)
                    yield target, container[f"{kind}Probe"]

    async def _probe(self, target: Target, probe: dict[str, Any]) -> None:
        """Probes one run until it ends."""
        period = probe.get("periodSeconds") or 10
        wanted = {"success": probe.get("successThreshold") or 1, "failure": probe.get("failureThreshold") or 3}
        await asyncio.sleep(probe.get("initialDelaySeconds") or 0)
        last, count = "", 0
        while True:
            if self._is_its_turn(target):
                began = time.monotonic()
                result, causes = await self._attempt(target, probe)
                count = count + 1 if result == last else 1
                last = result
                if count >= wanted[result] and self._verdicts.of(target) != result:
                    self._verdicts.set(target, result)
                    await self._tell(target.uid, self._works.values.get(target.uid), causes)
                if target.kind == "startup" and self._verdicts.of(target) == "success":
                    return
                await asyncio.sleep(max(0.0, period - (time.monotonic() - began)))
            else:
                await asyncio.sleep(0.1)

    def _is_its_turn(self, target: Target) -> bool:
        """Whether a container has started decides on its other probes."""
        startup = Target(target.uid, target.container, target.run, "startup")
        return target.kind == "startup" or startup not in self._loops or self._verdicts.of(startup) == "success"

    async def _attempt(self, target: Target, probe: dict[str, Any]) -> tuple[str, list[Heard]]:
        limit = float(probe.get("timeoutSeconds") or 1)
        work, runtime = self._works.values.get(target.uid), self._runtimes.values.get(target.uid)
        causes = [one for one in (runtime, work) if one is not None]
        if probe.get("exec"):
            return await self._exec(target, probe["exec"].get("command", []), limit, causes)
        try:
            if probe.get("httpGet"):
                url = self._url(target, probe["httpGet"])
                headers = {one["name"]: one["value"] for one in probe["httpGet"].get("httpHeaders") or []}
                status = await asyncio.to_thread(http_status, url, headers, limit)
                return "success" if 200 <= status < 400 else "failure", causes
            host = probe["tcpSocket"].get("host") or self._address(target)
            _, writer = await asyncio.wait_for(
                asyncio.open_connection(host, self._port(target, probe["tcpSocket"]["port"])), limit
            )
            writer.close()
            return "success", causes
        except (OSError, TimeoutError):
            return "failure", causes

    async def _exec(
        self, target: Target, command: list[str], limit: float, causes: list[Heard]
    ) -> tuple[str, list[Heard]]:
        request = {"params": {"containerId": target.run, "cmd": command, "timeout": str(int(limit))}}
        try:
            reply = await self._bus.call("runtime", "ExecSync", target.uid, request, causes)
        except CommandFailed:
            return "failure", causes
        code = reply.payload["response"].get("exitCode", 0)
        return "success" if code == 0 else "failure", [reply]

    def _url(self, target: Target, action: dict[str, Any]) -> str:
        host = action.get("host") or self._address(target)
        path = action.get("path") or "/"
        scheme = (action.get("scheme") or "HTTP").lower()
        return f"{scheme}://{host}:{self._port(target, action['port'])}/{path.lstrip('/')}"

    def _address(self, target: Target) -> str:
        runtime = self._runtimes.values[target.uid].payload
        sandbox = next(one["sandboxId"] for one in runtime["containers"] if one["id"] == target.run)
        ips = next(one["ips"] for one in runtime["sandboxes"] if one["id"] == sandbox)
        return ips[0] if ips else self._node_ip

    def _port(self, target: Target, port: int | str) -> int:
        if isinstance(port, int) or port.isdigit():
            return int(port)
        pod = self._works.values[target.uid].payload["pod"]
        container = next(one for one in pod["spec"]["containers"] if one["name"] == target.container)
        return next(one["containerPort"] for one in container.get("ports", []) if one.get("name") == port)

    async def _tell(self, uid: str, work: Heard | None, causes: list[Heard]) -> None:
        """Says what the probes of a pod say, if that has changed."""
        runs = self._verdicts.runs(uid)
        results = {"ref": work.payload["ref"], "containers": runs} if work is not None and runs else None
        text = json.dumps(results)
        if self._told.get(uid, "null") == text:
            return
        self._told[uid] = text
        self._verdicts.write()
        await self._bus.put("probe", "results", uid, results, uid, causes)


def http_status(url: str, headers: dict[str, str], limit: float) -> int:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=limit) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as answer:
        return int(answer.code)


async def main() -> None:
    config = json.loads(Path(os.environ["KUBUS_CONFIG"]).read_text())
    number = int(os.environ.get("KUBUS_SLOT", "0"))
    state = Path(config["state"]) / "prober"
    slot = Slot(state, number)
    bus = Bus(
        url=config["nats"]["url"],
        node=config["node"],
        service="prober",
        instance=f"prober-{number}",
        epoch=slot.epoch,
        identities=Path(config["nats"]["identities"]),
    )
    await bus.connect()
    addresses = config.get("nodeIps") or ["127.0.0.1"]
    prober = Prober(bus, Verdicts(state / "python-verdicts.json"), addresses[0])
    await prober.start()
    print("serving", flush=True)
    ended = asyncio.Event()
    for what in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(what, ended.set)
    await ended.wait()
    await bus.close()


if __name__ == "__main__":
    asyncio.run(main())
