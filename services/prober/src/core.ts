import { type Core, asyncRecords } from '@kubus/journal';
import { Prober, type ProberOptions } from './prober.ts';

/** All of the prober but the attempts themselves that go over the network. */
export const proberCore: Core<
  Pick<ProberOptions, 'eventRate' | 'share' | 'nodeIp'>,
  Pick<ProberOptions, 'records' | 'network'>,
  Prober
> = {
  service: 'prober',
  outside: { records: asyncRecords, network: { http: 'promise', tcp: 'promise', grpc: 'promise' } },
  start: (ports, inputs, outside) => Promise.resolve(new Prober({ ...ports, ...inputs, ...outside })),
  call: (prober) => prober.stop(),
};
