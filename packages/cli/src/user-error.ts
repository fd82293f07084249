import { KubusError } from '@kubus/ports';

/** Something that the user asked for is not there, or can not be done as asked: exit code 1, one line. */
export class UserError extends KubusError {
  constructor(message: string) {
    super('user-error', message);
  }
}
