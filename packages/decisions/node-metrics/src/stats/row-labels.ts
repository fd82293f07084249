import type { Labels } from '@kubus/metrics';

/**
 * Labels of rows and of single values, kept from one reading to the next: unchanged labels are the same
 * object, for which a writer already has the text.
 */
export class RowLabels {
  #before = new Map<string, Labels>();
  #now = new Map<string, Labels>();
  readonly #single = new Map<string, Labels>();

  /** Starts a new reading. Labels that the previous reading did not use are dropped. */
  next(): void {
    this.#before = this.#now;
    this.#now = new Map();
  }

  /** @param of the owner of the labels */
  row(of: string, labels: Labels): Labels {
    const before = this.#before.get(of);
    const kept = before !== undefined && isSame(before, labels) ? before : labels;
    this.#now.set(of, kept);
    return kept;
  }

  /** The only label of a value. There are few of these: names of disks and interfaces. */
  single(name: string, value: string): Labels {
    return this.#few(`${name} ${value}`, () => ({ [name]: value }));
  }

  /** The labels of what was done with a disk. @param numbers `major:minor` */
  blockDevice(numbers: string, device: string, operation: 'Read' | 'Write'): Labels {
    const [major = '', minor = ''] = numbers.split(':');
    return this.#few(`${numbers} ${operation}`, () => ({ device, major, minor, operation }));
  }

  #few(text: string, make: () => Labels): Labels {
    let labels = this.#single.get(text);
    if (labels === undefined) this.#single.set(text, (labels = make()));
    return labels;
  }
}

function isSame(a: Labels, b: Labels): boolean {
  for (const name in b) if (a[name] !== b[name]) return false;
  return true;
}
