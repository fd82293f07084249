"""Validates recorded messages against the published contract, and lists the declared types that did not occur.

    kubus tail -o json > messages.jsonl
    python3 validate.py CONTRACT messages.jsonl [UNSEEN]

CONTRACT is the folder that `pnpm contract` writes. UNSEEN is a JSON document: reasons, each with
the types that need not occur because of it. The exit code is 1 when a message is invalid, when a type is neither seen nor excused, or excused but not declared.
"""

import json
import sys
from pathlib import Path

from schemas import Schemas

# The number of errors that are printed.
SHOWN = 20


def main(contract: str, messages: str, unseen: str | None = None) -> int:
    schemas = Schemas(Path(contract))
    reasons: dict[str, list[str]] = json.loads(Path(unseen).read_text()) if unseen is not None else {}
    excused = {one: reason for reason, types in reasons.items() for one in types}
    seen: set[str] = set()
    wrong: list[str] = []
    count = 0
    with Path(messages).open() as lines:
        for number, line in enumerate(lines, 1):
            message = json.loads(line)
            subject, headers, payload = message["subject"], message["headers"], message["payload"]
            seen.add(headers.get("Kubus-Type", ""))
            wrong += [f"line {number}: {subject}: {error}" for error in schemas.errors(subject, headers, payload)]
            count += 1
    missing = sorted(schemas.types - seen)
    unexcused = [one for one in missing if one not in excused]
    undeclared = sorted(set(excused) - schemas.types)
    for error in wrong[:SHOWN]:
        print(error)
    for one in missing:
        print(f"not seen: {one}: {excused.get(one, 'NO REASON GIVEN')}")
    for one in undeclared:
        print(f"excused, but not declared: {one}")
    print(f"{count} messages, {len(wrong)} errors, {len(schemas.types) - len(missing)} of {len(schemas.types)} types seen")
    failed = count == 0 or wrong or (unseen is not None and (unexcused or undeclared))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
