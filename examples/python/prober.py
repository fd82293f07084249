"""Replaces the `prober` of Kubus: startup, liveness and readiness probes in Python.

    kubus replace prober -- python3 examples/python/prober.py

It gets the node's configuration file in KUBUS_CONFIG and its slot in KUBUS_SLOT, and runs in the node's network.
"""

import asyncio
import base64
import json
import os
import signal
import ssl
import sys
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
from fact import Fact
from grpc_health import health
from kubus_bus import Bus, CommandFailed
from message import Message, now
from slot import Slot

KINDS = ("startup", "liveness", "readiness")
# The result of a probe before its first verdict.
INITIAL = {"startup": "unknown", "liveness": "success", "readiness": "failure"}

# A result, its message, and its causes.
Attempt = tuple[str, str, list[Message]]


@dataclass(frozen=True)
class Target:
    """One probe of one run of a container."""

    uid: str
    container: str
    run: str
    kind: str


class Verdicts:
    """The probe results of each pod: payloads of `probe.fact.results`, kept in a file across restarts."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.pods: dict[str, dict[str, Any]] = {}
        try:
            self.pods = json.loads(file.read_text())
        except FileNotFoundError:
            pass

    def of(self, target: Target) -> str:
        runs = self.pods.get(target.uid, {}).get("containers", {})
        return runs.get(target.run, {}).get(target.kind, INITIAL[target.kind])

    def judge(self, target: Target, ref: dict[str, str], result: str) -> None:
        pod = self.pods.setdefault(target.uid, {"ref": ref, "containers": {}})
        pod["containers"].setdefault(target.run, {})[target.kind] = result

    def keep(self, uid: str, runs: set[str]) -> None:
        """Forgets runs that no longer exist."""
        pod = self.pods.get(uid)
        if pod is not None:
            pod["containers"] = {run: said for run, said in pod["containers"].items() if run in runs}
            if not pod["containers"]:
                del self.pods[uid]

    def write(self) -> None:
        """Called before results are published: a restart must not contradict a published result."""
        new = self._file.with_suffix(".new")
        new.write_text(json.dumps(self.pods))
        new.replace(self._file)


class Prober:
    def __init__(self, bus: Bus, verdicts: Verdicts, node_ip: str) -> None:
        self._bus, self._verdicts, self._node_ip = bus, verdicts, node_ip
        self._loops: dict[Target, asyncio.Task[None]] = {}
        self._published: dict[str, str] = {}
        self._publishing: set[asyncio.Future[None]] = set()
        self._term = 0
        self._started = False
        self._works = self._runtimes = self._shares = Fact()

    async def start(self) -> None:
        self._shares = await self._bus.read("node", "share", self._shared)
        self._shared(self._bus.service)
        # Results of an earlier run stay valid, including those of the bundled prober if the bucket still has them.
        before = await self._bus.read("probe", "results")
        for uid, message in before.values.items():
            if message.headers["Kubus-Source"] == self._bus.instance:
                self._verdicts.pods.setdefault(uid, message.payload)
        for uid in self._verdicts.pods:
            await self._publish(uid, [])
        await self._bus.complete("probe", "results")
        self._works = await self._bus.read("sync", "pod", self._update, self._forget)
        self._runtimes = await self._bus.read("runtime", "pod", self._update)
        self._started = True
        for uid in {*self._works.values, *self._verdicts.pods}:
            self._update(uid)
        self._forget("")
        await self._bus.announce("python")

    def _shared(self, service: str) -> None:
        """Which instances share the pods. This one can have all of them, or none."""
        share = self._shares.values.get(service)
        if service != self._bus.service or share is None:
            return
        instances, term = share.payload["instances"], share.payload["term"]
        if instances != [self._bus.instance]:
            sys.exit(f"the pods are shared by {', '.join(instances)}: this prober must be the only one")
        if term > self._term:
            # Values published under an earlier term are ignored by readers.
            self._term = term
            for uid in [*self._published]:
                self._published.pop(uid)
                self._schedule_publish(uid, [share])

    def _forget(self, _owner: str) -> None:
        """The set of pods is complete: forget pods that ended while no prober was running."""
        for uid in [*self._verdicts.pods]:
            if self._started and self._works.has_complete_set and uid not in self._works.values:
                self._verdicts.keep(uid, set())
                self._schedule_publish(uid, [])

    def _update(self, uid: str) -> None:
        """A pod or its pod state has changed."""
        if not self._started:
            return
        work, runtime = self._works.values.get(uid), self._runtimes.values.get(uid)
        wanted = dict(self._targets(uid, work, runtime))
        for target in [one for one in self._loops if one.uid == uid and one not in wanted]:
            self._loops.pop(target).cancel()
        # Without them, earlier results stay valid until they are received.
        if work is None or runtime is None:
            if work is None and self._works.has_complete_set:
                self._verdicts.keep(uid, set())
                self._schedule_publish(uid, [])
            return
        self._verdicts.keep(uid, {target.run for target in wanted})
        for target, probe in wanted.items():
            self._verdicts.judge(target, work.payload["ref"], self._verdicts.of(target))
            if target not in self._loops:
                self._loops[target] = asyncio.ensure_future(self._probe(target, probe))
        self._schedule_publish(uid, [runtime, work])

    def _targets(self, uid: str, work: Message | None, runtime: Message | None):
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
        while not self._is_decided(target):
            if not self._is_its_turn(target):
                await asyncio.sleep(0.1)
                continue
            began = time.monotonic()
            attempt = await self._attempt(target, probe)
            if attempt is not None:
                result, message, causes = attempt
                count = count + 1 if result == last else 1
                last = result
                if result == "failure":
                    await self._report_failure(target, message, causes)
                if count >= wanted[result] and self._verdicts.of(target) != result:
                    self._verdicts.judge(target, self._works.values[target.uid].payload["ref"], result)
                    self._schedule_publish(target.uid, causes)
            await asyncio.sleep(max(0.0, period - (time.monotonic() - began)))

    def _is_decided(self, target: Target) -> bool:
        """A container starts once, and a failed one is restarted: then this run needs no more probes."""
        verdict = self._verdicts.of(target)
        return (target.kind == "startup" and verdict != "unknown") or (target.kind == "liveness" and verdict == "failure")

    def _is_its_turn(self, target: Target) -> bool:
        """The other probes of a container run only after its startup probe has succeeded."""
        startup = Target(target.uid, target.container, target.run, "startup")
        return target.kind == "startup" or startup not in self._loops or self._verdicts.of(startup) == "success"

    async def _attempt(self, target: Target, probe: dict[str, Any]) -> Attempt | None:
        """None if the probe could not be run: that is no verdict about the container."""
        limit = float(probe.get("timeoutSeconds") or 1)
        causes = [self._runtimes.values[target.uid], self._works.values[target.uid]]
        if probe.get("exec"):
            return await self._exec(target, probe["exec"].get("command", []), limit, causes)
        try:
            if probe.get("httpGet"):
                url = self._url(target, probe["httpGet"])
                headers = {one["name"]: one["value"] for one in probe["httpGet"].get("httpHeaders") or []}
                status = await asyncio.to_thread(http_status, url, headers, limit)
                if 200 <= status < 400:
                    return "success", "", causes
                return "failure", f"HTTP probe failed with statuscode: {status}", causes
            if probe.get("tcpSocket"):
                host = probe["tcpSocket"].get("host") or self._address(target)
                port = self._port(target, probe["tcpSocket"]["port"])
                _, writer = await asyncio.wait_for(asyncio.open_connection(host, port), limit)
                writer.close()
                return "success", "", causes
            if probe.get("grpc"):
                service = probe["grpc"].get("service") or ""
                said = await health(self._address(target), probe["grpc"]["port"], service, limit)
                if said == "SERVING":
                    return "success", "service healthy", causes
                return "failure", f'service unhealthy (responded with "{said}")', causes
            return None
        except grpc.RpcError as error:
            return "failure", f"error: health rpc probe failed: {error.details()}", causes
        except (OSError, asyncio.TimeoutError) as error:
            return "failure", str(error) or "timed out", causes

    async def _exec(self, target: Target, command: list[str], limit: float, causes: list[Message]) -> Attempt | None:
        params = {"containerId": target.run, "cmd": command, "timeout": str(int(limit))}
        # Of the output only what the event of a failure shows.
        request = {"params": params, "output": 10 * 1024}
        try:
            reply = await self._bus.call("cri-bridge", "runtime", "ExecSync", target.uid, request, causes)
        except CommandFailed as error:
            return ("failure", error.message, causes) if error.code == "DeadlineExceeded" else None
        response = reply.payload["response"]
        said = b"".join(base64.b64decode(response.get(one, "")) for one in ("stdout", "stderr"))
        result = "success" if response.get("exitCode", 0) == 0 else "failure"
        return result, said.decode(errors="replace"), [reply]

    async def _report_failure(self, target: Target, message: str, causes: list[Message]) -> None:
        work = self._works.values[target.uid].payload
        event = {
            "ref": work["ref"],
            "type": "Warning",
            "reason": "Unhealthy",
            "message": f"{target.kind.capitalize()} probe failed: {message}",
            "fieldPath": f"spec.containers{{{target.container}}}",
            "count": 1,
            "firstTimestamp": now(),
            "lastTimestamp": now(),
            "series": f"{target.run}-{target.kind}-{time.time_ns()}",
        }
        await self._bus.publish("probe", "recorded", target.uid, event, target.uid, causes)

    def _url(self, target: Target, action: dict[str, Any]) -> str:
        host = action.get("host") or self._address(target)
        path = action.get("path") or "/"
        scheme = (action.get("scheme") or "HTTP").lower()
        host = f"[{host}]" if ":" in host else host
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

    def _schedule_publish(self, uid: str, causes: list[Message]) -> None:
        publishing = asyncio.ensure_future(self._publish(uid, causes))
        self._publishing.add(publishing)
        publishing.add_done_callback(self._publishing.discard)

    async def _publish(self, uid: str, causes: list[Message]) -> None:
        """Publishes the probe results of a pod if they have changed."""
        results = self._verdicts.pods.get(uid)
        text = json.dumps(results)
        if self._published.get(uid, "null") == text:
            return
        self._published[uid] = text
        if results is None:
            del self._published[uid]
        self._verdicts.write()
        term = self._term or None
        await self._bus.put("probe", "results", uid, json.loads(text), pod=uid, causes=causes, term=term)


# Certificates of pods are not verified, and proxies are not used.
unverified = ssl.create_default_context()
unverified.check_hostname, unverified.verify_mode = False, ssl.CERT_NONE
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=unverified))


def http_status(url: str, headers: dict[str, str], limit: float) -> int:
    try:
        with opener.open(urllib.request.Request(url, headers=headers), timeout=limit) as answer:
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
