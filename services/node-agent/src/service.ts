import { clusterNode, nodeAgentEvent, nodeShutdown, shutdownProgress } from '@kubus/contracts';
import { parseThresholds } from '@kubus/eviction';
import { ClientCertificates, KubeLink } from '@kubus/kube';
import { nodeVersion } from '@kubus/node-status';
import { NodeSignals, NodeStatistics } from '@kubus/node-usage';
import {
  EventRecorder,
  type NodeConfig,
  type RunningService,
  type ServiceContext,
  type ServiceDefinition,
  nodeCapacity,
  readMachine,
  version,
} from '@kubus/service-kit';
import { uptime } from 'node:os';
import { ClaimService } from './claims/claim-service.ts';
import { DeviceService } from './devices/device-service.ts';
import { AddressFinder } from './node/machine.ts';
import { NodeAgent, type NodeAgentOptions } from './node/node-agent.ts';
import { NodeStartup } from './node/node-startup.ts';
import { ActivePods } from './pressure/active-pods.ts';
import { Eviction } from './pressure/eviction.ts';
import { MemoryNotices } from './pressure/memory-notices.ts';
import { OomWatch } from './pressure/oom-watch.ts';
import { PressureQuery } from './pressure/pressure-query.ts';
import { PressureWatch } from './pressure/pressure-watch.ts';
import { systemLogind } from './shutdown/logind.ts';
import { ShutdownManager } from './shutdown/shutdown-manager.ts';
import { ShutdownTimes } from './shutdown/shutdown-times.ts';
import { RuntimeFacts } from './node/runtime-facts.ts';
import { VolumeFacts } from './node/volume-facts.ts';

/** The service `node-agent`. It has to run in the network namespace whose addresses are the node's. */
export const nodeAgent: ServiceDefinition = {
  name: 'node-agent',
  start: async (context) => {
    const { apiServer } = context.config;
    let member: Member | undefined;
    const devices = await DeviceService.start(context, () => member?.changed());
    const client = apiServer && new KubeLink({ ...context.config, apiServer }, 'node-agent', context);
    const claims = await ClaimService.start(context, { client, ended: devices.ended });
    const shutdown = startShutdown(context, () => member?.changed());
    const pressure = await startPressure(context, () => member?.changed());
    const kills = watchKills(context);
    if (apiServer === undefined || client === undefined) standAlone(context);
    else {
      member = startMember(context, { apiServer, client }, devices, {
        problem: () => shutdown?.problem,
        pressure: () => pressure.watch.pressure,
      });
    }
    return {
      stop: async () => {
        shutdown?.stop();
        pressure.stop();
        kills.stop();
        await Promise.all([devices.stop(), claims.stop(), member?.stop()]);
        await client?.close();
      },
    };
  },
};

interface Member extends RunningService {
  /** The machine has changed. */
  changed(): void;
}

/** Delays shutdowns of the machine until the pods have ended; undefined: the node does nothing before them. */
function startShutdown(
  { config, bus, clock, logger, metrics }: ServiceContext,
  changed: () => void,
): ShutdownManager | undefined {
  const { shutdown, pods, events: rate } = config;
  if (shutdown === undefined) {
    // All nodes have the same subjects.
    bus.owner(nodeShutdown).complete();
    bus.reader(shutdownProgress);
    return undefined;
  }
  const times = shutdown.keepTimes ? new ShutdownTimes(pods.root, logger) : undefined;
  times?.show(metrics);
  return new ShutdownManager({
    ...{ bus, clock, logger, times, changed },
    logind: systemLogind(),
    events: new EventRecorder({ bus, clock, rate }).ofNode(nodeAgentEvent),
    totalMs: shutdown.periods.reduce((sum, { seconds }) => sum + seconds * 1000, 0),
  });
}

/** How old what is known of the layers of containers may be when a pod is measured, in milliseconds. */
const LAYERS_MS = 10_000;

interface Pressure {
  readonly watch: PressureWatch;
  readonly stop: () => void;
}

async function startPressure(
  { config, bus, clock, logger, metrics }: ServiceContext,
  changed: () => void,
): Promise<Pressure> {
  const { hard, soft, softGracePeriod, minimumReclaim, ofAllocatable, transitionMs, maxPodGraceSeconds } =
    config.eviction;
  const settings = {
    ...{ evictionHard: hard, evictionSoft: soft },
    ...{ evictionSoftGracePeriod: softGracePeriod, evictionMinimumReclaim: minimumReclaim },
  };
  const thresholds = parseThresholds(settings, { enforcesPods: ofAllocatable });
  const signals = await NodeSignals.start({ config, bus, clock, logger });
  const pods = new ActivePods(bus);
  const statistics = await NodeStatistics.start({
    config,
    bus,
    clock,
    logger,
    pods: () => pods.runtimePods(),
    layersMs: LAYERS_MS,
  });
  const eviction = new Eviction({
    ...{ bus, clock, logger, pods, maxPodGraceSeconds, usage: () => statistics.pods() },
    minContainerAgeMs: config.pods.deadContainers.minAgeMs,
    events: new EventRecorder({ bus, clock, rate: config.events }).ofNode(nodeAgentEvent),
  });
  eviction.show(metrics);
  const notices = new MemoryNotices({
    ...{ logger, program: config.eviction.memoryWatch, folders: signals.memoryFolders },
    reached: () => watch.look(),
  });
  const watch: PressureWatch = new PressureWatch({
    ...{ bus, clock, logger, thresholds, transitionMs, changed },
    read: () => signals.read(),
    relieve: (need) => eviction.relieve(need),
    ...(config.eviction.storageLimits && {
      enforceLimits: (disks, signal) => eviction.enforceLimits(disks, signal),
    }),
    waitFor: (reading, all) => notices.waitFor(reading, all),
  });
  new PressureQuery({
    bus,
    transitionMs,
    view: () => watch.view(),
    rank: (signal, where) => eviction.rank(signal, where),
  });
  return {
    watch,
    stop: () => {
      watch.stop();
      notices.stop();
    },
  };
}

function watchKills({ config, bus, clock, logger }: ServiceContext): OomWatch {
  const events = new EventRecorder({ bus, clock, rate: config.events }).ofNode(nodeAgentEvent);
  return new OomWatch({ clock, logger, events, sinceMs: uptime() * 1000 });
}

/** The part of a node in a cluster: its object, and its credentials. */
function startMember(
  { config, bus, clock, ids, logger, health, metrics }: ServiceContext,
  { apiServer, client }: { readonly apiServer: NonNullable<NodeConfig['apiServer']>; readonly client: KubeLink },
  devices: DeviceService,
  conditions: Pick<NodeAgentOptions, 'problem' | 'pressure'>,
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
  const startup = new NodeStartup({ now: () => clock.now(), uptimeSeconds: uptime() });
  startup.show(metrics);
  const agent = new NodeAgent({ client, bus, clock, ids, logger, startup, ...conditions, ...settings });
  health.ready('API server', () => agent.problem);
  agent.start();
  return {
    changed: () => agent.changed(),
    stop: async () => {
      agent.stop();
      await certificates.stop();
    },
  };
}

/**
 * A node outside a cluster has no Node object. It publishes its complete, empty set of facts, so that all nodes have
 * the same subjects.
 */
function standAlone({ bus, clock }: ServiceContext): void {
  const changed = () => undefined;
  bus.owner(clusterNode).complete();
  new RuntimeFacts({ bus, clock, changed });
  new VolumeFacts({ bus, node: bus.node, changed });
}
