import { type Cause, formatTime } from '@kubus/bus';
import type { PodRef, WorkerState } from '@kubus/contracts';
import type { WorkerDeps } from './worker-deps.ts';

/** Publishes the state of a pod's worker when it changes. */
export class StateReport {
  readonly #ref: PodRef;
  readonly #deps: Pick<WorkerDeps, 'states' | 'clock'>;
  #reported = '';
  #since: string;

  constructor(options: { ref: PodRef; deps: Pick<WorkerDeps, 'states' | 'clock'> }) {
    this.#ref = options.ref;
    this.#deps = options.deps;
    this.#since = formatTime(options.deps.clock.now());
  }

  /** The state has changed. */
  changed(): void {
    this.#since = formatTime(this.#deps.clock.now());
  }

  /**
   * @param error the error of the last sync
   * @param cleaned the cleanup after a terminated pod is done
   */
  report(
    state: WorkerState,
    { error, cleaned }: { error: string | undefined; cleaned: boolean },
    causes: readonly Cause[],
  ): void {
    const reported = JSON.stringify([state, error, cleaned]);
    if (reported === this.#reported) return;
    this.#reported = reported;
    const { uid } = this.#ref;
    const value = { ref: this.#ref, state, since: this.#since, ...(cleaned && { cleaned }) };
    this.#deps.states.put(uid, { ...value, ...(error !== undefined && { error }) }, { pod: uid, causes });
  }
}
