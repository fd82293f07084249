/** Shorter values are harmless, and redacting them would garble every text. */
const SHORTEST = 4;

/**
 * The values of objects and env files in each pod's containers, to redact them: the runtime's messages may quote a
 * container's command (`exec: "...": executable file not found`), and go to the bus and to users. Kept in memory while
 * the runtime has the pod.
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

  /** The text with each of the pod's values replaced. */
  redact(pod: string, text: string): string {
    // A value may contain another one.
    const values = [...(this.#values.get(pod) ?? [])].sort((a, b) => b.length - a.length);
    return values.reduce((rest, value) => rest.replaceAll(value, '<redacted>'), text);
  }
}
