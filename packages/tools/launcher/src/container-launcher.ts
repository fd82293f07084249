import { KubusError, toError } from '@kubus/ports';
import { collectAtRest, createLogger, endProcess, readNodeConfig, unknownFields } from '@kubus/service-kit';
import { parseArgs } from 'node:util';
import { ContainerLauncher } from './containers/container-launcher.ts';
import { readContainerDir } from './containers/environment.ts';
import { endAtSignals } from './processes/end-at-signals.ts';

/** The launcher of a node in containers as a process: `container-launcher.mjs --config FILE`, until SIGTERM or SIGINT. */
const about = { service: 'launcher', instance: 'launcher-0' };
let logger = createLogger({ ...about, level: 'info' });
try {
  const { values } = parseArgs({ options: { config: { type: 'string' }, slot: { type: 'string' } } });
  if (values.config === undefined) throw new KubusError('usage', '--config FILE is missing');
  const { config, unknown } = readNodeConfig(values.config);
  logger = createLogger({ ...about, level: config.logLevel });
  if (unknown.length > 0) logger.warn({ file: values.config, unknown }, unknownFields);
  const launcher = new ContainerLauncher({ dir: readContainerDir(process.env), config, logger });
  endAtSignals(launcher, logger);
  await launcher.start();
  collectAtRest(config.mallocTrim, logger);
  logger.info({ node: config.node }, 'ready');
} catch (error) {
  logger.error({ err: toError(error) }, 'cannot start');
  await endProcess(1);
}
