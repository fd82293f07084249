import {
  type PodEvent,
  configEvent,
  configNodeEvent,
  launcherNodeEvent,
  nodeAgentEvent,
  podEvent,
  probeEvent,
  runtimeNodeEvent,
  volumeEvent,
  workerNodeEvent,
} from '@kubus/contracts';
import type { Rate } from '@kubus/flow';
import type { Core } from '@kubus/journal';
import { type ApiPort, requesterOver } from './api-port.ts';
import { ClaimWriter } from './claim-writer.ts';
import { EventWriter } from './event-writer.ts';
import type { PodStartups } from './pod-startups.ts';
import { StatusManager } from './status-manager.ts';
import { StatusMetrics } from './status-metrics.ts';

interface StatusManagerInputs {
  /** Rates of writes to the API server: of pods, and of events. */
  readonly rate: Rate;
  readonly eventRate: Rate;
}

/** Reconciles the API server's state with the node's. */
export interface RunningStatusManager {
  readonly manager: StatusManager;
  readonly events: EventWriter;
  readonly claims: ClaimWriter;
  readonly shown: StatusMetrics;
}

/** The status manager without its connection to the API server. */
export const statusManagerCore: Core<StatusManagerInputs, { api: ApiPort }, RunningStatusManager> = {
  service: 'status-manager',
  outside: { api: { request: 'promise' } },
  start: (ports, { rate, eventRate }, { api }) => {
    const { bus, clock, ids, logger } = ports;
    const client = requesterOver(api);
    const shown = new StatusMetrics();
    const manager = new StatusManager({ bus, clock, ids, logger, client, rate, metrics: shown });
    const events = new EventWriter({
      ...{ client, clock, ids, logger, node: bus.node },
      rate: eventRate,
      resourceVersion: (uid) => manager.resourceVersion(uid),
    });
    const claims = new ClaimWriter({ bus, client, clock, ids, logger });
    bus.subscribe(podEvent, ({ payload }) => {
      events.add(payload);
      followPulls(shown.startups, payload, clock.now());
    });
    for (const declaration of [probeEvent, volumeEvent, configEvent]) {
      bus.subscribe(declaration, ({ payload }) => events.add(payload));
    }
    for (const declaration of [workerNodeEvent, runtimeNodeEvent, configNodeEvent, nodeAgentEvent, launcherNodeEvent]) {
      bus.subscribe(declaration, ({ payload }) => events.add(payload));
    }
    return Promise.resolve({ manager, events, claims, shown });
  },
  calls: ({ manager, events, claims }) => ({
    stop: () => {
      events.stop();
      claims.stop();
      return manager.stop();
    },
  }),
};

/** Records an event at the start and at the end of each image pull. */
function followPulls(startups: PodStartups, { reason, ref }: PodEvent, now: number): void {
  if (reason === 'Pulling') startups.pulling(ref.uid, now);
  else if (reason === 'Pulled' || reason === 'Failed') startups.pulled(ref.uid, now);
}
