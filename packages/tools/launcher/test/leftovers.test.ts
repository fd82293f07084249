import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { createLogger } from '@kubus/service-kit';
import { nodeConfigFile } from '../src/node/node-settings.ts';
import { serviceProgram } from '../src/processes/node-program.ts';
import { isRunning, nodeMark, recordOf } from '../src/processes/process-record.ts';
import { ServiceProcesses } from '../src/processes/service-processes.ts';
import { afterTest, testNode } from './support.ts';

test('services whose record is lost are ended before the next ones start, other processes of the node are not', async () => {
  const dir = await testNode();
  const program = join(dir.root, 'service/dist/main.mjs');
  await mkdir(join(dir.root, 'service/dist'), { recursive: true });
  await writeFile(program, "console.log('up'); setInterval(() => {}, 1000);");
  const start = (command: string, ...args: string[]) => {
    const child = spawn(command, args, { env: { ...process.env, [nodeMark]: dir.root } });
    afterTest(() => Promise.resolve(child.kill('SIGKILL')));
    return child;
  };
  const [node, ...args] = serviceProgram(program, nodeConfigFile(dir), 'prober-0', undefined, []);
  const service = start(node, ...args);
  await once(service.stdout, 'data');
  const unrecorded = await recordOf(service.pid ?? 0, 'node');
  const other = await recordOf(start('sleep', '1000').pid ?? 0, 'sleep');
  const refuse = () => Promise.reject(new Error('not in this test'));
  const processes = new ServiceProcesses({
    dir,
    logger: createLogger({ service: 'launcher', instance: 'launcher-0', level: 'error' }),
    shape: { placement: 'separate', instances: {}, kubeconfig: undefined },
    elsewhere: [],
    start: refuse,
    scale: refuse,
  });
  afterTest(() => processes.stop());

  await processes.endLeftovers();

  expect(unrecorded && (await isRunning(unrecorded))).toBe(false);
  expect(other && (await isRunning(other))).toBe(true);
});
