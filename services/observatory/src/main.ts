import { runServices } from '@kubus/service-kit';
import { observatory } from './index.ts';

await runServices([observatory]);
