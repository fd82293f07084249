import { type Bus, type Cause, type CommandContext, type FactOwner, formatTime } from '@kubus/bus';
import { type ImagePull, type PodRef, type PullRequest, type Pulled, imagePull, imagePulled } from '@kubus/contracts';
import { type Rate, TokenBucket } from '@kubus/flow';
import { type Credential, type QueuedPull, startable } from '@kubus/images';
import { type Clock, KubusError, toError } from '@kubus/ports';
import { credentialHash } from '../credentials/pull-credentials.ts';

/** Limits of all pulls of the node. */
export interface PullLimits {
  /** Undefined: unlimited. */
  readonly rate: Rate | undefined;
  /** Parallel pulls; Infinity: unlimited. */
  readonly atOnce: number;
}

export interface PullTask {
  readonly request: PullRequest;
  /** To be tried in this order; empty: without credentials. */
  readonly credentials: readonly Credential[];
  /** The command that requests it; its turn starts with the pull. */
  readonly command: Pick<CommandContext<unknown>, 'begin' | 'cause'>;
}

/** A pull with the commands that wait for it. */
interface Pull extends QueuedPull {
  readonly task: PullTask;
  /** Image and credentials: equal pulls are shared. */
  readonly sameAs: string;
  readonly askedAt: number;
  readonly done: PromiseWithResolvers<Pulled>;
  beganAt: number | undefined;
  pods: readonly PodRef[];
  /** All commands that wait for it, the first one first. */
  readonly commands: PullTask['command'][];
}

/** Error of a pull that the node's rate limit refuses; the reference's text. */
const TOO_MANY = 'pull QPS exceeded';

/**
 * Every pull of the node: serial or parallel, within the rate limit, one pull at a time per image, all published on the
 * bus (behaviour:images, throttle and serial/parallel).
 */
export class ImagePulls {
  readonly #bus: Bus;
  readonly #clock: Clock;
  readonly #limits: PullLimits;
  readonly #perform: (task: PullTask) => Promise<Omit<Pulled, 'pullMs'>>;
  readonly #facts: FactOwner<ImagePull>;
  readonly #published = new Map<string, string>();
  readonly #bucket: TokenBucket | undefined;
  #running: readonly Pull[] = [];
  #waiting: readonly Pull[] = [];
  #ids = 0;

  /** @param options.perform makes the runtime pull, when it is the task's turn */
  constructor(options: {
    bus: Bus;
    clock: Clock;
    limits: PullLimits;
    perform: (task: PullTask) => Promise<Omit<Pulled, 'pullMs'>>;
  }) {
    this.#bus = options.bus;
    this.#clock = options.clock;
    this.#limits = options.limits;
    this.#bucket = options.limits.rate && new TokenBucket(options.limits.rate);
    this.#perform = options.perform;
    this.#facts = options.bus.owner(imagePull);
    this.#facts.complete();
  }

  /** Numbers of running pulls, and of those waiting for a turn. */
  get count(): { pulling: number; waiting: number } {
    return { pulling: this.#running.length, waiting: this.#waiting.length };
  }

  /** Settles with the pull; joins an equal one that is already queued or running. */
  pull(task: PullTask): Promise<Pulled> {
    const { image, pod } = task.request;
    const sameAs = [image, ...task.credentials.map(credentialHash)].join(' ');
    const same = [...this.#running, ...this.#waiting].find((pull) => pull.sameAs === sameAs);
    if (same !== undefined) {
      if (!same.pods.some(({ uid }) => uid === pod.uid)) same.pods = [...same.pods, pod];
      same.commands.push(task.command);
      if (same.beganAt !== undefined) task.command.begin();
      this.#publish();
      return same.done.promise;
    }
    const pull: Pull = {
      ...{ id: ++this.#ids, image, task, sameAs, askedAt: this.#clock.now() },
      ...{ done: Promise.withResolvers<Pulled>(), beganAt: undefined, pods: [pod], commands: [task.command] },
    };
    this.#waiting = [...this.#waiting, pull];
    this.#next();
    return pull.done.promise;
  }

  /** @param ended the message that published the end of a pull */
  #next(ended?: Cause): void {
    const starting = startable({ running: this.#running, waiting: this.#waiting }, this.#limits.atOnce);
    this.#waiting = this.#waiting.filter((pull) => !starting.includes(pull));
    this.#running = [...this.#running, ...starting];
    for (const pull of starting) {
      pull.beganAt = this.#clock.now();
      for (const command of pull.commands) command.begin();
    }
    this.#publish(ended);
    for (const pull of starting) void this.#run(pull);
  }

  async #run(pull: Pull): Promise<void> {
    const began = this.#clock.now();
    let end: { pulled: Pulled } | { error: Error };
    try {
      this.#takeToken(began);
      const pulled = await this.#perform(pull.task);
      end = { pulled: { ...pulled, pullMs: this.#clock.now() - began } };
    } catch (error) {
      end = { error: toError(error) };
    }
    this.#running = this.#running.filter((other) => other !== pull);
    const published = this.#publishEnd(pull, began, end);
    if ('pulled' in end) pull.done.resolve(end.pulled);
    else pull.done.reject(end.error);
    this.#next(published);
  }

  #takeToken(now: number): void {
    if (this.#bucket?.tryTake(now) === false) throw new KubusError('pull-failed', TOO_MANY);
  }

  #publishEnd({ image, pods, task, askedAt }: Pull, began: number, end: { pulled: Pulled } | { error: Error }): Cause {
    const [pod] = pods;
    const size = 'pulled' in end ? end.pulled.image?.size : undefined;
    const payload = {
      ...{ image, pods: [...pods], waitedMs: began - askedAt, pullMs: this.#clock.now() - began },
      ...(size !== undefined && { bytes: Number(size) }),
      ...('error' in end && { error: end.error.message }),
    };
    return this.#bus.emit(imagePulled, image, payload, { pod: pod?.uid, causes: [task.command.cause] });
  }

  /** Publishes the pulls that have changed. Of several pulls of one image the first is shown, with the pods of all. */
  #publish(ended?: Cause): void {
    const shown = new Map<string, { value: ImagePull; first: Pull }>();
    for (const [index, pull] of [...this.#running, ...this.#waiting].entries()) {
      const earlier = shown.get(pull.image);
      if (earlier !== undefined) earlier.value.pods.push(...pull.pods);
      else shown.set(pull.image, { value: this.#shownAs(pull, index - this.#running.length), first: pull });
    }
    for (const image of this.#published.keys()) {
      if (shown.has(image)) continue;
      this.#published.delete(image);
      this.#facts.remove(image, { causes: ended === undefined ? [] : [ended] });
    }
    for (const [image, { value, first }] of shown) {
      const text = JSON.stringify(value);
      if (this.#published.get(image) === text) continue;
      this.#published.set(image, text);
      this.#facts.put(image, value, { pod: first.pods[0]?.uid, causes: [first.task.command.cause] });
    }
  }

  #shownAs({ image, pods, askedAt, beganAt }: Pull, ahead: number): ImagePull {
    if (beganAt === undefined) return { image, state: 'queued', since: formatTime(askedAt), ahead, pods: [...pods] };
    return { image, state: 'pulling', since: formatTime(beganAt), pods: [...pods] };
  }
}
