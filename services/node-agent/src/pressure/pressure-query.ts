import type { Bus } from '@kubus/bus';
import { type EvictionRanking, type PressureReport, readPressure } from '@kubus/contracts';
import { isSignal, nearestSignal, rankingOf, readingsOf, signalsSeen, thresholdsAhead } from '@kubus/eviction';
import { KubusError } from '@kubus/ports';
import type { Eviction } from './eviction.ts';
import type { PressureView } from './pressure-watch.ts';

export interface PressureQueryOptions {
  readonly bus: Bus;
  readonly view: () => Promise<PressureView>;
  readonly rank: Eviction['rank'];
  /** evictionPressureTransitionPeriod, in milliseconds. */
  readonly transitionMs: number;
}

/** Answers what the node has left and which pods would go: {@link readPressure}. */
export class PressureQuery {
  readonly #options: PressureQueryOptions;
  /** The answers under way, by signal: pods are measured once for all that ask at a time. */
  readonly #answers = new Map<string, Promise<PressureReport>>();

  constructor(options: PressureQueryOptions) {
    this.#options = options;
    options.bus.serve(readPressure, ({ request: { signal, readings } }) => this.#answer(signal, readings === true));
  }

  async #answer(signal: string | undefined, withReadings: boolean): Promise<PressureReport> {
    const report = await this.#measured(signal ?? '');
    if (!withReadings) return report;
    const { readings } = await this.#options.view();
    return { ...report, readings: readingsOf(readings.map(({ observations }) => observations)) };
  }

  #measured(signal: string): Promise<PressureReport> {
    if (signal !== '' && !isSignal(signal)) {
      const message = `${JSON.stringify(signal.slice(0, 100))} is no signal of evictions`;
      return Promise.reject(new KubusError('unknown-signal', message));
    }
    const underWay = this.#answers.get(signal);
    if (underWay !== undefined) return underWay;
    const answer = this.#report(signal).finally(() => this.#answers.delete(signal));
    this.#answers.set(signal, answer);
    return answer;
  }

  async #report(asked: string): Promise<PressureReport> {
    const { readings, thresholds, state, conditions } = await this.#options.view();
    const signals = signalsSeen(readings.map(({ observations }) => observations));
    const ranking =
      thresholds.length === 0 && asked === '' ? undefined : await this.#ranking(asked, readings, thresholds);
    return {
      ...{ signals, thresholds: thresholdsAhead(thresholds, state, signals), conditions: [...conditions] },
      transitionSeconds: this.#options.transitionMs / 1000,
      ...(ranking !== undefined && { ranking }),
    };
  }

  async #ranking(
    asked: string,
    readings: PressureView['readings'],
    thresholds: PressureView['thresholds'],
  ): Promise<EvictionRanking | undefined> {
    const { observations = {}, disks = 'one' } = readings.at(-1) ?? {};
    const signal = isSignal(asked) ? asked : nearestSignal(thresholds, observations);
    return signal && rankingOf(signal, (await this.#options.rank(signal, disks)).ranked);
  }
}
