import type { MountedVolume } from '@kubus/contracts';
import { isDeepEqual } from '@kubus/pod';
import { type Cancel, type Clock, toError } from '@kubus/ports';
import { type VolumePlan, type VolumeStep, failedMount, retryWait } from '@kubus/volume';
import { VolumeAwaits, VolumeFailure, type VolumeHost, type VolumeEvent } from '../ports.ts';

/** How long to wait for something that sends no notification before checking again, in milliseconds. */
const LOOK_AGAIN_MS = 1_000;

export interface VolumeLaneOptions {
  readonly clock: Clock;
  readonly host: Pick<VolumeHost, 'make' | 'find'>;
  /** Called when the volume appears, disappears, or an attempt has failed. */
  readonly changed: () => void;
  /** Called with events for the pod's user: at each failed attempt, and about progress. */
  readonly report: (event: VolumeEvent) => void;
}

/**
 * One volume of one pod: made as its plan says, one operation at a time, retried with a growing delay. An existing
 * volume stays when a later attempt to change it fails.
 */
export class VolumeLane {
  readonly #options: VolumeLaneOptions;
  #plan: VolumePlan;
  /** The step that was made last. */
  #made: VolumeStep | undefined;
  #mounted: MountedVolume | undefined;
  #error: string | undefined;
  #awaits: string | undefined;
  #failures = 0;
  #isKnown = false;
  #running: Promise<void> | undefined;
  #due = false;
  #timer: Cancel | undefined;
  #paused = false;

  constructor(plan: VolumePlan, options: VolumeLaneOptions) {
    this.#plan = plan;
    this.#options = options;
  }

  /** Where the volume is; undefined while it is missing. */
  get mounted(): MountedVolume | undefined {
    return this.#mounted;
  }

  /** Why the last attempt failed. */
  get error(): string | undefined {
    return this.#error;
  }

  /** What has to be available first. */
  get awaits(): string | undefined {
    return this.#awaits;
  }

  /** Whether the state of the volume is known. */
  get settled(): boolean {
    return this.#isKnown;
  }

  /** Makes the volume as `plan` says from now on. */
  make(plan: VolumePlan): void {
    this.#plan = plan;
    this.#paused = false;
    this.#go();
  }

  /** Makes nothing more, and finds where the volume is. */
  async find(plan: VolumePlan): Promise<void> {
    this.#plan = plan;
    await this.pause();
    if (this.#mounted === undefined && 'step' in plan) this.#mounted = await this.#options.host.find(plan.step);
    this.#isKnown = true;
    this.#options.changed();
  }

  /** Starts nothing more; resolves when no operation is running. */
  async pause(): Promise<void> {
    this.#paused = true;
    this.#timer?.();
    await this.#running;
  }

  #go(): void {
    if (this.#running !== undefined) {
      this.#due = true;
      return;
    }
    const plan = this.#plan;
    const isWell = this.#error === undefined && this.#awaits === undefined;
    if (isWell && 'step' in plan && isDeepEqual(plan.step, this.#made)) return;
    this.#timer?.();
    this.#running = this.#try(plan).then(() => {
      this.#running = undefined;
      this.#isKnown = true;
      if (this.#due && !this.#paused) this.#go();
      this.#due = false;
      this.#options.changed();
    });
  }

  async #try(plan: VolumePlan): Promise<void> {
    this.#due = false;
    this.#awaits = 'awaits' in plan ? plan.awaits : undefined;
    if ('awaits' in plan) {
      this.#error = undefined;
      return;
    }
    try {
      if ('refusal' in plan) throw new Error(plan.refusal);
      const { volume, refreshAt } = await this.#options.host.make(plan.step, this.#options.report);
      this.#mounted = volume;
      this.#made = plan.step;
      this.#error = undefined;
      this.#failures = 0;
      if (refreshAt !== undefined) this.#retryAfter(refreshAt - this.#options.clock.now());
    } catch (error) {
      if (error instanceof VolumeAwaits && 'step' in plan) {
        // A volume that an earlier process has made stays usable.
        this.#mounted ??= await this.#options.host.find(plan.step).catch(() => undefined);
        this.#awaits = error.message;
        this.#retryAfter(LOOK_AGAIN_MS);
        return;
      }
      const event = failureEvent(plan, toError(error));
      this.#error = event.message;
      this.#failures += 1;
      this.#options.report(event);
      this.#retryAfter(retryWait(this.#failures));
    }
  }

  #retryAfter(waitMs: number): void {
    if (this.#paused) return;
    this.#timer = this.#options.clock.after(Math.max(waitMs, 0), () => {
      this.#made = undefined;
      this.#go();
    });
  }
}

function failureEvent(plan: VolumePlan, error: Error): VolumeEvent {
  if (error instanceof VolumeFailure) return { reason: error.reason, message: error.message };
  return { reason: 'FailedMount', message: failedMount(plan, error.message) };
}
