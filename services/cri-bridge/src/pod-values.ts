/** A shorter value says nothing, and would take parts of words out of every text. */
const SHORTEST = 4;

/**
 * The values of objects and env files that went into the containers of each pod: what the runtime says of a container may
 * quote its command (`exec: "...": executable file not found`), and goes to the bus and to users without them. Known as long as this
 * process lives and the runtime has the pod.
 */
export class PodValues {
  readonly #values = new Map<string, Set<string>>();

  add(pod: string, values: Iterable<string>): void {
    const known = this.#values.get(pod) ?? new Set<string>();
    for (const value of values) if (value.length >= SHORTEST) known.add(value).add(JSON.stringify(value).slice(1, -1));
    if (known.size > 0) this.#values.set(pod, known);
  }

  forget(pod: string): void {
    this.#values.delete(pod);
  }

  /** The text with each value of the pod's replaced. */
  redact(pod: string, text: string): string {
    // A value may be a part of another one.
    const values = [...(this.#values.get(pod) ?? [])].sort((a, b) => b.length - a.length);
    return values.reduce((rest, value) => rest.replaceAll(value, '<redacted>'), text);
  }
}
