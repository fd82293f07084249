import type { Bus, Cause } from '@kubus/bus';
import { type RuntimeCondition, networkCondition, runtimeCondition, runtimeImages } from '@kubus/contracts';
import { type NodeImage, type RuntimeView, isAnswer } from '@kubus/node-status';
import type { Clock } from '@kubus/ports';

/** The facts about the runtime, its images and the network of the pods. */
export class RuntimeFacts {
  #view: RuntimeView = { condition: undefined, awaySince: undefined, network: undefined };
  #images: readonly NodeImage[] | undefined;
  readonly #causes = new Map<'runtime' | 'network', Cause>();

  /** @param changed called when pods can run that could not before, or vice versa */
  constructor({ bus, clock, changed }: { bus: Bus; clock: Clock; changed: () => void }) {
    bus.reader(runtimeCondition, {
      changed: ({ value, cause }) => {
        this.#causes.set('runtime', cause);
        this.#view = { ...this.#view, ...this.#runtime(value, clock.now()) };
        changed();
      },
    });
    bus.reader(networkCondition, {
      changed: ({ value, cause }) => {
        this.#causes.set('network', cause);
        this.#view = { ...this.#view, network: value };
        changed();
      },
    });
    bus.reader(runtimeImages, { changed: ({ value }) => (this.#images = value.images) });
  }

  get view(): RuntimeView {
    return this.#view;
  }

  /** The messages with the newest facts about the runtime and the network. */
  get causes(): readonly Cause[] {
    return [...this.#causes.values()];
  }

  get images(): readonly NodeImage[] | undefined {
    return this.#images;
  }

  /** Whether enough facts were received to know if pods can run. */
  get isKnown(): boolean {
    const { condition, network } = this.#view;
    return condition !== undefined && (condition.network === 'runtime' || network !== undefined);
  }

  /** A disconnected runtime keeps its last known features. */
  #runtime(value: RuntimeCondition, now: number): Pick<RuntimeView, 'condition' | 'awaySince'> {
    if (isAnswer(value)) return { condition: value, awaySince: undefined };
    const { condition, awaySince = now } = this.#view;
    return { condition, awaySince };
  }
}
