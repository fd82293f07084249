import type { ClaimName, PersistentVolume, VolumeClaim } from '@kubus/contracts';
import { KubeError, isOutage, kubePath } from '@kubus/kube';
import { toError } from '@kubus/ports';
import type { ApiReader } from '../follow/api-reader.ts';
import { Polled } from '../follow/polled.ts';
import { type ReadClaim, readClaim, readVolume } from './storage-objects.ts';

/** The volume of a claim, or why there is none, in the API server's words; neither when that is not known. */
type VolumePart = { readonly volume?: PersistentVolume; readonly volumeProblem?: string };

/** Reads one claim with its volume: a node may watch neither. */
class ClaimReader {
  readonly #reader: ApiReader;
  readonly #name: ClaimName;

  constructor(reader: ApiReader, { namespace, name }: ClaimName) {
    this.#reader = reader;
    this.#name = { namespace, name };
  }

  async read(known: VolumeClaim | undefined, signal: AbortSignal): Promise<VolumeClaim> {
    const { namespace, name } = this.#name;
    const path = kubePath({ version: 'v1', namespace, resource: 'persistentvolumeclaims', name });
    try {
      const claim = readClaim(await this.#get(path, signal));
      return { ...claim, ...(await this.#volumeOf(claim, known, signal)) };
    } catch (error) {
      const { status, message, said = message } = answerOf(error);
      if (status === 404) return { ...this.#name, state: 'missing' };
      // A published one stays valid, as the objects of pods do.
      if (known?.state === 'present') return known;
      return { ...this.#name, state: 'refused', message: said };
    }
  }

  failed(error: unknown): void {
    this.#reader.logger.warn({ ...this.#name, err: toError(error).message }, 'cannot read a claim');
  }

  async #volumeOf(claim: ReadClaim, known: VolumeClaim | undefined, signal: AbortSignal): Promise<VolumePart> {
    const { volumeName, uid, phase } = claim;
    if (volumeName === undefined || phase !== 'Bound') return {};
    const path = kubePath({ version: 'v1', resource: 'persistentvolumes', name: volumeName });
    const before = known?.state === 'present' && known.uid === uid ? known.volume : undefined;
    try {
      return { volume: readVolume(await this.#get(path, signal)) };
    } catch (error) {
      if (isOutage(error)) return before?.name === volumeName ? { volume: before } : {};
      const { message, said = message } = answerOf(error);
      return { volumeProblem: said };
    }
  }

  #get(path: string, signal: AbortSignal): Promise<unknown> {
    return this.#reader.client.request({ method: 'GET', path, signal });
  }
}

/** Whether the claim has its volume. */
function isBound(claim: VolumeClaim): boolean {
  return claim.state === 'present' && claim.volume?.claimUid === claim.uid;
}

/** The API server's error answer. @throws the error itself if it is not an answer. */
function answerOf(error: unknown): KubeError {
  if (error instanceof KubeError && !isOutage(error)) return error;
  throw error;
}

/** Follows one claim with its volume. */
export function followClaim(reader: ApiReader, name: ClaimName, changed: () => void): Polled<VolumeClaim> {
  const claim = new ClaimReader(reader, name);
  return new Polled(reader, {
    read: (known, signal) => claim.read(known, signal),
    isSettled: isBound,
    failed: (error) => claim.failed(error),
    changed,
  });
}
