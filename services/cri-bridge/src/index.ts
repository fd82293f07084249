import { statfs } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { connectCri } from '@kubus/cri';
import { ObjectClient, noObjects } from '@kubus/object-socket';
import { FileRecordStore, type ServiceContext, type ServiceDefinition } from '@kubus/service-kit';
import { BridgeMetrics } from './bridge-metrics.ts';
import { CredentialPlugins, readProviderFiles } from './credentials/credential-plugins.ts';
import { CriBridge, type CriBridgeOptions } from './cri-bridge.ts';
import { nodeCredentials } from './credentials/node-credentials.ts';
import { PullCredentials } from './credentials/pull-credentials.ts';
import { PulledImages } from './image/pulled-images.ts';

export { CriBridge, type CriBridgeOptions } from './cri-bridge.ts';
export { PullCredentials } from './credentials/pull-credentials.ts';
export { PulledImages, pullIntentSchema, pulledRecordSchema } from './image/pulled-images.ts';
export type { Runtime } from './runtime/runtime.ts';

/** The service `cri-bridge`. */
export const criBridge: ServiceDefinition = {
  name: 'cri-bridge',
  start: async (context) => {
    const { config, bus, clock, ids, logger, health, metrics, stateDir } = context;
    const objects = config.objects && new ObjectClient(config.objects.socket);
    const shown = new BridgeMetrics();
    const images = await imagesOf(context, objects, shown);
    const { podCidrs } = config.network;
    const { socket, relay, handler, sandboxesAtOnce } = config.runtime;
    const runtime = connectCri({
      socket,
      logger,
      clock,
      ids,
      ...(relay !== undefined && { relay: { binary: relay, folder: stateDir } }),
    });
    const settings = { handler, sandboxesAtOnce, podCidrs, eventRate: config.events };
    const bridge = new CriBridge({ runtime, bus, clock, logger, objects, metrics: shown, ...settings, ...images });
    const { pulled } = images.images;
    shown.show(metrics);
    health.ready('runtime', () => bridge.problem);
    metrics.add({
      type: 'gauge',
      name: 'kubus_sandboxes',
      help: 'Sandboxes being created, and those waiting to be created.',
      collect: () => [
        { value: bridge.sandboxes.making, labels: { state: 'making' } },
        { value: bridge.sandboxes.waiting, labels: { state: 'waiting' } },
      ],
    });
    metrics.add({
      type: 'gauge',
      name: 'kubus_image_pulls',
      help: 'Running image pulls, and those waiting to start.',
      collect: () => [
        { value: bridge.pulls.pulling, labels: { state: 'pulling' } },
        { value: bridge.pulls.waiting, labels: { state: 'waiting' } },
      ],
    });
    metrics.add({
      type: 'counter',
      name: 'kubelet_image_garbage_collected_total',
      help: 'Images removed by garbage collection.',
      collect: () => [
        { value: bridge.imagesRemoved.age, labels: { reason: 'age' } },
        { value: bridge.imagesRemoved.space, labels: { reason: 'space' } },
      ],
    });
    metrics.add({
      type: 'gauge',
      name: 'kubelet_imagemanager_ondisk_pullintents',
      help: 'Started pulls with an unknown result.',
      collect: () => pulled.counts.intents,
    });
    metrics.add({
      type: 'gauge',
      name: 'kubelet_imagemanager_ondisk_pulledrecords',
      help: 'Images with a record of the credentials that they were pulled with.',
      collect: () => pulled.counts.records,
    });
    metrics.add({
      type: 'counter',
      name: 'kubus_cri_calls_total',
      help: 'Calls to the container runtime by method.',
      collect: () => [...runtime.counts].map(([method, value]) => ({ value, labels: { method } })),
    });
    return {
      sealKey: bridge.sealKey,
      stop: () => {
        bridge.stop();
        runtime.close();
        return Promise.resolve();
      },
    };
  },
};

/** The image options, from the configuration and the machine. */
async function imagesOf(
  context: ServiceContext,
  objects: ObjectClient | undefined,
  metrics: BridgeMetrics,
): Promise<Pick<CriBridgeOptions, 'images' | 'imageGc'>> {
  const { config, clock, logger, reserve, stateDir } = context;
  const { pullQps, pullBurst, maxParallel, serialize, providers, verification, gc } = config.images;
  const store = (name: string) => new FileRecordStore({ dir: join(stateDir, 'images', name), logger, reserve });
  const plugins =
    providers &&
    new CredentialPlugins({
      providers: await readProviderFiles(providers.config),
      folder: providers.binDir,
      ...{ accounts: objects, clock, logger, metrics },
    });
  const folders = { root: config.pods.root, work: process.cwd(), home: homedir() };
  const { keep, ...policy } = gc;
  return {
    images: {
      credentials: new PullCredentials({
        objects: objects ?? noObjects,
        node: nodeCredentials({ folders, plugins, logger }),
      }),
      pulled: await PulledImages.load({ pulling: store('pulling'), pulled: store('pulled'), logger }),
      limits: {
        rate: pullQps === 0 ? undefined : { qps: pullQps, burst: pullBurst },
        atOnce: (serialize ?? (maxParallel ?? 1) === 1) ? 1 : (maxParallel ?? Infinity),
      },
      verification,
      wayOut: config.network.wayOut,
    },
    imageGc: {
      keep,
      policy,
      space: async (path) => {
        const { blocks, bavail, bsize } = await statfs(path);
        return { capacity: blocks * bsize, available: bavail * bsize };
      },
    },
  };
}
