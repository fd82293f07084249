import { runServices } from '@kubus/service-kit';
import { nodeAgent } from './index.ts';

await runServices([nodeAgent]);
