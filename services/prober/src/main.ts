import { runServices } from '@kubus/service-kit';
import { prober } from './index.ts';

await runServices([prober]);
