import { type Bus, type Cause, CommandFailed, PeerRestarted } from '@kubus/bus';
import { type Pod, type Refusal, allocateDevices, podRefOf } from '@kubus/contracts';
import { deviceRequests } from '@kubus/device-manager';
import { type ExclusivePolicies, exclusiveRequest } from '@kubus/exclusive';
import { type Logger, toError } from '@kubus/ports';

/** The result of a device allocation. */
export interface DevicesAnswer {
  readonly uid: string;
  /** Undefined: allocated. */
  readonly refusal: Refusal | undefined;
  readonly causes: readonly Cause[];
}

/** Requests the allocation of pods' devices, and of what they want for themselves, one request per pod at a time. */
export class DeviceRequests {
  readonly #bus: Bus;
  readonly #logger: Logger;
  readonly #exclusive: ExclusivePolicies | undefined;
  readonly #answered: (answer: DevicesAnswer) => void;
  readonly #asked = new Set<string>();

  /** @param options.exclusive what of the node containers can have for themselves; undefined: nothing */
  constructor(
    { bus, logger, exclusive }: { bus: Bus; logger: Logger; exclusive: ExclusivePolicies | undefined },
    answered: (answer: DevicesAnswer) => void,
  ) {
    this.#bus = bus;
    this.#logger = logger;
    this.#exclusive = exclusive;
    this.#answered = answered;
  }

  /**
   * Requests the devices of a pod, unless that has been done already. A failed request is repeated at the next
   * decision.
   */
  ask(pod: Pod, causes: readonly Cause[]): void {
    const { uid } = pod.metadata;
    if (this.#asked.has(uid)) return;
    this.#asked.add(uid);
    this.#ask(pod, causes).then(
      (answer) => {
        this.#asked.delete(uid);
        this.#answered(answer);
      },
      (error: unknown) => {
        this.#asked.delete(uid);
        this.#logger.warn({ podUid: uid, err: toError(error) }, 'device allocation for a pod was not answered');
      },
    );
  }

  async #ask(pod: Pod, causes: readonly Cause[]): Promise<DevicesAnswer> {
    const { uid } = pod.metadata;
    const exclusive = this.#exclusive && exclusiveRequest(pod, this.#exclusive);
    const request = {
      ref: podRefOf(pod),
      requests: [...deviceRequests(pod)],
      ...(exclusive !== undefined && { exclusive: [...exclusive.containers] }),
      ...(exclusive?.whole !== undefined && { whole: exclusive.whole }),
    };
    for (;;) {
      try {
        const { cause } = await this.#bus.call(allocateDevices, uid, request, { causes });
        return { uid, refusal: undefined, causes: [...causes, cause] };
      } catch (error) {
        if (error instanceof CommandFailed) {
          return { uid, refusal: { reason: error.code, message: error.message }, causes };
        }
        // What node-agent allocated before its restart is found again.
        if (!(error instanceof PeerRestarted)) throw error;
      }
    }
  }
}
