import type { Labels } from '@kubus/metrics';

/**
 * Labels of rows and of single values, kept from one reading to the next: as long as what they say is the same, they are the same
 * object, of which a writer has the text already.
 */
export class RowLabels {
  #before = new Map<string, Labels>();
  #now = new Map<string, Labels>();
  readonly #single = new Map<string, Labels>();

  /** From now on labels are those of another reading; what the one before did not have is forgotten. */
  next(): void {
    this.#before = this.#now;
    this.#now = new Map();
  }

  /** @param of what the labels are of */
  row(of: string, labels: Labels): Labels {
    const before = this.#before.get(of);
    const kept = before !== undefined && isSame(before, labels) ? before : labels;
    this.#now.set(of, kept);
    return kept;
  }

  /** The one label of a value, of which there are few: names of disks and interfaces. */
  single(name: string, value: string): Labels {
    const text = `${name} ${value}`;
    let labels = this.#single.get(text);
    if (labels === undefined) this.#single.set(text, (labels = { [name]: value }));
    return labels;
  }
}

function isSame(a: Labels, b: Labels): boolean {
  for (const name in b) if (a[name] !== b[name]) return false;
  return true;
}
