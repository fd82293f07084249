import { KubusError } from '@kubus/ports';

/**
 * Values can not be had now. `ObjectChanged`: an object is not at this version any more; its fact tells the present one.
 * `Refused`: the API server does not give it, in its words. `ObjectsUnavailable`: object-cache or the API server can not be
 * asked; the same is to be asked again later. No text of it holds any of an object's content or of a token.
 */
export class ObjectError extends KubusError {
  constructor(code: 'ObjectChanged' | 'Refused' | 'ObjectsUnavailable', message: string, cause?: unknown) {
    super(code, message, { cause });
  }
}
