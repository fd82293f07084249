"""The published contract of a node's messages: the AsyncAPI document and the JSON Schemas that `pnpm contract` writes."""

import json
import re
from pathlib import Path
from typing import Any

from jsonschema import Draft7Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT7

TYPE = re.compile(r"([a-z]+)\.(fact|cmd|event|reply)\.([A-Za-z]+)(\.complete)?/(\d+)")


class Schemas:
    """Validates messages against the contract in a folder."""

    def __init__(self, folder: Path) -> None:
        self._document = json.loads((folder / "asyncapi.json").read_text())
        resource = Resource.from_contents(self._document, default_specification=DRAFT7)
        self._registry: Registry = Registry().with_resource("contract", resource)
        self._messages: dict[str, Any] = self._document["components"]["messages"]
        self._validators: dict[str, Draft7Validator] = {}
        # Each file has to be a valid schema of its own too.
        self.files = sorted((folder / "schemas").glob("*.json"))
        for file in self.files:
            Draft7Validator.check_schema(json.loads(file.read_text()))

    @property
    def types(self) -> set[str]:
        """Every declared type, with its version."""
        return {message["name"] for message in self._messages.values()} - {"completion", "arrived"}

    def errors(self, subject: str, headers: dict[str, str], payload: Any) -> list[str]:
        """The errors of a message; empty when it is valid. `payload` is None for an empty one."""
        found = TYPE.fullmatch(headers.get("Kubus-Type", ""))
        if found is None:
            return [f"invalid Kubus-Type header: {headers.get('Kubus-Type')!r}"]
        area, kind, name, complete, version = found.groups()
        message = f"{area}.{kind}.{name}.v{version}"
        if message not in self._messages or (complete and kind != "fact"):
            return [f"unknown message type {found[0]}"]
        if complete:
            message = "completion"
        if headers.get("Kubus-Status") in ("accepted", "attached"):
            message = "arrived"
        return [
            *self._of_subject(subject, area, kind, name, complete),
            *self._of_headers(message, kind, headers),
            *self._of_payload(message, kind, headers, payload),
        ]

    def _of_subject(self, subject: str, area: str, kind: str, name: str, complete: str | None) -> list[str]:
        tokens = subject.split(".")
        if kind == "reply":
            fits = len(tokens) == 7 and tokens[0] == "kubus" and tokens[2] == "reply"
        else:
            # A command names its sender, and a completion mark its owner.
            length = 8 if kind == "cmd" else 7 if complete else 6
            fits = tokens[0] == "kubus" and tokens[2:5] == [area, kind, name] and len(tokens) == length
            fits = fits and (not complete or tokens[5] == "=complete")
        return [] if fits else [f"{subject} is not a subject of {area}.{kind}.{name}"]

    def _of_headers(self, message: str, kind: str, headers: dict[str, str]) -> list[str]:
        known = self._document["components"]["schemas"][f"{kind}.headers"]["properties"]
        unknown = [name for name in headers if name not in known and not name.startswith("Nats-")]
        return [
            *(f"unknown header {name}" for name in unknown),
            *self._validate(f"#/components/messages/{message}/headers", headers),
        ]

    def _of_payload(self, message: str, kind: str, headers: dict[str, str], payload: Any) -> list[str]:
        if kind == "fact" and "Kubus-Removed" in headers:
            return [] if payload is None else ["the message must not have a payload"]
        if payload is None:
            return ["the payload is missing"]
        failed = headers.get("Kubus-Status") in ("failed", "refused")
        if kind == "reply" and message != "arrived":
            # The status tells a result from a failure.
            return self._validate(f"#/components/messages/{message}/payload/anyOf/{1 if failed else 0}", payload)
        return self._validate(f"#/components/messages/{message}/payload", payload)

    def _validate(self, pointer: str, value: Any) -> list[str]:
        validator = self._validators.get(pointer)
        if validator is None:
            validator = Draft7Validator({"$ref": f"contract{pointer}"}, registry=self._registry)
            self._validators[pointer] = validator
        return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(value)]
