import { KubusError, toError } from '@kubus/ports';
import { collectAtRest, createLogger, endProcess } from '@kubus/service-kit';
import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { endAtSignals } from './processes/end-at-signals.ts';
import { nodeDir } from './node/node-dir.ts';
import { NodeLauncher } from './node/node-launcher.ts';
import { nodeSettingsSchema, settingsFile } from './node/node-settings.ts';

/**
 * The launcher of one node as a process: `main.mjs --node NAME [--base DIR] [--run-base DIR]`, in the node's network
 * namespace. It keeps the node's processes running until SIGTERM or SIGINT. `kubus up` reads its progress from its log: lines with
 * `step`, and one with `started` or `failed`.
 */
const { values } = parseArgs({
  options: { node: { type: 'string' }, base: { type: 'string' }, 'run-base': { type: 'string' } },
});
let logger = createLogger({ service: 'launcher', instance: 'launcher-0', level: 'info' });
try {
  const { node, base, 'run-base': runBase } = values;
  if (node === undefined) throw new KubusError('usage', '--node NAME is missing');
  const dir = nodeDir(node, { ...(base !== undefined && { base }), ...(runBase !== undefined && { runBase }) });
  const settings = nodeSettingsSchema.parse(JSON.parse(await readFile(settingsFile(dir), 'utf8')));
  logger = createLogger({ service: 'launcher', instance: 'launcher-0', level: settings.logLevel });
  const launcher = new NodeLauncher({ dir, settings, logger, onStep: (step) => logger.info({ step }, step) });
  endAtSignals(launcher, logger);
  const { mallocTrim } = await launcher.start();
  collectAtRest(mallocTrim, logger);
  logger.info({ started: true }, 'the node is started');
} catch (error) {
  logger.error({ err: toError(error), failed: toError(error).message }, 'the node cannot be started');
  await endProcess(1);
}
