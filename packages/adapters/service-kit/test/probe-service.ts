// A service without any logic, with the name and the contract of the launcher: the common part of all services.
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
