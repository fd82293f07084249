import { type Bus, type Cause, type CommandContext, type FactOwner, formatTime } from '@kubus/bus';
import { type ImagePull, type PodRef, type PullRequest, type Pulled, imagePull, imagePulled } from '@kubus/contracts';
import type { Credential } from '@kubus/image-credentials';
import {
  type QueuedPull,
  type RateLimit,
  type TokenBucket,
  fullBucket,
  startable,
  takeToken,
} from '@kubus/image-manager';
import { type Clock, KubusError, toError } from '@kubus/ports';
import { credentialHash } from './pull-credentials.ts';

/** What the whole node's pulls keep to. */
export interface PullLimits {
  /** Undefined: any number of pulls may begin. */
  readonly rate: RateLimit | undefined;
  /** Pulls at once; Infinity: any number. */
  readonly atOnce: number;
}

export interface PullTask {
  readonly request: PullRequest;
  /** To be tried in this order; none: without credentials. */
  readonly credentials: readonly Credential[];
  /** Who asks; it is begun when its pull is. */
  readonly command: Pick<CommandContext<unknown>, 'begin' | 'cause'>;
}

/** A pull with who waits for it. */
interface Pull extends QueuedPull {
  readonly task: PullTask;
  /** Same image, same credentials: one pull is enough. */
  readonly sameAs: string;
  readonly askedAt: number;
  readonly done: PromiseWithResolvers<Pulled>;
  beganAt: number | undefined;
  pods: readonly PodRef[];
  /** All who wait for it, the first one first. */
  readonly commands: PullTask['command'][];
}

/** What a pull ends with where the node's limits do not let it begin. The reference's words. */
const TOO_MANY = 'pull QPS exceeded';

/**
 * Every pull of the node: one after another or several at once, not more of them a second than allowed, each image by one
 * pull at a time, and all of them to be seen on the bus (kubelet behaviour 1.8, throttle and serial/parallel).
 */
export class ImagePulls {
  readonly #bus: Bus;
  readonly #clock: Clock;
  readonly #limits: PullLimits;
  readonly #perform: (task: PullTask) => Promise<Omit<Pulled, 'pullMs'>>;
  readonly #facts: FactOwner<ImagePull>;
  readonly #published = new Map<string, string>();
  #bucket: TokenBucket | undefined;
  #running: readonly Pull[] = [];
  #waiting: readonly Pull[] = [];
  #ids = 0;

  /** @param options.perform makes the runtime pull, whose turn it is. */
  constructor(options: {
    bus: Bus;
    clock: Clock;
    limits: PullLimits;
    perform: (task: PullTask) => Promise<Omit<Pulled, 'pullMs'>>;
  }) {
    this.#bus = options.bus;
    this.#clock = options.clock;
    this.#limits = options.limits;
    this.#perform = options.perform;
    this.#facts = options.bus.owner(imagePull);
    this.#facts.complete();
  }

  /** Pulls that go on, and that wait for their turn. */
  get count(): { pulling: number; waiting: number } {
    return { pulling: this.#running.length, waiting: this.#waiting.length };
  }

  /** Resolves or rejects with the pull's end; who asks for what is being pulled already waits for that pull. */
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

  /** @param ended the message that told the end of a pull */
  #next(ended?: Cause): void {
    const begin = startable({ running: this.#running, waiting: this.#waiting }, this.#limits.atOnce);
    this.#waiting = this.#waiting.filter((pull) => !begin.includes(pull));
    this.#running = [...this.#running, ...begin];
    for (const pull of begin) {
      pull.beganAt = this.#clock.now();
      for (const command of pull.commands) command.begin();
    }
    this.#publish(ended);
    for (const pull of begin) void this.#run(pull);
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
    const told = this.#tell(pull, began, end);
    if ('pulled' in end) pull.done.resolve(end.pulled);
    else pull.done.reject(end.error);
    this.#next(told);
  }

  #takeToken(now: number): void {
    const { rate } = this.#limits;
    if (rate === undefined) return;
    const bucket = takeToken(this.#bucket ?? fullBucket(rate, now), rate, now);
    if (bucket === undefined) throw new KubusError('pull-failed', TOO_MANY);
    this.#bucket = bucket;
  }

  #tell({ image, pods, task, askedAt }: Pull, began: number, end: { pulled: Pulled } | { error: Error }): Cause {
    const [pod] = pods;
    const size = 'pulled' in end ? end.pulled.image?.size : undefined;
    const payload = {
      ...{ image, pods: [...pods], waitedMs: began - askedAt, pullMs: this.#clock.now() - began },
      ...(size !== undefined && { bytes: Number(size) }),
      ...('error' in end && { error: end.error.message }),
    };
    return this.#bus.emit(imagePulled, image, payload, { pod: pod?.uid, causes: [task.command.cause] });
  }

  /** Publishes what has changed of every pull. Of several of one image the first is shown, with the pods of all. */
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
