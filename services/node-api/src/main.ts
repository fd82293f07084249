import { runServices } from '@kubus/service-kit';
import { setFlagsFromString } from 'node:v8';
import { nodeApi } from './index.ts';

/**
 * By how much the heap may grow until the garbage collector looks through all of it, in percent. What a scrape has read lives until the next one,
 * and on a small heap V8 takes a tenth: with 100 pods it would look through 26 MiB after every second round of scrapes, which costs more than a
 * scrape of any kind. So it takes 5 MiB more, and does that after every fifth one.
 */
const HEAP_GROWTH = 30;

setFlagsFromString(`--heap-growing-percent=${HEAP_GROWTH}`);
await runServices([nodeApi]);
