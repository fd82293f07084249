import { runServices } from '@kubus/service-kit';
import { statusManager } from './index.ts';

await runServices([statusManager]);
