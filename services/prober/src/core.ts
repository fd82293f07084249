import { type Core, asyncRecords } from '@kubus/journal';
import { Prober, type ProberOptions } from './prober.ts';

/** The prober without the attempts that go over the network. */
export const proberCore: Core<
  Pick<ProberOptions, 'eventRate' | 'share' | 'nodeIp'>,
  Pick<ProberOptions, 'records' | 'network'>,
  Prober
> = {
  service: 'prober',
  outside: { records: asyncRecords, network: { http: 'promise', tcp: 'promise', grpc: 'promise' } },
  start: (ports, inputs, outside) => Promise.resolve(new Prober({ ...ports, ...inputs, ...outside })),
  calls: (prober) => ({
    stop: () => {
      prober.stop();
      return Promise.resolve();
    },
  }),
};
