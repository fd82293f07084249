import { runServices } from '@kubus/service-kit';
import { volumeManager } from './index.ts';

await runServices([volumeManager]);
