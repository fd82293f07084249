import { toError } from '@kubus/ports';
import { createLogger } from '@kubus/service-kit';
import { readInstallSettings } from './containers/environment.ts';
import { install } from './containers/install.ts';

/** `kubus install` as a process: makes what the containers of a node need, see docs/containers.md. */
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
  logger.error({ err: toError(error) }, 'the node can not be installed');
  process.exit(1);
}
