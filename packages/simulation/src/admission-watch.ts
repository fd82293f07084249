import type { WireMessage } from '@kubus/bus';
import { podWorkSchema } from '@kubus/contracts';
import type { Violation } from './invariants.ts';
import type { RuntimeDeed } from './runtime-things.ts';

/** Watches what sync-loop decides about pods: once about each, whatever dies meanwhile. */
export class AdmissionWatch {
  /** UIDs of the pods that were not taken. */
  readonly rejected = new Set<string>();
  readonly #taken = new Set<string>();
  readonly #violations: Violation[] = [];

  observe({ subject, data }: WireMessage): void {
    if (!subject.includes('.sync.fact.pod.') || subject.includes('complete') || data === '') return;
    const { ref, work } = podWorkSchema.parse(JSON.parse(data));
    if (work !== 'sync' && work !== 'reject') return;
    const [same, other] = work === 'sync' ? [this.#taken, this.rejected] : [this.rejected, this.#taken];
    same.add(ref.uid);
    if (!other.has(ref.uid)) return;
    this.#violations.push({ rule: 'a pod is decided about once', detail: `${ref.name} ${ref.uid}: now ${work}` });
  }

  /** @param deeds everything that the runtime ever did. */
  violations(deeds: readonly RuntimeDeed[]): Violation[] {
    const made = new Set(deeds.map(({ uid }) => uid));
    return [
      ...this.#violations,
      ...[...this.rejected]
        .filter((uid) => made.has(uid))
        .map((uid) => ({ rule: 'nothing is made for a pod that is not taken', detail: uid })),
    ];
  }
}
