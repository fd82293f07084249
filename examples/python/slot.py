"""A slot of a service, and the epoch of this run, as the contract describes them: locks and a counter in SQLite files."""

import sqlite3
from pathlib import Path


class Slot:
    """The right to run as one instance of a service. The kernel frees it when the process ends."""

    def __init__(self, folder: Path, number: int) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Kept open: the lock lasts as long as the connection.
        self._lock = sqlite3.connect(folder / f"slot-{number}.lock", timeout=0, isolation_level=None)
        try:
            self._lock.execute("PRAGMA locking_mode = EXCLUSIVE")
            self._lock.executescript("BEGIN EXCLUSIVE; CREATE TABLE IF NOT EXISTS slot (taken INTEGER); COMMIT")
        except sqlite3.OperationalError as error:
            raise SystemExit(f"slot {number} in {folder} is held by another process") from error
        counter = sqlite3.connect(folder / "epoch.db", timeout=5, isolation_level=None)
        counter.execute(
            "CREATE TABLE IF NOT EXISTS epoch (id INTEGER PRIMARY KEY CHECK (id = 1), value INTEGER NOT NULL)"
        )
        row = counter.execute(
            "INSERT INTO epoch (id, value) VALUES (1, 1)"
            " ON CONFLICT (id) DO UPDATE SET value = value + 1 RETURNING value"
        ).fetchone()
        counter.close()
        self.epoch: int = row[0]
