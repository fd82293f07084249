import { type Bus, type Cause, CommandFailed, PeerRestarted } from '@kubus/bus';
import { type Pod, type Refusal, allocateDevices, podRefOf } from '@kubus/contracts';
import { deviceRequests } from '@kubus/device-manager';
import { type Logger, toError } from '@kubus/ports';

/** What came of the devices that a pod asks for. */
export interface DevicesAnswer {
  readonly uid: string;
  /** Undefined: it has them. */
  readonly refusal: Refusal | undefined;
  readonly causes: readonly Cause[];
}

/** Has pods be given their devices, each once at a time. */
export class DeviceRequests {
  readonly #bus: Bus;
  readonly #logger: Logger;
  readonly #answered: (answer: DevicesAnswer) => void;
  readonly #asked = new Set<string>();

  constructor(bus: Bus, logger: Logger, answered: (answer: DevicesAnswer) => void) {
    this.#bus = bus;
    this.#logger = logger;
    this.#answered = answered;
  }

  /** Asks for the devices of a pod, if that has not been done yet. Who can not answer is asked again at the next decision. */
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
        this.#logger.warn({ podUid: uid, err: toError(error) }, 'nobody says whether the pod gets its devices');
      },
    );
  }

  async #ask(pod: Pod, causes: readonly Cause[]): Promise<DevicesAnswer> {
    const { uid } = pod.metadata;
    const request = { ref: podRefOf(pod), requests: [...deviceRequests(pod)] };
    for (;;) {
      try {
        const { cause } = await this.#bus.call(allocateDevices, uid, request, { causes });
        return { uid, refusal: undefined, causes: [...causes, cause] };
      } catch (error) {
        if (error instanceof CommandFailed) {
          return { uid, refusal: { reason: error.code, message: error.message }, causes };
        }
        // What its life before has given is found again.
        if (!(error instanceof PeerRestarted)) throw error;
      }
    }
  }
}
