import { HEADER, type WireMessage } from '@kubus/bus';
import type { PodStatusReport } from '@kubus/contracts';
import type { Violation } from './invariants.ts';

/** Follows the statuses of pods, in the order of their versions, and detects a ready container that is reported unready. */
export class ReadinessWatch {
  readonly violations: Violation[] = [];
  readonly #last = new Map<string, { epoch: number; version: number }>();
  /** IDs of containers that have been reported ready. */
  readonly #ready = new Set<string>();

  observe({ subject, headers, data }: WireMessage): void {
    if (!subject.includes('.worker.fact.status.') || data === '' || headers[HEADER.version] === undefined) return;
    const epoch = Number(headers[HEADER.epoch]);
    const version = Number(headers[HEADER.version]);
    const last = this.#last.get(subject);
    if (last !== undefined && (epoch < last.epoch || (epoch === last.epoch && version <= last.version))) return;
    this.#last.set(subject, { epoch, version });
    if (subject.includes('complete')) return;
    const { status, ref } = JSON.parse(data) as PodStatusReport;
    for (const { name, containerID = '', ready, state } of status.containerStatuses ?? []) {
      if (state?.running === undefined) continue;
      if (ready) this.#ready.add(containerID);
      else if (this.#ready.has(containerID)) {
        this.violations.push({ rule: 'a ready container stays ready', detail: `${ref.uid} ${name}` });
      }
    }
  }
}
