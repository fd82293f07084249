import { runServices } from '@kubus/service-kit';
import { objectCache } from './index.ts';

await runServices([objectCache]);
