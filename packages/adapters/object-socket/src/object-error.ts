import { KubusError } from '@kubus/ports';

/**
 * Thrown when values are not available. `ObjectChanged`: an object is no longer at this version; its fact has the current one.
 * `Refused`: the API server refuses it, with its message. `ObjectsUnavailable`: object-cache or the API server does not
 * answer; try again later. Its texts contain nothing of an object's content or of a token.
 */
export class ObjectError extends KubusError {
  constructor(code: 'ObjectChanged' | 'Refused' | 'ObjectsUnavailable', message: string, cause?: unknown) {
    super(code, message, { cause });
  }
}
