import { KubusError } from '@kubus/ports';

/** `BadValues`, `BadTemplate`, `NoRenderer`. */
export class ChartError extends KubusError {}
