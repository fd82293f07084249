import { type Bus, CommandFailed } from '@kubus/bus';
import { criCommands, rpcErrorText } from '@kubus/contracts';
import { checkpointName } from '@kubus/node-requests';
import { type Clock, KubusError } from '@kubus/ports';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Refusal } from '../auth/authorization.ts';
import type { NodeFacts } from '../node-facts.ts';

/** The container of a call. */
export interface ContainerName {
  readonly namespace: string;
  readonly pod: string;
  /** Omitted when the path does not name it. */
  readonly uid?: string | undefined;
  readonly container: string;
}

/** Single calls of the runtime on a container (behaviour:http-api); statuses and texts are the reference's. */
export class ContainerCalls {
  readonly #facts: NodeFacts;
  readonly #bus: Bus;
  readonly #clock: Clock;
  readonly #checkpoints: string;

  /** @param options.checkpoints folder for checkpoints; it is created with the first one */
  constructor(options: { facts: NodeFacts; bus: Bus; clock: Clock; checkpoints: string }) {
    this.#facts = options.facts;
    this.#bus = options.bus;
    this.#clock = options.clock;
    this.#checkpoints = options.checkpoints;
  }

  /**
   * Has the runtime write a container's state into a file; returns the path.
   *
   * @param timeoutSeconds the runtime's time limit in seconds; 0: its own limit
   */
  async checkpoint(name: ContainerName, timeoutSeconds: bigint): Promise<{ path: string } | Refusal> {
    const { namespace, pod, container } = name;
    const found = this.#find(name);
    if (found === undefined) return { status: 404, text: 'pod does not exist' };
    const { uid, id: containerId } = found;
    if (containerId === undefined) return { status: 404, text: `container ${container} does not exist` };
    await mkdir(this.#checkpoints, { recursive: true, mode: 0o700 });
    const path = join(this.#checkpoints, checkpointName(namespace, pod, container, this.#clock.now()));
    return refusable(
      async () => {
        const params = { containerId, location: path, timeout: String(timeoutSeconds) };
        await this.#bus.call(criCommands.CheckpointContainer, uid, { params });
        return { path };
      },
      (text) => `checkpointing of ${namespace}/${pod}/${container} failed (${text})`,
    );
  }

  #find({ namespace, pod, uid, container }: ContainerName): { uid: string; id: string | undefined } | undefined {
    const found = this.#facts.find(namespace, pod, uid)?.pod.metadata.uid;
    if (found === undefined) return undefined;
    return { uid: found, id: this.#facts.newestRun(found, container)?.id };
  }
}

/** Failures are answered with 500. */
async function refusable<T>(call: () => Promise<T>, text: (error: string) => string): Promise<T | Refusal> {
  try {
    return await call();
  } catch (error) {
    if (!(error instanceof KubusError)) throw error;
    return { status: 500, text: text(error instanceof CommandFailed ? rpcErrorText(error) : error.message) };
  }
}
