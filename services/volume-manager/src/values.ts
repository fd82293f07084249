import { type ObjectClient, ObjectError } from '@kubus/object-socket';
import { VolumeAwaits } from './ports.ts';

/** Where values of objects and tokens are read: object-cache's socket. */
export type ValueReader = Pick<ObjectClient, 'read' | 'token'>;

const unavailable = () =>
  Promise.reject(new ObjectError('ObjectsUnavailable', 'this node has no API server from which values could be read'));

/** Of a node without an API server. */
export const noValues: ValueReader = { read: unavailable, token: unavailable };

/**
 * What has to be waited for when values could not be read. An object that has changed meanwhile has a newer fact, and with it
 * the volume another step; and a lost object-cache is no failure of the pod's. The API server's refusal is one: undefined.
 */
export function asAwaits(error: unknown): VolumeAwaits | undefined {
  if (!(error instanceof ObjectError) || error.code === 'Refused') return undefined;
  return new VolumeAwaits('awaits', error.message, { cause: error });
}
