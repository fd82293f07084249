"""A reader's view of a fact: the newest value of each key, and which keys are removed."""

from message import Message, decode_token

Rank = tuple[int, int, int]


def rank_of(headers: dict[str, str]) -> Rank:
    """The rank of a value among all values of its key: term, the owner's epoch, the owner's counter."""
    return (int(headers.get("Kubus-Term", "0")), int(headers["Kubus-Epoch"]), int(headers["Kubus-Version"]))


class Fact:
    """A reader's view of one fact: the newest value of each key."""

    def __init__(self) -> None:
        self.values: dict[str, Message] = {}
        # Of each key ever received: the instance that published it last, and that value's rank.
        self._known: dict[str, tuple[str, Rank]] = {}
        # By owner: the mark that waits for some of its keys, and the last one that was applied.
        self._waiting: dict[str, tuple[Rank, list[str]]] = {}
        self._applied: dict[str, Rank] = {}

    def take(self, message: Message) -> bool:
        """Takes a value; False when a newer one is known."""
        source, rank = message.headers["Kubus-Source"], rank_of(message.headers)
        known = self._known.get(message.key)
        if known is not None and known[1] >= rank:
            return False
        # Published before the last mark, which did not list it.
        if known is None and source in self._applied and rank[1:] < self._applied[source][1:]:
            return False
        self._known[message.key] = (source, rank)
        if message.headers.get("Kubus-Removed") == "true":
            self.values.pop(message.key, None)
        else:
            self.values[message.key] = message
        return True

    def mark(self, message: Message) -> None:
        """Takes a completion mark of an owner."""
        source, rank = message.headers["Kubus-Source"], rank_of(message.headers)
        waiting = self._waiting.get(source)
        last = max(waiting[0] if waiting else (0, -1, -1), self._applied.get(source, (0, -1, -1)))
        if rank > last:
            keys = [decode_token(key.rsplit(".", 1)[1]) for key in message.payload["keys"]]
            self._waiting[source] = (rank, keys)

    @property
    def has_complete_set(self) -> bool:
        """Whether an owner's completion mark was applied: only then does a missing key mean removed."""
        return len(self._applied) > 0

    def settle(self) -> tuple[list[str], list[str]]:
        """Applies the marks whose keys have all been received: the removed keys, and the owners whose set is complete now."""
        removed, completed = [], []
        for source, (rank, keys) in [*self._waiting.items()]:
            if not all(self._has_seen(source, rank, key) for key in keys):
                continue
            del self._waiting[source]
            if source not in self._applied or self._applied[source][1] != rank[1]:
                completed.append(source)
            self._applied[source] = rank
            for key in [*self.values]:
                owner, of_key = self._known[key]
                if owner == source and of_key[1:] < rank[1:] and key not in keys:
                    del self.values[key]
                    removed.append(key)
        return removed, completed

    def _has_seen(self, source: str, rank: Rank, key: str) -> bool:
        known = self._known.get(key)
        # A key that another instance publishes is not missing.
        return known is not None and (known[0] != source or known[1][1] >= rank[1])
