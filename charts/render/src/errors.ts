import { KubusError } from '@kubus/ports';

/** Thrown when a chart cannot be rendered (`BadValues`, `BadTemplate`, `NoRenderer`) or documented (`NotDocumented`, `NoTable`). */
export class ChartError extends KubusError {}
