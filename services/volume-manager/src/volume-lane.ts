import type { MountedVolume } from '@kubus/contracts';
import { type Cancel, type Clock, toError } from '@kubus/ports';
import { type VolumePlan, failedMount, retryWait } from '@kubus/volume';
import { VolumeAwaits, VolumeFailure, type VolumeHost, type VolumeNews } from './ports.ts';

/** How long something is waited for that nobody tells of, in milliseconds, until it is looked for again. */
const LOOK_AGAIN_MS = 1_000;

export interface VolumeLaneOptions {
  readonly clock: Clock;
  readonly host: Pick<VolumeHost, 'make' | 'find'>;
  /** Called when the volume is there, is not any more, or a try has failed. */
  readonly changed: () => void;
  /** Called with what the pod's user is told: at each try that fails, and of what goes on meanwhile. */
  readonly tell: (news: VolumeNews) => void;
}

/**
 * One volume of one pod: made as its plan says, one thing at a time, and tried again after a while that grows. A volume that
 * is there stays there while a later try to change it fails.
 */
export class VolumeLane {
  readonly #options: VolumeLaneOptions;
  #plan: VolumePlan;
  /** The step that was made last, as JSON. */
  #made: string | undefined;
  #mounted: MountedVolume | undefined;
  #error: string | undefined;
  #awaits: string | undefined;
  #failures = 0;
  #looked = false;
  #running: Promise<void> | undefined;
  #due = false;
  #timer: Cancel | undefined;
  #held = false;

  constructor(plan: VolumePlan, options: VolumeLaneOptions) {
    this.#plan = plan;
    this.#options = options;
  }

  /** Where the volume is; undefined while it is not there. */
  get mounted(): MountedVolume | undefined {
    return this.#mounted;
  }

  /** Why the last try failed. */
  get error(): string | undefined {
    return this.#error;
  }

  /** What has to be known or done first. */
  get awaits(): string | undefined {
    return this.#awaits;
  }

  /** It is known how the volume stands. */
  get settled(): boolean {
    return this.#looked;
  }

  /** From now on the volume is to be as `plan` says. */
  make(plan: VolumePlan): void {
    this.#plan = plan;
    this.#held = false;
    this.#go();
  }

  /** Makes nothing more; finds where the volume is. */
  async find(plan: VolumePlan): Promise<void> {
    this.#plan = plan;
    await this.hold();
    if (this.#mounted === undefined && 'step' in plan) this.#mounted = await this.#options.host.find(plan.step);
    this.#looked = true;
    this.#options.changed();
  }

  /** Begins nothing more; resolves when nothing is under way. */
  async hold(): Promise<void> {
    this.#held = true;
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
    if (isWell && 'step' in plan && JSON.stringify(plan.step) === this.#made) return;
    this.#timer?.();
    this.#running = this.#try(plan).then(() => {
      this.#running = undefined;
      this.#looked = true;
      if (this.#due && !this.#held) this.#go();
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
      const { volume, againAt } = await this.#options.host.make(plan.step, this.#options.tell);
      this.#mounted = volume;
      this.#made = JSON.stringify(plan.step);
      this.#error = undefined;
      this.#failures = 0;
      if (againAt !== undefined) this.#tryAfter(againAt - this.#options.clock.now());
    } catch (error) {
      if (error instanceof VolumeAwaits && 'step' in plan) {
        // What an earlier life has made goes on being good enough.
        this.#mounted ??= await this.#options.host.find(plan.step).catch(() => undefined);
        this.#awaits = error.message;
        this.#tryAfter(LOOK_AGAIN_MS);
        return;
      }
      const news = failureNews(plan, toError(error));
      this.#error = news.message;
      this.#failures += 1;
      this.#options.tell(news);
      this.#tryAfter(retryWait(this.#failures));
    }
  }

  #tryAfter(waitMs: number): void {
    if (this.#held) return;
    this.#timer = this.#options.clock.after(Math.max(waitMs, 0), () => {
      this.#made = undefined;
      this.#go();
    });
  }
}

function failureNews(plan: VolumePlan, error: Error): VolumeNews {
  if (error instanceof VolumeFailure) return { reason: error.reason, message: error.message };
  return { reason: 'FailedMount', message: failedMount(plan, error.message) };
}
