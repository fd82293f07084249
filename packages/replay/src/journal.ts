import { type Item, itemSchema } from '@kubus/journal';
import * as z from 'zod';
import type { RecordedLife } from './recording.ts';

const itemsSchema = z.array(itemSchema);

/** Entries that are behind are let go when there are so many. */
const BEHIND = 1_000;

/** The journal of a life from its start on, as far as it goes without a gap: read part by part, when its entries are wanted. */
export class Journal {
  readonly #life: RecordedLife;
  /** The entries that are in memory, and which one is the first of them. */
  readonly #items: Item[] = [];
  #first = 0;
  #parts = 0;
  #gap: string | undefined;

  constructor(life: RecordedLife) {
    this.#life = life;
  }

  /** Why there is no more of it, where that is known by now. */
  get gap(): string | undefined {
    return this.#gap;
  }

  /** Undefined at its end. Throws a ZodError when it is no journal. */
  at(index: number): Item | undefined {
    while (index >= this.#first + this.#items.length && this.#readPart());
    return this.#items[index - this.#first];
  }

  /** Up to so many entries before one, as far as they are in memory. */
  before(index: number, count: number): readonly Item[] {
    const end = Math.max(0, index - this.#first);
    return this.#items.slice(Math.max(0, end - count), end);
  }

  /** Nobody asks for what is before this entry any more. */
  passed(index: number): void {
    const behind = index - this.#first;
    if (behind < BEHIND) return;
    this.#items.splice(0, behind);
    this.#first = index;
  }

  #readPart(): boolean {
    if (this.#gap !== undefined) return false;
    const items = this.#life.part(this.#parts);
    if (items === undefined) {
      if (this.#life.parts === 0) this.#gap = 'no part of the journal is in the recording';
      else if (this.#parts < this.#life.parts) this.#gap = `part ${this.#parts} of the journal is not in the recording`;
      return false;
    }
    this.#parts += 1;
    for (const item of itemsSchema.parse(items)) {
      if (Array.isArray(item) && item[0] === 'stray') {
        this.#gap = `message ${item[1]} came from outside of what is journaled`;
        return true;
      }
      this.#items.push(item);
    }
    return true;
  }
}

/** An entry for people. */
export function describeItem(item: Item): string {
  if (typeof item === 'number') return `reads the clock, ${item} µs after it did last`;
  switch (item[0]) {
    case 'value':
      return `takes ${JSON.stringify(item[1])}`;
    case 'message':
      return `gets ${typeof item[2] === 'string' ? item[2] : `a message on ${item[2].subject}`}`;
    case 'in':
      return `gets ${JSON.stringify(item[2]).slice(0, 200)} of ${item[1]}`;
    case 'out':
      return `sends its message ${item[1]}`;
    case 'do':
      return `${item[1]} ${JSON.stringify(item[2])}`;
    case 'threw':
      return `which fails: ${item[1]}`;
    case 'stray':
      return `sends its message ${item[1]}, which nothing led to`;
  }
}

/** Whether an entry is something that came in, with which a turn begins. */
export function isInput(item: Item): boolean {
  return Array.isArray(item) && (item[0] === 'message' || item[0] === 'in');
}
