import { KubusError } from '@kubus/ports';

/**
 * Thrown when a recording cannot be read or written. `code`: `not-a-recording`, `other-version`, `damaged`, `not-there`; the message
 * names the file.
 */
export class RecordingError extends KubusError {}
