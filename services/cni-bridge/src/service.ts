import { PluginHost, ShimServer, endLocalnetRouting, inNamespacesOf, watchConfigFolder } from '@kubus/cni';
import { JournalRecordStore, type ServiceDefinition, socketDoor } from '@kubus/service-kit';
import { join } from 'node:path';
import { takeOverFiles } from './crash-recovery/files-of-earlier-versions.ts';
import { NetworkOnBus } from './network-on-bus.ts';
import { UtilChains } from './util-chains.ts';

/** The service `cni-bridge`. */
export const cniBridge: ServiceDefinition = {
  name: 'cni-bridge',
  start: async ({ config, bus, clock, logger, health, liveness, metrics, reserve, stateDir }) => {
    const { configDir, pluginDirs, socket, chainsAtOnce, pluginTimeoutMs, podCidrs, namespacesOf } = config.network;
    const plugins = new PluginHost({
      folders: pluginDirs,
      // The state folder identifies this owner on the machine, and stays the same after a restart.
      ownerMark: stateDir,
      ...(namespacesOf !== undefined && inNamespacesOf(namespacesOf)),
    });
    const journal = new JournalRecordStore({ path: join(stateDir, 'attachments.jsonl'), logger, reserve });
    await takeOverFiles(join(stateDir, 'attachments'), journal, logger);
    const network = new NetworkOnBus({
      bus,
      clock,
      logger,
      journal,
      plugins,
      limits: { concurrent: chainsAtOnce, pluginMs: pluginTimeoutMs },
      podCidrs,
      onLastHostPort: (interfaces) => endLocalnetRouting(interfaces, logger),
    });
    const { bridge } = network;
    health.ready('network', () => (bridge.network.ready ? undefined : bridge.network.message));
    metrics.add({
      type: 'gauge',
      name: 'kubus_cni_attachments',
      help: 'Attachments with a running operation, and those waiting to start one.',
      collect: () => [
        { value: bridge.load.running, labels: { state: 'running' } },
        { value: bridge.load.waiting, labels: { state: 'waiting' } },
      ],
    });
    const unwatch = watchConfigFolder(configDir, { clock, logger, onFiles: (files) => bridge.useFiles(files) });
    await network.recover();
    const server = new ShimServer({
      socketPath: socket,
      // A shim shares the namespaces of its runtime, which may run in a container.
      handle: (call, shim) => bridge.handle(call, namespacesOf === undefined ? plugins.through(shim) : plugins),
      logger,
    });
    await server.listen();
    const chains = new UtilChains({ clock, logger, run: (program, args) => plugins.program(program, args) });
    if (config.nodeObject.iptablesUtilChains) void chains.start();
    liveness.door('shims', socketDoor({ path: socket }));
    return {
      stop: async () => {
        chains.stop();
        unwatch();
        network.stop();
        await server.close();
        journal.close();
      },
    };
  },
};
