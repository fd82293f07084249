import { runServices } from '@kubus/service-kit';
import { podWorkers } from './index.ts';

await runServices([podWorkers]);
