import { KubusError } from '@kubus/ports';

/** Thrown when what the user asked for does not exist or is not possible. The program prints one line and exits with code 1. */
export class UserError extends KubusError {
  constructor(message: string, options?: { cause?: unknown }) {
    super('user-error', message, options);
  }
}
