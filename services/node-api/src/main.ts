import { runServices } from '@kubus/service-kit';
import { setFlagsFromString } from 'node:v8';
import { nodeApi } from './index.ts';

/**
 * How much the heap may grow before a full garbage collection, in percent. What a scrape has read lives until the next
 * one, and on a small heap V8 uses a tenth: with 100 pods it would collect 26 MiB after every second round of scrapes,
 * which costs more than a scrape of any kind. With this value it uses 5 MiB more, and collects after every fifth
 * round.
 */
const HEAP_GROWTH = 30;

setFlagsFromString(`--heap-growing-percent=${HEAP_GROWTH}`);
await runServices([nodeApi]);
