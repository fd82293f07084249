/**
 * Each set of a size, in the order of the list, until the callback returns false.
 *
 * A set is valid while the callback runs. One that the callback keeps can change afterwards: with the reference kubelet, sets of 4, 6, 7
 * or 8 nodes that begin alike share their memory, and a set that was found best ends like the last one that was looked at. A node that
 * is to give the same CPUs does the same.
 */
export function combinations(list: readonly number[], size: number, onSet: (some: readonly number[]) => boolean): void {
  if (size >= 1) next(list, size, 0, new Growing([], 0, 0), onSet);
}

function next(
  list: readonly number[],
  missing: number,
  from: number,
  some: Growing,
  onSet: (some: readonly number[]) => boolean,
): boolean {
  if (missing === 0) return onSet(some.items);
  for (let at = from; at <= list.length - missing; at += 1) {
    if (!next(list, missing - 1, at + 1, some.with(list[at] ?? 0), onSet)) return false;
  }
  return true;
}

/** A list that grows in place as long as its memory has room: it doubles, beginning with 1. */
class Growing {
  readonly items: number[];
  readonly #length: number;
  readonly #room: number;

  constructor(items: number[], length: number, room: number) {
    this.items = items;
    this.#length = length;
    this.#room = room;
  }

  with(one: number): Growing {
    const hasRoom = this.#length < this.#room;
    const items = hasRoom ? this.items : this.items.slice(0, this.#length);
    items[this.#length] = one;
    return new Growing(items, this.#length + 1, hasRoom ? this.#room : Math.max(1, 2 * this.#room));
  }
}
