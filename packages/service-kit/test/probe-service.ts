// A service with nothing in it, under the name and the contract of the launcher: what every service has in common.
import { serviceContracts } from '@kubus/contracts';
import { runServices } from '../src/index.ts';

await runServices([
  {
    name: 'launcher',
    start: ({ bus }) => {
      const { owns, serves } = serviceContracts.launcher;
      for (const fact of owns) bus.owner<unknown>(fact);
      for (const command of serves) bus.serve<unknown, unknown>(command, () => Promise.resolve({ instances: [] }));
      return Promise.resolve({ stop: () => Promise.resolve() });
    },
  },
]);
