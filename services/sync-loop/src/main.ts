import { runServices } from '@kubus/service-kit';
import { syncLoop } from './index.ts';

await runServices([syncLoop]);
