import { KubeClient } from '@kubus/kube';
import { toError } from '@kubus/ports';
import { createLogger, endProcess, systemClock } from '@kubus/service-kit';
import { inContainer } from './containers/container-dir.ts';
import { readRemoval } from './containers/environment.ts';
import { removeNodes } from './containers/remove-nodes.ts';

/** `kubus remove-nodes` as a process: the Job of a chart's release that cleans up when it is uninstalled, see docs/containers.md. */
const logger = createLogger({ service: 'remove-nodes', instance: 'remove-nodes', level: 'info' });
try {
  const removal = readRemoval(process.env);
  const client = await KubeClient.open({
    kubeconfig: inContainer.kubeconfig,
    userAgent: 'kubus-remove-nodes',
    clock: systemClock,
    logger,
  });
  const nodes = await removeNodes(client, systemClock, removal);
  logger.info({ nodes }, 'the nodes are removed from their machines and from the cluster');
} catch (error) {
  logger.error({ err: toError(error) }, 'the nodes cannot be removed');
  await endProcess(1);
}
await endProcess(0);
