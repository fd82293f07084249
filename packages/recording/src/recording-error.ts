import { KubusError } from '@kubus/ports';

/**
 * A recording can not be read or written. `code`: `not-a-recording`, `other-version`, `damaged`, `not-there`; the message
 * names the file.
 */
export class RecordingError extends KubusError {}
