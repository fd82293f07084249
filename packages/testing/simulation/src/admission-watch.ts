import type { WireMessage } from '@kubus/bus';
import { podWorkSchema } from '@kubus/contracts';
import type { Violation } from './invariants.ts';
import type { RuntimeDeed } from './runtime-things.ts';

/** Checks the decisions of sync-loop about pods: one decision for each, even if services crash in between. */
export class AdmissionWatch {
  /** UIDs of the pods that were rejected. */
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
    this.#violations.push({ rule: 'a pod is admitted or refused once', detail: `${ref.name} ${ref.uid}: now ${work}` });
  }

  /** @param deeds the complete history of the runtime. */
  violations(deeds: readonly RuntimeDeed[]): Violation[] {
    const made = new Set(deeds.map(({ uid }) => uid));
    return [
      ...this.#violations,
      ...[...this.rejected]
        .filter((uid) => made.has(uid))
        .map((uid) => ({ rule: 'nothing is created for a refused pod', detail: uid })),
    ];
  }
}
