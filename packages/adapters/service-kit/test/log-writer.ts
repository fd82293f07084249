// Writes lines to a standard output that is full: /dev/full refuses each write as a full disk does.
import { createLogger } from '../src/index.ts';

const logger = createLogger({ service: 'x', instance: 'x-0', level: 'info' });
for (let line = 0; line < 3; line++) logger.info({ line }, 'a line');
setTimeout(() => process.exit(7), 1);
