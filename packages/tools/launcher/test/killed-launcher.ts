// Starts a process of the node at KUBUS_TEST_ROOT, says so, and waits to be killed.
import { join } from 'node:path';
import { startProcess } from '../src/processes/start-process.ts';

const { KUBUS_TEST_ROOT: root = '', KUBUS_TEST_RUN: run = '' } = process.env;
await startProcess({
  dir: { root, processes: join(run, 'processes') },
  what: 'orphan',
  command: ['sleep', '1000'],
  log: join(root, 'logs', 'orphan.log'),
});
console.log('started');
setInterval(() => undefined, 1000);
