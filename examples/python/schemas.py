"""The published JSON Schemas of a node's messages."""

import json
import re
from pathlib import Path
from typing import Any

from jsonschema import Draft7Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT7


class Schemas:
    """Validates payloads against the schemas in a folder: `pnpm contract` writes them."""

    def __init__(self, folder: Path) -> None:
        self._documents = {file.name: json.loads(file.read_text()) for file in folder.glob("*.json")}
        if not self._documents:
            raise SystemExit(f"there are no schemas in {folder}")
        resources = [
            (name, Resource.from_contents(document, default_specification=DRAFT7))
            for name, document in self._documents.items()
        ]
        self._registry: Registry = Registry().with_resources(resources)
        self._validators: dict[str, Draft7Validator] = {}

    def errors(self, headers: dict[str, str], payload: Any) -> list[str]:
        """What is wrong with a message; empty when nothing is."""
        name = self.name_of(headers)
        if name not in self._documents:
            return [f"there is no schema {name}"]
        if payload is None:
            return [] if headers.get("Kubus-Removed") == "true" else ["only a fact that is removed has no payload"]
        validator = self._validators.get(name)
        if validator is None:
            validator = Draft7Validator(self._documents[name], registry=self._registry)
            self._validators[name] = validator
        return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(payload)]

    @staticmethod
    def name_of(headers: dict[str, str]) -> str:
        return re.sub(r"/\d+$", "", headers.get("Kubus-Type", "")) + ".json"
