import { HEADER, type WireMessage, parseTime } from '@kubus/bus';
import type { PodStatusReport } from '@kubus/contracts';
import type { Violation } from './invariants.ts';

/** Within this time a worker records a status, in milliseconds. */
const RECORDED_MS = 2_000;

/**
 * Follows the statuses of pods, in the order of their versions, and detects a ready container that is reported unready. A worker that is
 * killed before it has recorded the first ready status leaves that to the prober, and the simulated one keeps nothing.
 */
export class ReadinessWatch {
  readonly violations: Violation[] = [];
  readonly #last = new Map<string, { epoch: number; version: number }>();
  /** Who first reported a container ready, and when, by its ID. */
  readonly #ready = new Map<string, { life: string; at: number }>();

  observe({ subject, headers, data }: WireMessage): void {
    if (!subject.includes('.worker.fact.status.') || data === '' || headers[HEADER.version] === undefined) return;
    const epoch = Number(headers[HEADER.epoch]);
    const version = Number(headers[HEADER.version]);
    const last = this.#last.get(subject);
    if (last !== undefined && (epoch < last.epoch || (epoch === last.epoch && version <= last.version))) return;
    this.#last.set(subject, { epoch, version });
    if (subject.includes('complete')) return;
    const { status, ref } = JSON.parse(data) as PodStatusReport;
    const life = `${headers[HEADER.source] ?? ''}.${epoch}`;
    const at = parseTime(headers[HEADER.time] ?? '');
    for (const { name, containerID = '', ready, state } of status.containerStatuses ?? []) {
      if (state?.running === undefined) continue;
      const first = this.#ready.get(containerID);
      if (ready) this.#ready.set(containerID, first ?? { life, at });
      else if (first !== undefined && (first.life === life || at - first.at >= RECORDED_MS)) {
        this.violations.push({ rule: 'a ready container stays ready', detail: `${ref.uid} ${name}` });
      }
    }
  }
}
