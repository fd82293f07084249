import { RecordFollower, connectNats, readSeed } from '@kubus/bus-nats';
import {
  ConfigError,
  type ServiceDefinition,
  httpDoor,
  httpServer,
  servePrivately,
  uploadLimits,
  version,
} from '@kubus/service-kit';
import { createApp } from './app.ts';
import { nodePressureReader } from './node-pressure.ts';
import { NowTopology } from './node-topology.ts';
import { NodeRecordings } from './node-recordings.ts';
import { Threads } from './threads.ts';

/** The service `observatory`: records the node and answers on a unix socket. */
export const observatory: ServiceDefinition = {
  name: 'observatory',
  undisturbed: true,
  isPartOf: ({ observatory: settings }) => settings !== undefined,
  start: async ({ bus, config, instance, clock, ids, logger, health, liveness, metrics, stateDir }) => {
    const { observatory: settings, node, nats } = config;
    if (settings === undefined)
      throw new ConfigError('bad-config', 'observatory: is missing; there is nothing to serve');
    const { socket, page, contract, ...limits } = settings;
    const threads = new Threads();
    const recordings = new NodeRecordings({ folder: stateDir, node, version, limits, clock, ids, logger, threads });
    const { recorder } = recordings;
    // A separate connection: no recorded message overtakes what the service itself publishes.
    const seed = await readSeed(nats.identities, instance);
    const connection = await connectNats({ servers: nats.url, tls: nats.tls, instance, seed });
    const follower = new RecordFollower({
      ...{ connection, node, instance, ids, logger },
      begin: (state) => recorder.begin(state),
      take: (messages) => recorder.take(messages),
    });
    const faults = config.faults
      ? new (await import('./node-faults.ts')).NodeFaults({ bus, clock, recordings })
      : undefined;
    const now = new NowTopology(bus);
    const app = await createApp({
      ...{ recordings, threads, version, page, contract, faults, ids, logger },
      pressure: nodePressureReader(bus, clock),
      topology: () => now.facts(),
    });
    const listening = await servePrivately(
      app,
      socket,
      httpServer((request, response) => app.routing(request, response), uploadLimits),
    );
    liveness.door('page', httpDoor({ socketPath: socket, path: '/-' }));
    health.ready(
      'record',
      () => recorder.problem ?? (follower.following ? undefined : 'the record is not being followed'),
    );
    metrics.add({
      type: 'gauge',
      name: 'kubus_observatory_recordings',
      help: 'Recordings that grow, in addition to the live one.',
      collect: () => recorder.recording.length,
    });
    metrics.add({
      type: 'counter',
      name: 'kubus_observatory_last_sequence',
      help: 'Sequence number of the newest recorded message.',
      collect: () => recordings.last,
    });
    for (const [name, help] of [
      ['droppedByBroker', 'Messages of the live recording that the broker had dropped before they were read.'],
      ['neverStored', 'Sequence numbers of publishers that are missing in the live recording.'],
      ['unreadable', 'Messages of the live recording without a readable envelope.'],
    ] as const) {
      metrics.add({
        type: 'gauge',
        name: `kubus_observatory_${name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}`,
        help,
        collect: () => recordings.completeness[name],
      });
    }
    logger.info({ socket, page, ...limits }, 'recording the node');
    return {
      stop: async () => {
        await listening.close();
        await follower.stop();
        await connection.close();
        await threads.close();
        recordings.close();
      },
    };
  },
};
