import { runServices } from '@kubus/service-kit';
import { cniBridge } from './index.ts';

await runServices([cniBridge]);
