import { type ObjectClient, ObjectError } from '@kubus/object-socket';
import { VolumeAwaits } from '../ports.ts';

/** Reads values of objects and tokens from object-cache's socket. */
export type ValueReader = Pick<ObjectClient, 'read' | 'token'>;

const unavailable = () =>
  Promise.reject(new ObjectError('ObjectsUnavailable', 'this node has no API server to read values from'));

/** The reader of a node without an API server. */
export const noValues: ValueReader = { read: unavailable, token: unavailable };

/**
 * The reason to wait when values could not be read; undefined when the API server has refused them. An object that has
 * changed meanwhile has a newer fact, and with it the volume a new step; an unreachable object-cache is not a failure
 * of the pod.
 */
export function asAwaits(error: unknown): VolumeAwaits | undefined {
  if (!(error instanceof ObjectError) || error.code === 'Refused') return undefined;
  return new VolumeAwaits('awaits', error.message, { cause: error });
}
