// A service with nothing in it, under the name and the contract of the launcher: what every service has in common.
import { restartService, serviceContracts } from '@kubus/contracts';
import { runServices } from '../src/index.ts';

await runServices([
  {
    name: 'launcher',
    start: ({ bus, logger }) => {
      const { owns, serves } = serviceContracts.launcher;
      const asked = logger.child({ part: 'asked' });
      for (const fact of owns) bus.owner<unknown>(fact);
      for (const command of serves) {
        if (command !== restartService) bus.serve<unknown, unknown>(command, () => Promise.resolve({ instances: [] }));
      }
      bus.serve(restartService, ({ key }) => {
        asked.debug({ key }, 'in detail');
        asked.info({ key }, 'in short');
        return Promise.resolve({ instances: [] });
      });
      return Promise.resolve({ stop: () => Promise.resolve() });
    },
  },
]);
