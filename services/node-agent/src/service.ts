import { clusterNode } from '@kubus/contracts';
import { ClientCertificates, KubeLink } from '@kubus/kube';
import { nodeVersion } from '@kubus/node-status';
import {
  type NodeConfig,
  type RunningService,
  type ServiceContext,
  type ServiceDefinition,
  nodeCapacity,
  readMachine,
  version,
} from '@kubus/service-kit';
import { execFile } from 'node:child_process';
import { uptime } from 'node:os';
import { promisify } from 'node:util';
import { DeviceService } from './device-service.ts';
import { AddressFinder } from './machine.ts';
import { NodeAgent } from './node-agent.ts';
import { NodeStartup } from './node-startup.ts';
import { RuntimeFacts } from './runtime-facts.ts';
import { UtilChains } from './util-chains.ts';
import { VolumeFacts } from './volume-facts.ts';

const execute = promisify(execFile);

/** The service `node-agent`. It has to run in the network namespace whose addresses are the node's. */
export const nodeAgent: ServiceDefinition = {
  name: 'node-agent',
  start: async (context) => {
    const { apiServer } = context.config;
    let member: Member | undefined;
    const devices = await DeviceService.start(context, () => member?.devicesChanged());
    if (apiServer === undefined) standAlone(context);
    else member = startMember(context, apiServer, devices);
    return {
      stop: async () => {
        await Promise.all([devices.stop(), member?.stop()]);
      },
    };
  },
};

interface Member extends RunningService {
  devicesChanged(): void;
}

/** The part of a node in a cluster: its object, and its credentials. */
function startMember(
  { config, bus, clock, ids, logger, health, metrics }: ServiceContext,
  apiServer: NonNullable<NodeConfig['apiServer']>,
  devices: DeviceService,
): Member {
  const { node: name, nodeIps, nodeObject, labels, taints, reserved, server, events } = config;
  const hostname = nodeObject.hostname ?? name;
  const { externalCloud } = nodeObject;
  const addresses = new AddressFinder({ node: name, hostname, nodeIps, externalCloud }, { clock, logger });
  const machine = {
    info: readMachine,
    capacity: () => nodeCapacity(config),
    devices: () => devices.resources.amounts,
    addresses: addresses.find.bind(addresses),
  };
  const settings = {
    ...{ ...nodeObject, name, hostname, nodeIps, reserved, machine },
    initial: { ...nodeObject, labels, taints },
    version: nodeVersion(version),
    port: server?.port,
    eventRate: events,
  };
  const certificates = new ClientCertificates({ node: name, apiServer, clock, logger, random: () => ids.fraction() });
  health.ready('credentials', () => certificates.fault);
  certificates.start();
  const client = new KubeLink({ ...config, apiServer }, 'node-agent', { clock, logger, metrics });
  const startup = new NodeStartup({ now: () => clock.now(), uptimeSeconds: uptime() });
  startup.show(metrics);
  const agent = new NodeAgent({ client, bus, clock, ids, logger, startup, ...settings });
  health.ready('API server', () => agent.problem);
  agent.start();
  const chains = new UtilChains({ clock, logger, run: (program, args) => execute(program, args) });
  if (nodeObject.iptablesUtilChains) void chains.start();
  return {
    devicesChanged: () => agent.changed(),
    stop: async () => {
      chains.stop();
      agent.stop();
      await Promise.all([certificates.stop(), client.close()]);
    },
  };
}

/** A node that is a member of no cluster has no Node. What the service has to say and to hear is the same on every node. */
function standAlone({ bus, clock }: ServiceContext): void {
  const changed = () => undefined;
  bus.owner(clusterNode).complete();
  new RuntimeFacts({ bus, clock, changed });
  new VolumeFacts({ bus, node: bus.node, changed });
}
