import { ClientCertificates, type KubeWatcher, openKubeClient } from '@kubus/kube';
import { nodeVersion } from '@kubus/node-status';
import { type ServiceDefinition, nodeCapacity, version } from '@kubus/service-kit';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { AddressFinder, readMachine } from './machine.ts';
import { NodeAgent } from './node-agent.ts';
import { UtilChains } from './util-chains.ts';

const execute = promisify(execFile);

/** The service `node-agent`. It has to run in the network namespace whose addresses are the node's. */
export const nodeAgent: ServiceDefinition = {
  name: 'node-agent',
  isPartOf: (config) => config.apiServer !== undefined,
  start: ({ config, bus, clock, ids, logger, health }) => {
    const { node: name, nodeIps, nodeObject, labels, taints, reserved, server, events, apiServer } = config;
    const hostname = nodeObject.hostname ?? name;
    const { externalCloud } = nodeObject;
    const addresses = new AddressFinder({ node: name, hostname, nodeIps, externalCloud }, { clock, logger });
    const machine = {
      info: readMachine,
      capacity: () => nodeCapacity(config),
      addresses: addresses.find.bind(addresses),
    };
    const settings = {
      ...{ ...nodeObject, name, hostname, nodeIps, reserved, machine },
      initial: { ...nodeObject, labels, taints },
      version: nodeVersion(version),
      port: server?.port,
      eventRate: events,
    };
    const ended = new AbortController();
    const certificates =
      apiServer && new ClientCertificates({ node: name, apiServer, clock, logger, random: () => ids.fraction() });
    health.ready('credentials', () => certificates?.fault);
    certificates?.start();
    // The bus does not wait for the credentials, which may still have to be made; requests do.
    const opened = openKubeClient(config, 'node-agent', { clock, logger, signal: ended.signal });
    const client: KubeWatcher = {
      request: async (request) => (await opened).request(request),
      watch: async (watch) => (await opened).watch(watch),
    };
    const agent = new NodeAgent({ client, bus, clock, ids, logger, ...settings });
    health.ready('API server', () => agent.problem);
    agent.start();
    const chains = new UtilChains({ clock, logger, run: (program, args) => execute(program, args) });
    if (nodeObject.iptablesUtilChains) void chains.start();
    return Promise.resolve({
      stop: async () => {
        chains.stop();
        agent.stop();
        ended.abort();
        await certificates?.stop();
        await opened.then(
          (open) => open.close(),
          () => undefined,
        );
      },
    });
  },
};
