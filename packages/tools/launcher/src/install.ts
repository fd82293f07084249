import { toError } from '@kubus/ports';
import { createLogger, endProcess } from '@kubus/service-kit';
import { readInstallSettings } from './containers/environment.ts';
import { install } from './containers/install.ts';

/** `kubus install` as a process: creates what the containers of a node need on the machine, see docs/containers.md. */
const logger = createLogger({ service: 'install', instance: 'install', level: 'info' });
try {
  const { dir, settings } = await readInstallSettings(process.env);
  const config = await install(dir, settings);
  const overlay = settings.overlay?.file;
  logger.info(
    { node: dir.node, folders: [dir.root, dir.run], nats: config.nats.url, overlay },
    'the node is installed',
  );
} catch (error) {
  logger.error({ err: toError(error) }, 'the node cannot be installed');
  await endProcess(1);
}
await endProcess(0);
