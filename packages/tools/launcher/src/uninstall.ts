import { toError } from '@kubus/ports';
import { createLogger, endProcess } from '@kubus/service-kit';
import { readContainerDir } from './containers/environment.ts';
import { uninstall } from './containers/uninstall.ts';

/** `kubus uninstall` as a process: removes everything a node in containers has on the machine, see docs/containers.md. */
const logger = createLogger({ service: 'uninstall', instance: 'uninstall', level: 'info' });
try {
  const dir = readContainerDir(process.env);
  await uninstall(dir);
  logger.info({ node: dir.node, folders: [dir.root, dir.run] }, 'the node is removed');
} catch (error) {
  logger.error({ err: toError(error) }, 'the node cannot be removed');
  await endProcess(1);
}
await endProcess(0);
