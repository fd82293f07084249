import type { Clock, Logger, Random, RecordStore } from '@kubus/ports';
import { ConfigSources, type ManifestFolder, configSourcesCore, takerOf } from '@kubus/config-sources';
import type { Bus } from '@kubus/bus';
import { namespaceServices, serviceContracts } from '@kubus/contracts';
import type { ServiceContext } from '@kubus/service-kit';
import { apiPort, statusManagerCore } from '@kubus/status-manager';
import type { ProcessGuard } from './process-guard.ts';
import type { SimulatedApi } from './simulated-api.ts';
import type { SimulatedFolder } from './simulated-folder.ts';
import { NODE } from './simulated-process.ts';

/** Enough for what a schedule writes; the rates themselves are not tested here. */
const RATE = { qps: 50, burst: 100 };

/** config-sources: the folder's static pods, and the pods of the API server if the node has one. */
export async function startSources(options: {
  readonly run: ServiceContext['run'];
  readonly folder: SimulatedFolder;
  readonly records: RecordStore;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly guard: ProcessGuard;
  readonly random: Random;
  readonly api: SimulatedApi | undefined;
}): Promise<void> {
  const { run, folder, records, clock, logger, guard, random, api } = options;
  const core = await run(configSourcesCore, { sources: api === undefined ? ['file'] : ['file', 'api'] }, {});
  const guarded: ManifestFolder = {
    path: '/manifests',
    read: () => guard.promise(folder.read()),
    onChange: (listener) => folder.onChange(guard.listener(listener)),
  };
  const connect = async (server: SimulatedApi) => {
    await core.running.node;
    return server.client(guard);
  };
  await new ConfigSources({
    ...{ taker: takerOf(core), node: NODE, clock, logger, records, file: { folder: guarded } },
    api: api && { connect: () => connect(api), random: () => random.fraction() },
  }).start();
}

/** A model of object-cache: pods refer to no objects, and no service is in their namespace. */
export function startObjects(bus: Bus): void {
  const services = bus.owner(namespaceServices);
  services.put('default', { services: [] });
  const owned = serviceContracts['object-cache'].owns.filter((fact) => fact !== namespaceServices);
  for (const owner of [services, ...owned.map((fact) => bus.owner(fact))]) owner.complete();
  for (const fact of serviceContracts['object-cache'].reads) bus.reader(fact);
}

/** status-manager. Returns what ends it normally. */
export async function startStatuses(
  run: ServiceContext['run'],
  api: SimulatedApi,
  guard: ProcessGuard,
): Promise<() => Promise<void>> {
  const core = await run(statusManagerCore, { rate: RATE, eventRate: RATE }, { api: apiPort(api.client(guard)) });
  return core.calls.stop;
}
