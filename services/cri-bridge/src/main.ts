import { runServices } from '@kubus/service-kit';
import { criBridge } from './index.ts';

await runServices([criBridge]);
