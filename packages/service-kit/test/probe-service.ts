// A service with nothing in it, under the name and the contract of the launcher: what every service has in common.
import { restartService } from '@kubus/contracts';
import { runServices } from '../src/index.ts';

await runServices([
  {
    name: 'launcher',
    start: ({ bus }) => {
      bus.serve(restartService, () => Promise.resolve({ instances: [] }));
      return Promise.resolve({ stop: () => Promise.resolve() });
    },
  },
]);
